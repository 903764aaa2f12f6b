//! Counts over all sessions: how many stand how, and what a part of the history adds to that. It only looks.
//! Whoever counts goes on where it stopped, so that no look goes over all rows again.

use super::driver::{Row, Sql, values};
use super::query;
use crate::model::iteration::Verdict;
use crate::model::session::{EndReason, SessionState, Verified};
use anyhow::{Context, Result};

/// A part of the history: after one number, up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub after: i64,
    pub upto: i64,
}

/// The same of the newest of them alone.
pub fn newest_open(sql: &mut dyn Sql, limit: u32) -> Result<Vec<(SessionState, i64)>> {
    let rows = sql.rows(query!("census_newest_open"), values![limit])?;
    rows.iter().map(counted).collect()
}

fn counted(row: &Row) -> Result<(SessionState, i64)> {
    Ok((row.word("status")?, row.int("count")?))
}

/// How the queue stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCount {
    pub ready: i64,
    /// Since when the oldest of them is.
    pub ready_since_ms: Option<i64>,
    /// Those whose time has not come, parked ones among them.
    pub later: i64,
    pub parked: i64,
    pub running: i64,
    /// Those that wait for a workspace, for room, or for the end of another session.
    pub waiting: i64,
    /// Questions to people.
    pub asked: i64,
    pub asked_since_ms: Option<i64>,
    /// Notices that nobody has taken yet.
    pub owed: i64,
    pub owed_since_ms: Option<i64>,
}

/// A session that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedSession {
    pub agent: String,
    pub status: SessionState,
    pub end_reason: Option<EndReason>,
    pub verified: Option<Verified>,
    pub iteration_count: i64,
    pub duration_ms: i64,
}

/// A turn of an agent that ended; a summary has no verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTurn {
    pub agent: String,
    pub verdict: Option<Verdict>,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub tool_calls: Option<i64>,
    pub duration_ms: Option<i64>,
}

/// The sessions that have not ended, by state.
pub fn open(sql: &mut dyn Sql) -> Result<Vec<(SessionState, i64)>> {
    let rows = sql.rows(query!("census_open"), &[])?;
    rows.iter()
        .map(|row| Ok((row.word("status")?, row.int("count")?)))
        .collect()
}

/// How the queue stands.
pub fn queue(sql: &mut dyn Sql) -> Result<QueueCount> {
    let row = sql.row(query!("census_queue"), &[])?;
    let row = row.context("no count of the queue")?;
    Ok(QueueCount {
        ready: row.int("ready")?,
        ready_since_ms: row.optional_int("oldest_ms")?,
        later: row.int("later")?,
        parked: row.int("parked")?,
        running: row.int("running")?,
        waiting: row.int("waiting")?,
        asked: row.int("asked")?,
        asked_since_ms: row.optional_int("asked_since_ms")?,
        owed: row.int("owed")?,
        owed_since_ms: row.optional_int("owed_since_ms")?,
    })
}

/// How many events of each type there are in a part of the history.
pub fn events(sql: &mut dyn Sql, part: Part) -> Result<Vec<(String, i64)>> {
    let rows = sql.rows(query!("census_events"), values![part.after, part.upto])?;
    rows.iter()
        .map(|row| Ok((row.text("type")?, row.int("count")?)))
        .collect()
}

/// How many sessions went from one state to another; new ones come from none.
pub fn steps(
    sql: &mut dyn Sql,
    part: Part,
) -> Result<Vec<(Option<SessionState>, SessionState, i64)>> {
    let rows = sql.rows(query!("census_steps"), values![part.after, part.upto])?;
    let step = |row: &Row| {
        let from = row.optional_word("from_state")?;
        Ok((from, row.word("to_state")?, row.int("count")?))
    };
    rows.iter().map(step).collect()
}

/// The sessions that ended, as far as they are still there.
pub fn ended(sql: &mut dyn Sql, part: Part) -> Result<Vec<EndedSession>> {
    let rows = sql.rows(query!("census_ended"), values![part.after, part.upto])?;
    let session = |row: &Row| {
        Ok(EndedSession {
            agent: row.text("agent")?,
            status: row.word("status")?,
            end_reason: row.optional_word("end_reason")?,
            verified: row.optional_word("verified")?,
            iteration_count: row.int("iteration_count")?,
            duration_ms: row.int("duration_ms")?,
        })
    };
    rows.iter().map(session).collect()
}

/// The turns that ended.
pub fn turns(sql: &mut dyn Sql, part: Part) -> Result<Vec<EndedTurn>> {
    let rows = sql.rows(query!("census_turns"), values![part.after, part.upto])?;
    let turn = |row: &Row| {
        Ok(EndedTurn {
            agent: row.text("agent")?,
            verdict: row.optional_word("verdict")?,
            cost_usd: row.optional_real("cost_usd")?,
            input_tokens: row.optional_int("input_tokens")?,
            output_tokens: row.optional_int("output_tokens")?,
            tool_calls: row.optional_int("tool_calls")?,
            duration_ms: row.optional_int("duration_ms")?,
        })
    };
    rows.iter().map(turn).collect()
}
