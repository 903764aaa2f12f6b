//! A look back over all sessions since a time: what ended, what it cost, what went wrong; and what stands open now. It only looks.
//! The history is in the order of time, so that its part since a time is found by halving, without an index.

use super::driver::{Row, Sql, values};
use super::events::{self, Event};
use super::humans::HumanKind;
use super::query;
use crate::model::session::{EndReason, SessionState, Verified};
use anyhow::Result;
use serde::Serialize;

/// From one time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    pub since_ms: i64,
    pub until_ms: i64,
}

/// A session that ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ended {
    pub session_id: String,
    pub status: SessionState,
    pub end_reason: Option<EndReason>,
    pub end_detail: Option<String>,
    pub verified: Option<Verified>,
    pub objective: String,
    pub agent: String,
    pub iterations: i64,
    pub cost_usd: f64,
    /// From its start, waiting included.
    pub duration_ms: i64,
    pub ended_at_ms: i64,
}

/// What an agent did and cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub agent: String,
    pub iterations: i64,
    pub cost_usd: f64,
    pub input_tokens: i64,
    pub output_tokens: i64,
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    pub session_id: String,
    pub question_id: String,
    pub kind: HumanKind,
    pub question: String,
    pub options: Vec<String>,
    pub objective: String,
    pub asked_at_ms: i64,
    pub expires_at_ms: i64,
}

/// A task that waits for a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parked {
    pub session_id: String,
    pub objective: String,
    pub until_ms: i64,
    pub reason: String,
}

/// A session that is worked on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtWork {
    pub session_id: String,
    pub objective: String,
    pub agent: String,
    pub iterations: i64,
    pub max_iterations: i64,
    pub cost_usd: f64,
    pub started_at_ms: Option<i64>,
}

/// The number of the first event since a time, as far as the history is in order; those of about the same time may be a few apart.
pub fn first_event_since(sql: &mut dyn Sql, since_ms: i64) -> Result<i64> {
    let (mut low, mut high) = (0, events::last(sql)? + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let row = sql.row(query!("events_from"), values![middle])?;
        match row {
            // Numbers may be missing: what was found stands for all up to itself.
            Some(row) if row.int("at_ms")? < since_ms => low = row.int("seq")? + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The sessions that ended, newest first.
pub fn ended(sql: &mut dyn Sql, span: Span) -> Result<Vec<Ended>> {
    let first = first_event_since(sql, span.since_ms)?;
    let rows = sql.rows(
        query!("review_ended"),
        values![first, span.since_ms, span.until_ms],
    )?;
    rows.iter().map(ended_session).collect()
}

fn ended_session(row: &Row) -> Result<Ended> {
    let created_at_ms = row.int("created_at_ms")?;
    let started_at_ms = row.optional_int("started_at_ms")?;
    let ended_at_ms = row.int("ended_at_ms")?;
    Ok(Ended {
        session_id: row.text("id")?,
        status: row.word("status")?,
        end_reason: row.optional_word("end_reason")?,
        end_detail: row.optional_text("end_detail")?,
        verified: row.optional_word("verified")?,
        objective: row.text("objective")?,
        agent: row.text("agent")?,
        iterations: row.int("iteration_count")?,
        cost_usd: row.optional_real("cost_usd")?.unwrap_or(0.0),
        duration_ms: (ended_at_ms - started_at_ms.unwrap_or(created_at_ms)).max(0),
        ended_at_ms,
    })
}

/// What each agent did and cost, the dearest first. An iteration belongs to the time of its start.
pub fn costs(sql: &mut dyn Sql, span: Span) -> Result<Vec<Cost>> {
    let rows = sql.rows(
        query!("review_costs"),
        values![span.since_ms, span.until_ms],
    )?;
    let cost = |row: &Row| {
        Ok(Cost {
            agent: row.text("agent")?,
            iterations: row.int("iterations")?,
            cost_usd: row.optional_real("cost_usd")?.unwrap_or(0.0),
            input_tokens: row.int("input_tokens")?,
            output_tokens: row.int("output_tokens")?,
        })
    };
    rows.iter().map(cost).collect()
}

/// What waits for a person, the most urgent first.
pub fn asked(sql: &mut dyn Sql, limit: u32) -> Result<Vec<Asked>> {
    let rows = sql.rows(query!("review_asked"), values![limit])?;
    let asked = |row: &Row| {
        let options = row.optional_json("options")?.unwrap_or_default();
        Ok(Asked {
            session_id: row.text("session_id")?,
            question_id: row.text("question_id")?,
            kind: row.word("kind")?,
            question: row.text("question")?,
            options: serde_json::from_value(options).unwrap_or_default(),
            objective: row.text("objective")?,
            asked_at_ms: row.int("asked_at_ms")?,
            expires_at_ms: row.int("expires_at_ms")?,
        })
    };
    rows.iter().map(asked).collect()
}

/// What waits for a time, the soonest first.
pub fn parked(sql: &mut dyn Sql, limit: u32) -> Result<Vec<Parked>> {
    let rows = sql.rows(query!("review_parked"), values![limit])?;
    let parked = |row: &Row| {
        Ok(Parked {
            session_id: row.text("session_id")?,
            objective: row.text("objective")?,
            until_ms: row.int("parked_until_ms")?,
            reason: row.text("parked_reason")?,
        })
    };
    rows.iter().map(parked).collect()
}

/// What is worked on.
pub fn running(sql: &mut dyn Sql, limit: u32) -> Result<Vec<AtWork>> {
    let rows = sql.rows(query!("review_running"), values![limit])?;
    let at_work = |row: &Row| {
        Ok(AtWork {
            session_id: row.text("id")?,
            objective: row.text("objective")?,
            agent: row.text("agent")?,
            iterations: row.int("iteration_count")?,
            max_iterations: row.int("max_iterations")?,
            cost_usd: row.optional_real("cost_usd")?.unwrap_or(0.0),
            started_at_ms: row.optional_int("started_at_ms")?,
        })
    };
    rows.iter().map(at_work).collect()
}

/// What did not come to be, newest first.
pub fn mishaps(sql: &mut dyn Sql, span: Span, limit: u32) -> Result<Vec<Event>> {
    let first = first_event_since(sql, span.since_ms)?;
    let rows = sql.rows(
        query!("review_mishaps"),
        values![first, span.since_ms, span.until_ms, limit],
    )?;
    rows.iter().map(events::from_row).collect()
}
