//! The verbs of the tables `schedules` and `ticks`: how each schedule stands, and what came of each of its ticks.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::query;
use crate::model::event::EventType;
use crate::model::schedule::{Standing, TickOutcome};
use anyhow::{Context, Result};
use serde_json::json;

/// A schedule as stored; what it is stands in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub name: String,
    /// What it was when it was last looked at; nothing when it was off or not there.
    pub definition: Option<String>,
    pub standing: Standing,
    pub last_session_id: Option<String>,
}

/// What came of one tick.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SettledTick {
    pub schedule: String,
    pub due_at_ms: i64,
    pub outcome: TickOutcome,
    pub detail: Option<String>,
    pub session_id: Option<String>,
    pub at_ms: i64,
}

/// All schedules that there ever were, by name.
pub fn all(sql: &mut dyn Sql) -> Result<Vec<Stored>> {
    let rows = sql.rows(query!("schedules_all"), &[])?;
    rows.iter().map(stored).collect()
}

/// The schedule of this name, if it was ever looked at.
pub fn get(sql: &mut dyn Sql, name: &str) -> Result<Option<Stored>> {
    let row = sql.row(query!("schedules_get"), values![name])?;
    row.as_ref().map(stored).transpose()
}

/// Takes note of a schedule that is new, or another than before: its ticks count from now on.
pub fn adopt(sql: &mut dyn Sql, name: &str, definition: &str, at_ms: i64) -> Result<()> {
    sql.run(query!("schedules_adopt"), values![name, definition, at_ms])?;
    Ok(())
}

/// Takes note that schedules are off or gone, but for these: when one comes back, it begins anew.
pub fn keep_only(sql: &mut dyn Sql, kept: &[String]) -> Result<()> {
    let gone = |stored: &Stored| stored.definition.is_some() && !kept.contains(&stored.name);
    for stored in all(sql)?.into_iter().filter(gone) {
        sql.run(query!("schedules_forget"), values![stored.name])?;
    }
    Ok(())
}

/// Pauses a schedule, or lets it go on; false when it was so before.
pub fn set_paused(sql: &mut dyn Sql, name: &str, paused: bool, at_ms: i64) -> Result<bool> {
    let was_paused = get(sql, name)?.is_some_and(|stored| stored.standing.paused);
    if was_paused == paused {
        return Ok(false);
    }
    let resumed_at_ms = (!paused).then_some(at_ms);
    sql.run(
        query!("schedules_set_paused"),
        values![name, paused, resumed_at_ms],
    )?;
    let kind = match paused {
        true => EventType::SchedulePaused,
        false => EventType::ScheduleResumed,
    };
    let facts = json!({"schedule": name});
    events::add(sql, About::default(), kind, at_ms, &facts)?;
    Ok(true)
}

/// The clock was set back: ticks count from now on. What it had as missed while it was ahead is yet to come.
pub fn set_back(sql: &mut dyn Sql, name: &str, at_ms: i64) -> Result<()> {
    sql.run(query!("ticks_forget_ahead"), values![name, at_ms])?;
    sql.run(query!("schedules_set_back"), values![name, at_ms])?;
    Ok(())
}

/// All ticks up to this one are settled; `session` is the last one that was started.
pub fn settle(
    sql: &mut dyn Sql,
    name: &str,
    last_tick_ms: i64,
    session: Option<&str>,
) -> Result<()> {
    sql.run(
        query!("schedules_settle"),
        values![name, last_tick_ms, session],
    )?;
    Ok(())
}

/// The sessions of a schedule that have not ended, newest first.
pub fn open_sessions(sql: &mut dyn Sql, name: &str) -> Result<Vec<String>> {
    let rows = sql.rows(query!("schedules_open_sessions"), values![name])?;
    rows.iter().map(|row| row.text("id")).collect()
}

/// Whether a tick is settled already.
pub fn is_settled(sql: &mut dyn Sql, name: &str, due_at_ms: i64) -> Result<bool> {
    let row = sql.row(query!("ticks_is_there"), values![name, due_at_ms])?;
    row.context("no look at ticks")?.flag("is_there")
}

/// Writes down what came of a tick; a second time is an error.
pub fn add_tick(sql: &mut dyn Sql, tick: &SettledTick) -> Result<()> {
    sql.run(
        query!("ticks_add"),
        values![
            &tick.schedule,
            tick.due_at_ms,
            tick.outcome.as_str(),
            tick.detail.as_ref(),
            tick.session_id.as_ref(),
            tick.at_ms,
        ],
    )?;
    let about = About {
        session: tick.session_id.as_deref(),
        task: None,
    };
    events::add(sql, about, EventType::ScheduleTicked, tick.at_ms, tick)
}

/// The newest tick of a schedule.
pub fn last_tick(sql: &mut dyn Sql, name: &str) -> Result<Option<SettledTick>> {
    let row = sql.row(query!("ticks_last"), values![name])?;
    row.as_ref().map(tick).transpose()
}

/// Deletes what is known of ticks before this time.
pub fn prune(sql: &mut dyn Sql, before_ms: i64) -> Result<()> {
    for stored in all(sql)? {
        sql.run(query!("ticks_prune"), values![stored.name, before_ms])?;
    }
    Ok(())
}

fn stored(row: &Row) -> Result<Stored> {
    Ok(Stored {
        name: row.text("name")?,
        definition: row.optional_text("definition")?,
        standing: Standing {
            since_ms: row.optional_int("since_ms")?.unwrap_or(i64::MIN),
            last_tick_ms: row.optional_int("last_tick_ms")?,
            resumed_at_ms: row.optional_int("resumed_at_ms")?,
            paused: row.flag("paused")?,
        },
        last_session_id: row.optional_text("last_session_id")?,
    })
}

fn tick(row: &Row) -> Result<SettledTick> {
    Ok(SettledTick {
        schedule: row.text("schedule")?,
        due_at_ms: row.int("due_at_ms")?,
        outcome: row.word("outcome")?,
        detail: row.optional_text("detail")?,
        session_id: row.optional_text("session_id")?,
        at_ms: row.int("at_ms")?,
    })
}
