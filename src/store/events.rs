//! The append-only history. Events are written inside the transaction of the change they tell of, never by themselves later.

use super::driver::{Row, Sql, values};
use super::query;
use crate::model::event::EventType;
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value as Json;

/// One line of the history.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Event {
    pub seq: i64,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub at_ms: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub data: Json,
}

/// Whom an event is about.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    pub session: Option<&'a str>,
    pub task: Option<&'a str>,
}

impl<'a> About<'a> {
    /// A session as a whole.
    pub fn session(session: &'a str) -> Self {
        Self {
            session: Some(session),
            task: None,
        }
    }

    /// A task of a session.
    pub fn task(session: &'a str, task: &'a str) -> Self {
        Self {
            session: Some(session),
            task: Some(task),
        }
    }
}

/// Adds an event of a fixed type.
pub fn add(
    sql: &mut dyn Sql,
    about: About<'_>,
    kind: EventType,
    at_ms: i64,
    data: &impl Serialize,
) -> Result<()> {
    add_named(sql, about, kind.as_str(), at_ms, data)
}

/// Adds an event named after the state that was reached.
pub(super) fn add_named(
    sql: &mut dyn Sql,
    about: About<'_>,
    kind: &str,
    at_ms: i64,
    data: &impl Serialize,
) -> Result<()> {
    let data = serde_json::to_string(data)?;
    sql.run(
        query!("events_add"),
        values![about.session, about.task, at_ms, kind, data],
    )?;
    Ok(())
}

/// The events after `seq`, of one session or of all, oldest first.
pub fn after(sql: &mut dyn Sql, session: Option<&str>, seq: i64, limit: u32) -> Result<Vec<Event>> {
    let rows = match session {
        Some(session) => sql.rows(
            query!("events_of_session_after"),
            values![session, seq, limit],
        )?,
        None => sql.rows(query!("events_after"), values![seq, limit])?,
    };
    rows.iter().map(from_row).collect()
}

/// The events of a session and of the sub-agents that work for it, after `seq`, oldest first.
pub fn of_tree_after(sql: &mut dyn Sql, session: &str, seq: i64, limit: u32) -> Result<Vec<Event>> {
    let rows = sql.rows(query!("events_of_tree_after"), values![session, seq, limit])?;
    rows.iter().map(from_row).collect()
}

/// The newest events of a kind that a session has, oldest first.
pub fn newest(sql: &mut dyn Sql, session: &str, kind: EventType, limit: u32) -> Result<Vec<Event>> {
    let rows = sql.rows(
        query!("events_newest_of_type"),
        values![session, kind.as_str(), limit],
    )?;
    rows.iter().rev().map(from_row).collect()
}

/// How many events of a kind a session has.
pub fn count(sql: &mut dyn Sql, session: &str, kind: EventType) -> Result<i64> {
    let row = sql.row(query!("events_count"), values![session, kind.as_str()])?;
    row.context("no count of events")?.int("count")
}

/// The newest event of a session that is of one of these kinds.
pub fn last_of(
    sql: &mut dyn Sql,
    session: &str,
    kinds: &[EventType],
) -> Result<Option<(EventType, Json)>> {
    let kinds = serde_json::to_string(kinds)?;
    let row = sql.row(query!("events_last_of"), values![session, kinds])?;
    row.map(|row| Ok((row.word("type")?, from_row(&row)?.data)))
        .transpose()
}

/// The sessions that ended after one number and up to another, in their order.
pub fn ended_sessions(sql: &mut dyn Sql, after: i64, upto: i64) -> Result<Vec<String>> {
    let rows = sql.rows(query!("events_ended_sessions"), values![after, upto])?;
    rows.iter().map(|row| row.text("session_id")).collect()
}

/// The number of the newest event.
pub fn last(sql: &mut dyn Sql) -> Result<i64> {
    let row = sql.row(query!("events_last"), &[])?;
    row.context("no count of events")?.int("seq")
}

pub(super) fn from_row(row: &Row) -> Result<Event> {
    Ok(Event {
        seq: row.int("seq")?,
        session_id: row.optional_text("session_id")?,
        task_id: row.optional_text("task_id")?,
        at_ms: row.int("at_ms")?,
        kind: row.text("type")?,
        data: serde_json::from_str(&row.text("data")?).unwrap_or(Json::Null),
    })
}
