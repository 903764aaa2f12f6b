//! What a claimant does with its task: claim, renew, settle, park; and how a dead claimant's task is taken back.
//! All of it is fenced by the claim's number, so that one whose lease ran out cannot touch its successor's run.

use super::{Moved, tell_step};
use crate::model::event::EventType;
use crate::model::room::{Admission, Busy, Caps, admission};
use crate::model::session::Control;
use crate::model::task::{TaskKind, TaskState, TaskStep};
use crate::store::driver::{Row, Sql, values};
use crate::store::events::{self, About};
use crate::store::workspaces::Holder;
use crate::store::{query, sessions};
use anyhow::{Result, bail};
use serde_json::json;

/// The right to work on a task, until the lease runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub task_id: String,
    pub session_id: String,
    pub worker_id: String,
    pub number: i64,
}

/// A claim that belongs to somebody else by now.
#[derive(Debug)]
pub struct ClaimLost(pub String);

impl std::fmt::Display for ClaimLost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the claim on task {} was lost", self.0)
    }
}

impl std::error::Error for ClaimLost {}

/// Claims the next ready task: by priority, then time, then age.
pub fn claim(
    sql: &mut dyn Sql,
    worker: &str,
    lease_until_ms: i64,
    at_ms: i64,
) -> Result<Option<Claim>> {
    let claimed = sql.row(
        query!("tasks_claim"),
        values![worker, lease_until_ms, at_ms],
    )?;
    claimed
        .map(|row| note_claim(sql, worker, &row, at_ms))
        .transpose()
}

/// Claims the next ready task for which the caps leave room, in the same order.
pub fn claim_within(
    sql: &mut dyn Sql,
    caps: &Caps,
    worker: &str,
    lease_until_ms: i64,
    at_ms: i64,
) -> Result<Option<Claim>> {
    if caps.is_empty() {
        return claim(sql, worker, lease_until_ms, at_ms);
    }
    let list = |names: &[String]| json!(names).to_string();
    let claimed = match admission(caps, &busy(sql)?) {
        Admission::Anybody => return claim(sql, worker, lease_until_ms, at_ms),
        Admission::Agents(free) => sql.row(
            query!("tasks_claim_of_agents"),
            values![worker, lease_until_ms, at_ms, list(&free)],
        )?,
        Admission::Sessions(open, free) => sql.row(
            query!("tasks_claim_of_sessions"),
            values![worker, lease_until_ms, at_ms, list(&free), list(&open)],
        )?,
    };
    claimed
        .map(|row| note_claim(sql, worker, &row, at_ms))
        .transpose()
}

/// Keeps, or drops, what makes the claim by agent as fast with a long backlog as with a short one.
pub fn index_by_agent(sql: &mut dyn Sql, wanted: bool) -> Result<()> {
    match wanted {
        true => sql.run(query!("tasks_index_by_agent"), &[])?,
        false => sql.run(query!("tasks_unindex_by_agent"), &[])?,
    };
    Ok(())
}

fn busy(sql: &mut dyn Sql) -> Result<Vec<Busy>> {
    let rows = sql.rows(query!("tasks_busy"), &[])?;
    rows.iter()
        .map(|row| {
            Ok(Busy {
                session: row.text("session_id")?,
                agent: row.optional_text("agent")?,
            })
        })
        .collect()
}

/// Claims the next ready task of a session or of its sub-agents.
pub fn claim_of_tree(
    sql: &mut dyn Sql,
    worker: &str,
    session: &str,
    lease_until_ms: i64,
    at_ms: i64,
) -> Result<Option<Claim>> {
    let claimed = sql.row(
        query!("tasks_claim_of_tree"),
        values![worker, lease_until_ms, at_ms, session],
    )?;
    claimed
        .map(|row| note_claim(sql, worker, &row, at_ms))
        .transpose()
}

fn note_claim(sql: &mut dyn Sql, worker: &str, row: &Row, at_ms: i64) -> Result<Claim> {
    let claim = Claim {
        task_id: row.text("id")?,
        session_id: row.text("session_id")?,
        worker_id: worker.to_owned(),
        number: row.int("claim_number")?,
    };
    let moved = Moved {
        worker: Some(worker),
        claim: Some(claim.number),
        ..Moved::between(TaskState::Pending, TaskState::Running)
    };
    tell_step(sql, (&claim.session_id, &claim.task_id), &moved, at_ms)?;
    let kind: TaskKind = row.word("task_type")?;
    sessions::start(sql, &claim.session_id, kind, at_ms)?;
    Ok(claim)
}

