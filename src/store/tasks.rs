//! The verbs of the `tasks` table: the queue itself. Claim, renew, settle, park, rescue.
//! Whatever a claimant does is fenced by its claim number, so that one whose lease ran out cannot touch its successor's run.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::sessions::NewSession;
use super::{query, sessions};
use crate::model::event::EventType;
use crate::model::task::{TaskKind, TaskState, TaskStep};
use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};

/// A task as stored.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Task {
    pub id: String,
    pub session_id: String,
    pub task_order: i64,
    pub task_type: TaskKind,
    pub description: String,
    pub status: TaskState,
    pub agent: Option<String>,
    pub result_summary: Option<String>,
    pub error_type: Option<String>,
    pub error_message: Option<String>,
    pub retry_count: i64,
    pub priority: i64,
    pub not_before_ms: Option<i64>,
    pub parked_until_ms: Option<i64>,
    pub parked_reason: Option<String>,
    pub waits_for: Option<String>,
    pub started_at_ms: Option<i64>,
    pub ended_at_ms: Option<i64>,
}

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

/// A claim given at birth, for a session that runs in the foreground.
#[derive(Clone, Debug)]
pub struct Birthright {
    pub worker_id: String,
    pub lease_until_ms: i64,
}

pub(super) fn create_first(sql: &mut dyn Sql, new: &NewSession) -> Result<()> {
    let run_at_ms = new.not_before_ms.unwrap_or(new.created_at_ms);
    let owner = new.claimed_by.as_ref();
    let status = match owner {
        Some(_) => TaskState::Running,
        None => TaskState::Pending,
    };
    sql.run(
        query!("tasks_create"),
        values![
            &new.task_id,
            &new.id,
            1i64,
            TaskKind::Agent.as_str(),
            &new.objective,
            status.as_str(),
            &new.agent,
            new.priority,
            new.not_before_ms,
            run_at_ms,
            run_at_ms <= new.created_at_ms,
            owner.map(|owner| &owner.worker_id),
            owner.is_some(),
            owner.map(|owner| owner.lease_until_ms),
            owner.map(|_| new.created_at_ms),
        ],
    )?;
    Ok(())
}

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

/// Claims one task by name, if it is ready.
pub fn claim_one(
    sql: &mut dyn Sql,
    worker: &str,
    task: &str,
    lease_until_ms: i64,
    at_ms: i64,
) -> Result<Option<Claim>> {
    let claimed = sql.row(
        query!("tasks_claim_one"),
        values![worker, lease_until_ms, at_ms, task],
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
    tell_step(
        sql,
        (&claim.session_id, &claim.task_id),
        TaskState::Pending,
        TaskState::Running,
        json!({"worker": worker, "claim": claim.number}),
        at_ms,
    )?;
    sessions::start(sql, &claim.session_id, at_ms)?;
    Ok(claim)
}

/// Makes tasks claimable whose time has come.
pub fn promote(sql: &mut dyn Sql, at_ms: i64) -> Result<usize> {
    sql.run(query!("tasks_promote"), values![at_ms])
}

/// When the next task's time comes.
pub fn next_due(sql: &mut dyn Sql) -> Result<Option<i64>> {
    let row = sql.row(query!("tasks_next_due"), &[])?;
    row.context("no next task")?.optional_int("at_ms")
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
    pub result: Option<Json>,
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
            settlement.result.as_ref().map(Json::to_string),
            settlement.summary.as_ref(),
            settlement.error_type.as_ref(),
            settlement.error_message.as_ref(),
            to.is_terminal().then_some(at_ms),
        ],
    )?;
    fence(changed, claim)?;
    tell_step(
        sql,
        (&claim.session_id, &claim.task_id),
        TaskState::Running,
        to,
        json!({"error": settlement.error_message}),
        at_ms,
    )
}

/// Why a task goes back into the queue.
#[derive(Clone, Debug)]
pub enum Parking {
    /// To be claimed again at once, by the next daemon.
    Released,
    /// Not before a time.
    Until { at_ms: i64, reason: String },
    /// When its session is resumed.
    Paused,
    /// When its workspace is free.
    WorkspaceBusy { path: String, holder: String },
}

/// Puts a claimed task back into the queue.
pub fn park(sql: &mut dyn Sql, claim: &Claim, parking: &Parking, at_ms: i64) -> Result<()> {
    let until = match parking {
        Parking::Until { at_ms, .. } => Some(*at_ms),
        _ => None,
    };
    let waits_for = match parking {
        Parking::WorkspaceBusy { path, .. } => Some(path),
        _ => None,
    };
    let reason = match parking {
        Parking::Released => None,
        Parking::Until { reason, .. } => Some(reason.clone()),
        Parking::Paused => Some("paused".to_owned()),
        Parking::WorkspaceBusy { holder, .. } => Some(format!("session locked by run {holder}")),
    };
    let held = matches!(parking, Parking::Paused | Parking::WorkspaceBusy { .. });
    let changed = sql.run(
        query!("tasks_park"),
        values![
            &claim.task_id,
            &claim.worker_id,
            claim.number,
            until.unwrap_or(at_ms),
            until.is_none_or(|until| until <= at_ms),
            until,
            reason.as_ref(),
            held,
            waits_for,
        ],
    )?;
    fence(changed, claim)?;
    let facts = json!({"until_ms": until, "reason": reason});
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::TaskParked, at_ms, &facts)
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
    let facts =
        json!({"from_worker": claim.worker_id, "deaths": row.int("death_count")?, "why": why});
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::TaskRescued, at_ms, &facts)?;
    Ok(true)
}

