//! The life of a session in the rows: each step compares, sets and writes its event; the end settles all that hangs on it.
//! No verb here takes a target state.

use super::expect;
use super::tree::{self, Above};
use crate::model::event::EventType;
use crate::model::session::{Control, EndReason, InvalidStep, SessionState, SessionStep, Verified};
use crate::model::task::TaskKind;
use crate::store::driver::{Sql, values};
use crate::store::events::{self, About};
use crate::store::{humans, iterations, query, tasks, workspaces};
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;

/// Takes one step of the state machine: compares, sets, writes the event. An invalid step changes nothing.
pub fn step(sql: &mut dyn Sql, id: &str, step: SessionStep, at_ms: i64) -> Result<SessionState> {
    let (from, came_from) = standing(sql, id)?;
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
    tell_step(sql, id, &Moved { from, to }, to, at_ms)?;
    Ok(to)
}

/// What the event of a step says.
#[derive(Serialize)]
struct Moved {
    from: SessionState,
    to: SessionState,
}

/// What the event of the last step says.
#[derive(Serialize)]
struct Ended<'a> {
    from: SessionState,
    to: SessionState,
    end_reason: EndReason,
    detail: Option<&'a str>,
    verified: Option<Verified>,
}

fn tell_step(
    sql: &mut dyn Sql,
    id: &str,
    facts: &impl Serialize,
    to: SessionState,
    at_ms: i64,
) -> Result<()> {
    let name = ["session.", to.as_str()].concat();
    events::add_named(sql, About::session(id), &name, at_ms, facts)
}

/// The state a session is in, and the one it came from.
type Standing = (SessionState, Option<SessionState>);

fn standing(sql: &mut dyn Sql, id: &str) -> Result<Standing> {
    let row = sql
        .row(query!("sessions_standing"), values![id])?
        .with_context(|| format!("session {id} is gone"))?;
    Ok((row.word("status")?, row.optional_word("came_from")?))
}

/// The first claim of its task sets a session going; later claims find it going.
pub(in crate::store) fn start(
    sql: &mut dyn Sql,
    id: &str,
    kind: TaskKind,
    at_ms: i64,
) -> Result<()> {
    let from = SessionState::Created;
    let step = match kind {
        TaskKind::Plan => SessionStep::Discover,
        _ => SessionStep::Execute,
    };
    let to = from.after(step, None)?;
    let changed = sql.run(
        query!("sessions_start"),
        values![id, from.as_str(), to.as_str(), at_ms],
    )?;
    if changed == 1 {
        tell_step(sql, id, &Moved { from, to }, to, at_ms)?;
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
    match close(sql, id, ending, at_ms)? {
        Some(above) => tree::obey_above(sql, &above, at_ms),
        None => Ok(()),
    }
}

/// The same, but for what it lets the session above do; returns that.
fn close(sql: &mut dyn Sql, id: &str, ending: &Ending, at_ms: i64) -> Result<Option<Above>> {
    // Nearly every session ends while it is executing: that is tried before anything is looked up.
    let mut from = SessionState::Executing;
    if !set_ended(sql, id, from, ending, at_ms)? {
        from = standing(sql, id)?.0;
        if !set_ended(sql, id, from, ending, at_ms)? {
            bail!("session {id} changed its state meanwhile");
        }
    }
    tasks::let_followers_go(sql, id)?;
    tasks::cancel_open(sql, id, at_ms)?;
    // Only a session that waits, or was paused while it waited, can have an open question.
    if matches!(from, SessionState::AwaitingHuman | SessionState::Paused) {
        humans::withdraw(sql, id, at_ms)?;
    }
    let kin = tree::kin(sql, id)?;
    if kin.is_alone() {
        workspaces::release(sql, id, at_ms)?;
        return Ok(None);
    }
    tree::cancel_children(sql, id, None, at_ms)?;
    let above = kin.above;
    if let Some(above) = &above {
        tree::tell(sql, id, above, ending.reason, at_ms)?;
    }
    tree::release_workspace(sql, id, above.as_ref(), at_ms)?;
    Ok(above)
}

/// The last step, if the session still is in the state it was decided upon.
fn set_ended(
    sql: &mut dyn Sql,
    id: &str,
    from: SessionState,
    ending: &Ending,
    at_ms: i64,
) -> Result<bool> {
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
        return Ok(false);
    }
    let facts = Ended {
        from,
        to,
        end_reason: ending.reason,
        detail: ending.detail.as_deref(),
        verified: ending.verified,
    };
    tell_step(sql, id, &facts, to, at_ms)?;
    Ok(true)
}

