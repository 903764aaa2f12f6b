//! The life of a session in the rows: each step compares, sets and writes its event; the end settles all that hangs on it.
//! No verb here takes a target state.

use super::expect;
use crate::model::event::EventType;
use crate::model::session::{Control, EndReason, InvalidStep, SessionState, SessionStep, Verified};
use crate::store::driver::{Sql, values};
use crate::store::events::{self, About};
use crate::store::{humans, iterations, query, tasks, workspaces};
use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};

/// Takes one step of the state machine: compares, sets, writes the event. An invalid step changes nothing.
pub fn step(
    sql: &mut dyn Sql,
    id: &str,
    step: SessionStep,
    at_ms: i64,
    data: Json,
) -> Result<SessionState> {
    let standing = standing(sql, id)?;
    take_step(sql, id, standing, step, at_ms, data)
}

/// The state a session is in, and the one it came from.
type Standing = (SessionState, Option<SessionState>);

fn standing(sql: &mut dyn Sql, id: &str) -> Result<Standing> {
    let row = sql
        .row(query!("sessions_standing"), values![id])?
        .with_context(|| format!("session {id} is gone"))?;
    Ok((row.word("status")?, row.optional_word("came_from")?))
}

fn take_step(
    sql: &mut dyn Sql,
    id: &str,
    (from, came_from): Standing,
    step: SessionStep,
    at_ms: i64,
    data: Json,
) -> Result<SessionState> {
    // A pause inside a question keeps the question's own way back; the pause itself returns to the question.
    let back = match (step, from) {
        (SessionStep::Resume, _) if humans::waiting(sql, id)?.is_some() => {
            Some(SessionState::AwaitingHuman)
        }
        _ => came_from,
    };
    let to = from.after(step, back)?;
    let remembered = from.remembers(to, came_from);
    let waits = matches!(to, SessionState::Paused | SessionState::AwaitingHuman);
    let changed = sql.run(
        query!("sessions_step"),
        values![
            id,
            from.as_str(),
            to.as_str(),
            remembered.map(SessionState::as_str),
            at_ms,
            waits,
        ],
    )?;
    if changed != 1 {
        bail!("session {id} changed its state meanwhile");
    }
    let mut facts = json!({"from": from, "to": to});
    if let (Json::Object(all), Json::Object(more)) = (&mut facts, data) {
        all.extend(more);
    }
    let name = format!("session.{to}");
    events::add_named(sql, About::session(id), &name, at_ms, &facts)?;
    Ok(to)
}

/// The first claim of its task sets a session going; later claims find it going.
pub(in crate::store) fn start(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<()> {
    let standing = standing(sql, id)?;
    if standing.0 == SessionState::Created {
        take_step(sql, id, standing, SessionStep::Execute, at_ms, json!({}))?;
    }
    Ok(())
}

/// What a task's end adds to its session's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tally {
    Completed,
    Failed,
    /// Cancelled, or nothing was tried.
    #[default]
    Neither,
}

/// How a session ends, and what it came to.
#[derive(Clone, Debug)]
pub struct Ending {
    pub step: SessionStep,
    pub reason: EndReason,
    pub detail: Option<String>,
    pub answer: Option<String>,
    pub verified: Option<Verified>,
    pub tally: Tally,
}

impl Ending {
    /// An end without an answer.
    pub fn new(step: SessionStep, reason: EndReason, detail: Option<String>) -> Self {
        Self {
            step,
            reason,
            detail,
            answer: None,
            verified: None,
            tally: Tally::Neither,
        }
    }
}

/// Ends a session: its open tasks are cancelled, its questions withdrawn, its workspace given back.
pub fn end(sql: &mut dyn Sql, id: &str, ending: &Ending, at_ms: i64) -> Result<()> {
    let (from, _) = standing(sql, id)?;
    let to = from.after(ending.step, None)?;
    let changed = sql.run(
        query!("sessions_end"),
        values![
            id,
            from.as_str(),
            to.as_str(),
            at_ms,
            ending.reason.as_str(),
            ending.detail.as_ref(),
            ending.answer.as_ref(),
            ending.verified.map(Verified::as_str),
            ending.tally == Tally::Completed,
            ending.tally == Tally::Failed,
        ],
    )?;
    if changed != 1 {
        bail!("session {id} changed its state meanwhile");
    }
    let facts = json!({
        "from": from, "to": to, "end_reason": ending.reason, "detail": ending.detail, "verified": ending.verified,
    });
    events::add_named(
        sql,
        About::session(id),
        &format!("session.{to}"),
        at_ms,
        &facts,
    )?;
    tasks::cancel_open(sql, id, at_ms)?;
    // Only a session that waits, or was paused while it waited, can have an open question.
    if matches!(from, SessionState::AwaitingHuman | SessionState::Paused) {
        humans::withdraw(sql, id, at_ms)?;
    }
    workspaces::release(sql, id, at_ms)
}

/// Cancels a session: at once when nothing of it runs, else by a wish that the loop obeys. A turn may be running
/// without a claimant for a while, after a crash: whoever claims the task next ends it.
pub fn cancel(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<Applied> {
    if tasks::any_running(sql, id)? || iterations::under_way(sql, id)?.is_some() {
        return wish(sql, id, SessionStep::Cancel, Control::Cancel, at_ms);
    }
    let ending = Ending::new(SessionStep::Cancel, EndReason::Cancelled, None);
    end(sql, id, &ending, at_ms)?;
    Ok(Applied::Now)
}

/// Pauses a session: at once when nothing of it runs, else after the running iteration, or by ending that (`now`).
pub fn pause(sql: &mut dyn Sql, id: &str, now: bool, at_ms: i64) -> Result<Applied> {
    if tasks::any_running(sql, id)? {
        let control = if now {
            Control::PauseNow
        } else {
            Control::Pause
        };
        return wish(sql, id, SessionStep::Pause, control, at_ms);
    }
    step(sql, id, SessionStep::Pause, at_ms, json!({}))?;
    tasks::hold(sql, id)?;
    Ok(Applied::Now)
}

/// Resumes a paused session, or withdraws a pause that has not taken effect yet.
pub fn resume(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<Applied> {
    let session = expect(sql, id)?;
    if matches!(session.control, Some(Control::Pause | Control::PauseNow)) {
        sql.run(query!("sessions_set_control"), values![id, None::<String>])?;
        return Ok(Applied::Now);
    }
    step(sql, id, SessionStep::Resume, at_ms, json!({}))?;
    tasks::unhold(sql, id)?;
    Ok(Applied::Now)
}

/// Whether a person's wish has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Now,
    /// Noted; the running iteration decides when.
    Soon,
}

fn wish(
    sql: &mut dyn Sql,
    id: &str,
    step: SessionStep,
    control: Control,
    at_ms: i64,
) -> Result<Applied> {
    let session = expect(sql, id)?;
    session.status.after(step, None)?;
    if session.control == Some(Control::Cancel) && control != Control::Cancel {
        bail!(InvalidStep {
            from: "being cancelled",
            step: step.as_str()
        });
    }
    sql.run(
        query!("sessions_set_control"),
        values![id, control.as_str()],
    )?;
    let facts = json!({"control": control});
    events::add(
        sql,
        About::session(id),
        EventType::SessionControl,
        at_ms,
        &facts,
    )?;
    Ok(Applied::Soon)
}
