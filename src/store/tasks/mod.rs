//! The verbs of the `tasks` table, the queue itself: make, list, let time pass, hold back; `claim` has what claimants do.

mod claim;

pub use claim::{
    Claim, ClaimLost, HandOver, Parking, Running, Settlement, claim, claim_one, claim_within,
    forgive, hand_over, index_by_agent, park, renew, rescue, running, settle,
};

use crate::model::task::{TaskKind, TaskState, TaskStep};
use crate::store::driver::{Row, Sql, values};
use crate::store::events::{self, About};
use crate::store::query;
use crate::store::sessions::NewSession;
use anyhow::{Context, Result, bail};
use serde::Serialize;

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

/// A claim given at birth, for a session that runs in the foreground.
#[derive(Clone, Debug)]
pub struct Birthright {
    pub worker_id: String,
    pub lease_until_ms: i64,
}

pub(in crate::store) fn create_first(sql: &mut dyn Sql, new: &NewSession) -> Result<()> {
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

/// Makes tasks claimable whose time has come.
pub fn promote(sql: &mut dyn Sql, at_ms: i64) -> Result<usize> {
    sql.run(query!("tasks_promote"), values![at_ms])
}

/// When the next task's time comes.
pub fn next_due(sql: &mut dyn Sql) -> Result<Option<i64>> {
    let row = sql.row(query!("tasks_next_due"), &[])?;
    row.context("no next task")?.optional_int("at_ms")
}

/// The tasks of a session, in order.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<Task>> {
    let rows = sql.rows(query!("tasks_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// The agent that a task is for, where it is for one.
pub fn agent_of(sql: &mut dyn Sql, task: &str) -> Result<Option<String>> {
    let row = sql.row(query!("tasks_get"), values![task])?;
    row.map_or(Ok(None), |row| row.optional_text("agent"))
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
    let moved = Moved::between(from, to);
    tell_step(sql, (session, task), &moved, at_ms)
}

pub(in crate::store) fn cancel_open(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
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

fn tell_step(
    sql: &mut dyn Sql,
    (session, task): (&str, &str),
    moved: &Moved<'_>,
    at_ms: i64,
) -> Result<()> {
    let name = ["task.", moved.to.as_str()].concat();
    events::add_named(sql, About::task(session, task), &name, at_ms, moved)
}

/// What the event of a step says.
#[derive(Serialize)]
struct Moved<'a> {
    from: TaskState,
    to: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Moved<'_> {
    fn between(from: TaskState, to: TaskState) -> Self {
        Self {
            from,
            to,
            worker: None,
            claim: None,
            error: None,
        }
    }
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