/// Cancels a session: at once when nothing of it runs, else by a wish that the loop obeys. A turn may be running
/// without a claimant for a while, after a crash: whoever claims the task next ends it.
pub fn cancel(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<Applied> {
    let applied = cancel_tree(sql, id, at_ms)?;
    if applied == Applied::Now
        && let Some(above) = tree::above(sql, id)?
    {
        tree::obey_above(sql, &above, at_ms)?;
    }
    Ok(applied)
}

pub(super) fn cancel_tree(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<Applied> {
    let sub_agents_ended = tree::cancel_children(sql, id, None, at_ms)?;
    let at_work = tasks::any_running(sql, id)?;
    let left_under_way = iterations::under_way(sql, id)?.is_some();
    if at_work || left_under_way || !sub_agents_ended {
        let noted = wish(sql, id, SessionStep::Cancel, Control::Cancel, at_ms)?;
        // Somebody has to come and end that turn, also where the session is paused.
        if left_under_way && !at_work {
            tasks::unhold(sql, id)?;
        }
        return Ok(noted);
    }
    let ending = Ending::new(SessionStep::Cancel, EndReason::Cancelled, None);
    close(sql, id, &ending, at_ms)?;
    Ok(Applied::Now)
}

/// Pauses a session: at once when nothing of it runs, else after the running iteration, or by ending that (`now`).
pub fn pause(sql: &mut dyn Sql, id: &str, now: bool, at_ms: i64) -> Result<Applied> {
    unless_cancelled(sql, id, SessionStep::Pause)?;
    for (child, state) in tree::children(sql, id)? {
        let cancelled = control(sql, &child)? == Some(Control::Cancel);
        if state != SessionState::Paused && !cancelled {
            pause(sql, &child, now, at_ms)?;
        }
    }
    if tasks::any_running(sql, id)? {
        let control = if now {
            Control::PauseNow
        } else {
            Control::Pause
        };
        return wish(sql, id, SessionStep::Pause, control, at_ms);
    }
    step(sql, id, SessionStep::Pause, at_ms)?;
    tasks::hold(sql, id)?;
    Ok(Applied::Now)
}

/// Resumes a paused session, or withdraws a pause that has not taken effect yet.
pub fn resume(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<Applied> {
    unless_cancelled(sql, id, SessionStep::Resume)?;
    let session = expect(sql, id)?;
    let pausing = |control| matches!(control, Some(Control::Pause | Control::PauseNow));
    for (child, state) in tree::children(sql, id)? {
        let wish = control(sql, &child)?;
        if pausing(wish) || (state == SessionState::Paused && wish.is_none()) {
            resume(sql, &child, at_ms)?;
        }
    }
    let back = match pausing(session.control) {
        true => withdraw_pause(sql, id, session.status, at_ms)?,
        false => step(sql, id, SessionStep::Resume, at_ms)?,
    };
    humans::reopen_gates(sql, id, at_ms)?;
    // While a person is asked, nothing of the session runs.
    if back != SessionState::AwaitingHuman {
        tasks::unhold(sql, id)?;
    }
    Ok(Applied::Now)
}

/// A pause that has not taken effect is no longer wanted. Where the rejection of a gate was its reason, nothing is asked any more.
fn withdraw_pause(
    sql: &mut dyn Sql,
    id: &str,
    status: SessionState,
    at_ms: i64,
) -> Result<SessionState> {
    set_control(sql, id, None, at_ms)?;
    match status == SessionState::AwaitingHuman && humans::waiting(sql, id)?.is_none() {
        true => step(sql, id, SessionStep::Answer, at_ms),
        false => Ok(status),
    }
}

/// A cancellation that was noted is final.
fn unless_cancelled(sql: &mut dyn Sql, id: &str, step: SessionStep) -> Result<()> {
    match control(sql, id)? {
        Some(Control::Cancel) => bail!(InvalidStep {
            from: "being cancelled",
            step: step.as_str()
        }),
        _ => Ok(()),
    }
}

/// What people want of a session and its running tasks have not obeyed yet.
pub fn control(sql: &mut dyn Sql, id: &str) -> Result<Option<Control>> {
    let row = sql
        .row(query!("sessions_control"), values![id])?
        .with_context(|| format!("session {id} is gone"))?;
    row.optional_word("control")
}

/// Lets a wish take effect that came while a task of the session was claimed, now that it no longer is.
pub fn obey(sql: &mut dyn Sql, id: &str, wish: Option<Control>, at_ms: i64) -> Result<()> {
    match wish {
        None => {}
        Some(Control::Cancel) => drop(cancel(sql, id, at_ms)?),
        Some(Control::Pause) => drop(pause(sql, id, false, at_ms)?),
        Some(Control::PauseNow) => drop(pause(sql, id, true, at_ms)?),
    }
    Ok(())
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
    if session.control != Some(control) {
        set_control(sql, id, Some(control), at_ms)?;
    }
    Ok(Applied::Soon)
}

/// Notes what people want of a session, or that they no longer want it, and tells so.
fn set_control(sql: &mut dyn Sql, id: &str, control: Option<Control>, at_ms: i64) -> Result<()> {
    sql.run(
        query!("sessions_set_control"),
        values![id, control.map(Control::as_str)],
    )?;
    let facts = json!({"control": control});
    let about = About::session(id);
    events::add(sql, about, EventType::SessionControl, at_ms, &facts)
}