/// A turn was brought to its end: earlier deaths of claimants are no longer held against the task.
pub fn forgive(sql: &mut dyn Sql, task: &str) -> Result<()> {
    sql.run(query!("tasks_forgive"), values![task])?;
    Ok(())
}

/// The tasks of a session, in order.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<Task>> {
    let rows = sql.rows(query!("tasks_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// Whether somebody works on the session right now.
pub fn any_running(sql: &mut dyn Sql, session: &str) -> Result<bool> {
    let open = sql.rows(query!("tasks_open_of_session"), values![session])?;
    for row in open {
        if row.word::<TaskState>("status")? == TaskState::Running {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes a step with a task that nobody has claimed.
pub fn step(
    sql: &mut dyn Sql,
    session: &str,
    task: &str,
    step: TaskStep,
    at_ms: i64,
) -> Result<()> {
    let row = sql
        .row(query!("tasks_get"), values![task])?
        .with_context(|| format!("task {task} is gone"))?;
    let from: TaskState = row.word("status")?;
    let to = from.after(step)?;
    let run_at_ms = (to == TaskState::Pending).then_some(at_ms);
    let changed = sql.run(
        query!("tasks_step"),
        values![
            task,
            from.as_str(),
            to.as_str(),
            to.is_terminal().then_some(at_ms),
            run_at_ms
        ],
    )?;
    if changed != 1 {
        bail!("task {task} changed its state meanwhile");
    }
    tell_step(sql, (session, task), from, to, json!({}), at_ms)
}

pub(super) fn cancel_open(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    for row in sql.rows(query!("tasks_open_of_session"), values![session])? {
        step(sql, session, &row.text("id")?, TaskStep::Cancel, at_ms)?;
    }
    Ok(())
}

/// Keeps the session's tasks from being claimed.
pub fn hold(sql: &mut dyn Sql, session: &str) -> Result<()> {
    sql.run(query!("tasks_hold"), values![session])?;
    Ok(())
}

/// Lets the session's tasks be claimed again, unless they wait for a workspace.
pub fn unhold(sql: &mut dyn Sql, session: &str) -> Result<()> {
    sql.run(query!("tasks_unhold"), values![session])?;
    Ok(())
}

/// How many tasks are ready, running, and waiting for their time.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Counts {
    pub ready: i64,
    pub running: i64,
    pub later: i64,
}

/// The depth of the queue.
pub fn counts(sql: &mut dyn Sql) -> Result<Counts> {
    let row = sql
        .row(query!("tasks_counts"), &[])?
        .context("no task counts")?;
    Ok(Counts {
        ready: row.int("ready")?,
        running: row.int("running")?,
        later: row.int("later")?,
    })
}

fn fence(changed: usize, claim: &Claim) -> Result<()> {
    if changed == 1 {
        return Ok(());
    }
    bail!(ClaimLost(claim.task_id.clone()))
}

fn tell_step(
    sql: &mut dyn Sql,
    (session, task): (&str, &str),
    from: TaskState,
    to: TaskState,
    more: Json,
    at_ms: i64,
) -> Result<()> {
    let mut facts = json!({"from": from, "to": to});
    if let (Json::Object(all), Json::Object(more)) = (&mut facts, more) {
        all.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let name = format!("task.{to}");
    events::add_named(sql, About::task(session, task), &name, at_ms, &facts)
}

fn from_row(row: &Row) -> Result<Task> {
    Ok(Task {
        id: row.text("id")?,
        session_id: row.text("session_id")?,
        task_order: row.int("task_order")?,
        task_type: row.word("task_type")?,
        description: row.text("description")?,
        status: row.word("status")?,
        agent: row.optional_text("agent")?,
        result_summary: row.optional_text("result_summary")?,
        error_type: row.optional_text("error_type")?,
        error_message: row.optional_text("error_message")?,
        retry_count: row.int("retry_count")?,
        priority: row.int("priority")?,
        not_before_ms: row.optional_int("not_before_ms")?,
        parked_until_ms: row.optional_int("parked_until_ms")?,
        parked_reason: row.optional_text("parked_reason")?,
        waits_for: row.optional_text("waits_for")?,
        started_at_ms: row.optional_int("started_at_ms")?,
        ended_at_ms: row.optional_int("ended_at_ms")?,
    })
}
