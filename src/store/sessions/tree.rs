//! Sessions and those of their sub-agents: what the end of one means for those above and below it.

use super::life::{Applied, cancel, cancel_tree, control};
use super::{Session, expect, from_row};
use crate::model::event::EventType;
use crate::model::session::{Control, EndReason, SessionState};
use crate::store::driver::{Sql, values};
use crate::store::events::{self, About};
use crate::store::{query, tasks, workspaces};
use anyhow::{Context, Result};
use serde_json::json;

/// The session that a sub-agent works for, and the task that waits for it.
pub(super) struct Above {
    session: String,
    task: String,
}

/// Who is above a session, and whether anybody is below it.
pub(super) struct Kin {
    pub above: Option<Above>,
    has_children: bool,
}

impl Kin {
    pub fn is_alone(&self) -> bool {
        self.above.is_none() && !self.has_children
    }
}

pub(super) fn kin(sql: &mut dyn Sql, id: &str) -> Result<Kin> {
    let row = sql
        .row(query!("sessions_kin"), values![id])?
        .with_context(|| format!("session {id} is gone"))?;
    let session = row.optional_text("parent_session_id")?;
    let both = session.zip(row.optional_text("parent_task_id")?);
    Ok(Kin {
        above: both.map(|(session, task)| Above { session, task }),
        has_children: row.flag("has_children")?,
    })
}

pub(super) fn above(sql: &mut dyn Sql, id: &str) -> Result<Option<Above>> {
    Ok(kin(sql, id)?.above)
}

/// The sessions of sub-agents that have not ended.
pub(super) fn children(sql: &mut dyn Sql, id: &str) -> Result<Vec<(String, SessionState)>> {
    let rows = sql.rows(query!("sessions_children"), values![id])?;
    rows.iter()
        .map(|row| Ok((row.text("id")?, row.word("status")?)))
        .collect()
}

/// Whoever waits for the session of a sub-agent goes on.
pub(super) fn tell(
    sql: &mut dyn Sql,
    id: &str,
    above: &Above,
    reason: EndReason,
    at_ms: i64,
) -> Result<()> {
    let facts = json!({"session": id, "end_reason": reason});
    let about = About::task(&above.session, &above.task);
    events::add(sql, about, EventType::SubAgentEnded, at_ms, &facts)?;
    tasks::ready(sql, &above.session, &above.task, at_ms)?;
    // A cancellation waited for this end; what is paused or waits for a person must be claimed for it all the same.
    match control(sql, &above.session)? {
        Some(Control::Cancel) => tasks::unhold(sql, &above.session),
        _ => Ok(()),
    }
}

/// A session that was to be cancelled, and only waited for this one, is.
pub(super) fn obey_above(sql: &mut dyn Sql, above: &Above, at_ms: i64) -> Result<()> {
    match control(sql, &above.session)? {
        Some(Control::Cancel) => cancel(sql, &above.session, at_ms).map(drop),
        _ => Ok(()),
    }
}

/// The workspace of a tree of sessions is given back when nobody of it can be at work there any more.
pub(super) fn release_workspace(
    sql: &mut dyn Sql,
    id: &str,
    above: Option<&Above>,
    at_ms: i64,
) -> Result<()> {
    let head = match above {
        Some(_) => root(sql, id)?,
        None => id.to_owned(),
    };
    let row = sql.row(query!("sessions_any_open"), values![&head])?;
    match row.context("no look at sub-agents")?.flag("any_open")? {
        true => Ok(()),
        false => workspaces::release(sql, &head, at_ms),
    }
}

/// Cancels the sub-agents of a session, or of one of its tasks. True when all of them have ended with that.
pub(in crate::store) fn cancel_children(
    sql: &mut dyn Sql,
    id: &str,
    task: Option<&str>,
    at_ms: i64,
) -> Result<bool> {
    let mut all_ended = true;
    for (child, _) in children(sql, id)? {
        let works_for = above(sql, &child)?.map(|above| above.task);
        if task.is_none() || works_for.as_deref() == task {
            all_ended &= cancel_tree(sql, &child, at_ms)? == Applied::Now;
        }
    }
    Ok(all_ended)
}

/// The sessions of the sub-agents that one task has had, first to last.
pub fn of_task(sql: &mut dyn Sql, session: &str, task: &str) -> Result<Vec<Session>> {
    let rows = sql.rows(query!("sessions_of_task"), values![session, task])?;
    rows.iter().map(from_row).collect()
}

/// The sessions of all sub-agents that worked for one, first to last.
pub fn of_parent(sql: &mut dyn Sql, session: &str) -> Result<Vec<Session>> {
    let rows = sql.rows(query!("sessions_of_parent"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// Those of them that were made for one piece of work, by the beginning of their dedupe keys.
pub fn of_errand(sql: &mut dyn Sql, session: &str, task: &str, key: &str) -> Result<Vec<Session>> {
    let mut children = of_task(sql, session, task)?;
    children.retain(|child| {
        child
            .dedupe_key
            .as_ref()
            .is_some_and(|own| own.starts_with(key))
    });
    Ok(children)
}

/// Whether a sub-agent of the task has not ended.
pub fn any_open_of_task(sql: &mut dyn Sql, session: &str, task: &str) -> Result<bool> {
    let children = of_task(sql, session, task)?;
    Ok(children.iter().any(|child| child.ended_at_ms.is_none()))
}

/// The sessions that this one works for, directly or through others.
pub fn lineage(sql: &mut dyn Sql, session: &Session) -> Result<Vec<Session>> {
    let mut above: Vec<Session> = Vec::new();
    let mut next = session.parent_session_id.clone();
    while let Some(id) = next {
        let parent = expect(sql, &id)?;
        next = parent.parent_session_id.clone();
        above.push(parent);
    }
    Ok(above)
}

/// A sub-agent of a session, at whatever depth, that waits for a person.
pub fn asking_below(sql: &mut dyn Sql, id: &str) -> Result<Option<Session>> {
    let row = sql.row(query!("sessions_asking_below"), values![id])?;
    row.as_ref().map(from_row).transpose()
}

/// The session of a person's own at the head of a tree of sub-agents.
pub fn root(sql: &mut dyn Sql, id: &str) -> Result<String> {
    let row = sql.row(query!("sessions_root"), values![id])?;
    row.with_context(|| format!("session {id} is gone"))?
        .text("id")
}