/// Extends a lease; false when the claim is lost.
pub fn renew(sql: &mut dyn Sql, claim: &Claim, lease_until_ms: i64) -> Result<bool> {
    let renewed = sql.run(
        query!("tasks_renew"),
        values![
            &claim.task_id,
            &claim.worker_id,
            claim.number,
            lease_until_ms
        ],
    )?;
    Ok(renewed == 1)
}

/// How a claimed task is left.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// As JSON text, made by the caller: the one writer is what all wait for.
    pub result: Option<String>,
    pub summary: Option<String>,
    pub error_type: Option<String>,
    pub error_message: Option<String>,
}

/// Settles a claimed task by `step`.
pub fn settle(
    sql: &mut dyn Sql,
    claim: &Claim,
    step: TaskStep,
    settlement: &Settlement,
    at_ms: i64,
) -> Result<()> {
    let to = TaskState::Running.after(step)?;
    let changed = sql.run(
        query!("tasks_settle"),
        values![
            &claim.task_id,
            &claim.worker_id,
            claim.number,
            to.as_str(),
            settlement.result.as_ref(),
            settlement.summary.as_ref(),
            settlement.error_type.as_ref(),
            settlement.error_message.as_ref(),
            to.is_terminal().then_some(at_ms),
        ],
    )?;
    fence(changed, claim)?;
    let moved = Moved {
        error: settlement.error_message.as_deref(),
        ..Moved::between(TaskState::Running, to)
    };
    tell_step(sql, (&claim.session_id, &claim.task_id), &moved, at_ms)
}

/// Why a task goes back into the queue.
#[derive(Clone, Debug)]
pub enum Parking {
    /// To be claimed again at once, at the place it had.
    Released,
    /// Not before a time.
    Until { at_ms: i64, reason: String },
    /// When its session is resumed.
    Paused,
    /// When its workspace is free.
    WorkspaceBusy { path: String, holder: Holder },
    /// When one of those has left that take the room it needs.
    NoRoom { key: String, reason: String },
}

/// Puts a claimed task back into the queue. What people wished of its session meanwhile takes effect with it, for nobody
/// might look at the task again for hours.
pub fn park(sql: &mut dyn Sql, claim: &Claim, parking: &Parking, at_ms: i64) -> Result<()> {
    let wish = sessions::control(sql, &claim.session_id)?;
    let parking = match (parking, wish) {
        // The pause was withdrawn before it began, or became a cancellation, which must find the task.
        (Parking::Paused, None | Some(Control::Cancel)) => &Parking::Released,
        _ => parking,
    };
    set_parked(sql, claim, parking, at_ms)?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}

fn set_parked(sql: &mut dyn Sql, claim: &Claim, parking: &Parking, at_ms: i64) -> Result<()> {
    let until = match parking {
        Parking::Until { at_ms, .. } => Some(*at_ms),
        _ => None,
    };
    let run_at_ms = match parking {
        // Somebody has begun it: it does not queue up again behind all others.
        Parking::Released => None,
        _ => Some(until.unwrap_or(at_ms)),
    };
    let waits_for = match parking {
        Parking::WorkspaceBusy { path: key, .. } | Parking::NoRoom { key, .. } => Some(key),
        _ => None,
    };
    let reason = match parking {
        Parking::Released => None,
        Parking::Until { reason, .. } => Some(reason.clone()),
        Parking::Paused => Some("paused".to_owned()),
        Parking::WorkspaceBusy { holder, .. } => Some(holder.to_string()),
        Parking::NoRoom { reason, .. } => Some(reason.clone()),
    };
    let held = waits_for.is_some() || matches!(parking, Parking::Paused);
    let changed = sql.run(
        query!("tasks_park"),
        values![
            &claim.task_id,
            &claim.worker_id,
            claim.number,
            run_at_ms,
            until.is_none_or(|until| until <= at_ms),
            until,
            reason.as_ref(),
            held,
            waits_for,
        ],
    )?;
    fence(changed, claim)?;
    tell_back_in_queue(sql, claim, at_ms)?;
    let facts = json!({"until_ms": until, "reason": reason});
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::TaskParked, at_ms, &facts)
}

