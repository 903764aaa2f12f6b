//! The verbs of the `notices` table: what is to be told to somebody outside, from the event that it tells of until it was told or given up.
//! Which events those are and whom they concern is decided elsewhere.

use super::driver::{Row, Sql, values};
use super::events::{self, About, Event};
use super::{bookmarks, query};
use crate::model::event::EventType;
use crate::model::notice::{NOTABLE, NoticeStatus, Occasion};
use anyhow::{Context, Result};
use serde_json::json;

/// The name under which the history is read for notices.
const READER: &str = "notices";

/// A notice as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Notice {
    pub id: String,
    /// Nothing where it is about all of them.
    pub session_id: Option<String>,
    pub target: String,
    #[serde(skip)]
    pub lane: String,
    pub occasion: Occasion,
    pub event_seq: i64,
    #[serde(skip)]
    pub body: String,
    pub status: NoticeStatus,
    pub attempt_count: i64,
    pub last_error: Option<String>,
    pub next_at_ms: i64,
    pub created_at_ms: i64,
    pub settled_at_ms: Option<i64>,
}

/// What is to be told.
#[derive(Clone, Debug)]
pub struct NewNotice {
    pub id: String,
    pub session_id: Option<String>,
    pub target: String,
    pub lane: String,
    pub occasion: Occasion,
    pub event_seq: i64,
    pub body: String,
}

/// A part of the history, as far as it may be worth telling.
#[derive(Clone, Debug)]
pub struct Reading {
    pub events: Vec<Event>,
    /// All up to this number was looked at.
    pub upto: i64,
    /// There is more after it.
    pub more: bool,
}

/// How far the history was read.
pub fn bookmark(sql: &mut dyn Sql) -> Result<i64> {
    Ok(bookmarks::get(sql, READER)?.unwrap_or(0))
}

/// Reads on after a number, over `span` numbers at most.
pub fn read_on(sql: &mut dyn Sql, after: i64, span: i64) -> Result<Reading> {
    let last = events::last(sql)?;
    let upto = last.min(after.saturating_add(span)).max(after);
    let events = match upto > after {
        true => notable(sql, after, upto)?,
        false => Vec::new(),
    };
    Ok(Reading {
        events,
        upto,
        more: last > upto,
    })
}

fn notable(sql: &mut dyn Sql, after: i64, upto: i64) -> Result<Vec<Event>> {
    let [one, two, three, four, five, six, seven] = NOTABLE;
    let rows = sql.rows(
        query!("events_notable"),
        values![after, upto, one, two, three, four, five, six, seven],
    )?;
    rows.iter().map(events::from_row).collect()
}

/// Takes up what is to be told of the history up to a number. Both in one transaction: it is neither lost nor told twice.
pub fn take_up(sql: &mut dyn Sql, new: &[NewNotice], upto: i64, at_ms: i64) -> Result<()> {
    for notice in new {
        sql.run(
            query!("notices_add"),
            values![
                &notice.id,
                notice.session_id.as_ref(),
                &notice.target,
                &notice.lane,
                notice.occasion.as_str(),
                notice.event_seq,
                &notice.body,
                at_ms,
            ],
        )?;
    }
    bookmarks::move_to(sql, READER, upto)
}

/// Those who are owed something, each with the time of its next try, the earliest first.
pub fn lanes(sql: &mut dyn Sql) -> Result<Vec<(String, i64)>> {
    let rows = sql.rows(query!("notices_lanes"), &[])?;
    rows.iter()
        .map(|row| Ok((row.text("lane")?, row.int("next_at_ms")?)))
        .collect()
}

/// What one of them is due, and the address that the request named.
pub fn due(
    sql: &mut dyn Sql,
    lane: &str,
    at_ms: i64,
    limit: u32,
) -> Result<Vec<(Notice, Option<String>)>> {
    let rows = sql.rows(query!("notices_due"), values![lane, at_ms, limit])?;
    rows.iter()
        .map(|row| Ok((from_row(row)?, row.optional_text("callback_url")?)))
        .collect()
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    Delivered,
    /// To be tried again, and why.
    Again {
        at_ms: i64,
        error: String,
    },
    GivenUp {
        error: String,
    },
}

/// Writes down what came of a try.
pub fn settle(sql: &mut dyn Sql, notice: &Notice, tried: &Tried, at_ms: i64) -> Result<()> {
    let (status, error, next_at_ms) = match tried {
        Tried::Delivered => (NoticeStatus::Delivered, None, None),
        Tried::Again { at_ms, error } => (NoticeStatus::Owed, Some(error), Some(*at_ms)),
        Tried::GivenUp { error } => (NoticeStatus::GivenUp, Some(error), None),
    };
    let settled = (status != NoticeStatus::Owed).then_some(at_ms);
    let changed = sql.run(
        query!("notices_settle"),
        values![&notice.id, status.as_str(), error, next_at_ms, settled],
    )?;
    if changed == 0 || status != NoticeStatus::GivenUp {
        return Ok(());
    }
    let facts = json!({
        "notice": notice.id,
        "target": notice.target,
        "occasion": notice.occasion,
        "attempts": notice.attempt_count + 1,
        "error": error,
    });
    let about = About {
        session: notice.session_id.as_deref(),
        task: None,
    };
    events::add(sql, about, EventType::NoticeGivenUp, at_ms, &facts)
}

/// All that was or is to be told of a session, oldest first.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<Notice>> {
    let rows = sql.rows(query!("notices_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

fn from_row(row: &Row) -> Result<Notice> {
    Ok(Notice {
        id: row.text("id")?,
        session_id: row.optional_text("session_id")?,
        target: row.text("target")?,
        lane: row.text("lane")?,
        occasion: row.word("occasion").context("a notice")?,
        event_seq: row.int("event_seq")?,
        body: row.text("body")?,
        status: row.word("status")?,
        attempt_count: row.int("attempt_count")?,
        last_error: row.optional_text("last_error")?,
        next_at_ms: row.int("next_at_ms")?,
        created_at_ms: row.int("created_at_ms")?,
        settled_at_ms: row.optional_int("settled_at_ms")?,
    })
}