fn tell_back_in_queue(sql: &mut dyn Sql, claim: &Claim, at_ms: i64) -> Result<()> {
    let moved = Moved::between(TaskState::Running, TaskState::Pending);
    tell_step(sql, (&claim.session_id, &claim.task_id), &moved, at_ms)
}

/// Who goes on with a task, and why.
#[derive(Clone, Debug)]
pub struct HandOver {
    pub from: String,
    pub to: String,
    /// What keeps the agent that was asked for from it, and until when.
    pub reason: Option<String>,
    pub until_ms: Option<i64>,
    /// The place in the queue that the task keeps.
    pub queued_since_ms: i64,
}

/// Puts a claimed task back into the queue for another agent.
pub fn hand_over(sql: &mut dyn Sql, claim: &Claim, over: &HandOver, at_ms: i64) -> Result<()> {
    let wish = sessions::control(sql, &claim.session_id)?;
    let changed = sql.run(
        query!("tasks_hand_over"),
        values![
            &claim.task_id,
            &claim.worker_id,
            claim.number,
            &over.to,
            over.queued_since_ms,
        ],
    )?;
    fence(changed, claim)?;
    tell_back_in_queue(sql, claim, at_ms)?;
    let facts =
        json!({"from": over.from, "to": over.to, "reason": over.reason, "until_ms": over.until_ms});
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::AgentChanged, at_ms, &facts)?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}

/// A task that somebody claimed and has not settled.
#[derive(Clone, Debug)]
pub struct Running {
    pub claim: Claim,
    pub lease_until_ms: i64,
    pub death_count: i64,
    /// The iteration that was under way.
    pub iteration_id: Option<String>,
}

/// All claimed tasks.
pub fn running(sql: &mut dyn Sql) -> Result<Vec<Running>> {
    let rows = sql.rows(query!("tasks_running"), &[])?;
    rows.iter()
        .map(|row| {
            Ok(Running {
                claim: Claim {
                    task_id: row.text("id")?,
                    session_id: row.text("session_id")?,
                    worker_id: row.text("claimed_by")?,
                    number: row.int("claim_number")?,
                },
                lease_until_ms: row.optional_int("lease_until_ms")?.unwrap_or(0),
                death_count: row.int("death_count")?,
                iteration_id: row.optional_text("iteration_id")?,
            })
        })
        .collect()
}

/// Takes a task back from a dead claimant. `step` is `Rescue`, or `Fail` for a task that keeps killing its claimants.
pub fn rescue(
    sql: &mut dyn Sql,
    claim: &Claim,
    step: TaskStep,
    counts_as_death: bool,
    why: &str,
    at_ms: i64,
) -> Result<bool> {
    let to = TaskState::Running.after(step)?;
    let poison = step == TaskStep::Fail;
    let row = sql.row(
        query!("tasks_rescue"),
        values![
            &claim.task_id,
            &claim.worker_id,
            claim.number,
            to.as_str(),
            counts_as_death,
            to.is_terminal().then_some(at_ms),
            poison.then_some("poison"),
            poison.then_some(why),
        ],
    )?;
    let Some(row) = row else {
        return Ok(false);
    };
    let (whose, moved) = (
        (&*claim.session_id, &*claim.task_id),
        Moved::between(TaskState::Running, to),
    );
    tell_step(sql, whose, &moved, at_ms)?;
    let facts =
        json!({"from_worker": claim.worker_id, "deaths": row.int("death_count")?, "why": why});
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::TaskRescued, at_ms, &facts)?;
    // Whoever claims it next cancels it, also where a person is asked meanwhile.
    if sessions::control(sql, &claim.session_id)? == Some(Control::Cancel) {
        super::unhold(sql, &claim.session_id)?;
    }
    Ok(true)
}

/// A turn was brought to its end: earlier deaths of claimants are no longer held against the task.
pub fn forgive(sql: &mut dyn Sql, task: &str) -> Result<()> {
    sql.run(query!("tasks_forgive"), values![task])?;
    Ok(())
}

fn fence(changed: usize, claim: &Claim) -> Result<()> {
    if changed == 1 {
        return Ok(());
    }
    bail!(ClaimLost(claim.task_id.clone()))
}
