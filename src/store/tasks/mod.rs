//! The verbs of the `tasks` table, the queue itself: make, list, let time pass, hold back; `claim` has what claimants do.

mod claim;

pub use claim::{
    Claim, ClaimLost, HandOver, Parking, Running, Settlement, claim, claim_of_tree, claim_within,
    forgive, hand_over, index_by_agent, park, renew, rescue, running, settle,
};

use crate::model::plan::PlanTask;
use crate::model::task::{TaskKind, TaskState, TaskStep};
use crate::store::driver::{Row, Sql, values};
use crate::store::events::{self, About};
use crate::store::query;
use crate::store::sessions::NewSession;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value as Json;

/// A task as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Task {
    pub id: String,
    pub session_id: String,
    pub task_order: i64,
    pub task_type: TaskKind,
    pub description: String,
    pub target: Option<String>,
    pub status: TaskState,
    pub agent: Option<String>,
    pub result_summary: Option<String>,
    pub error_type: Option<String>,
    pub error_message: Option<String>,
    pub retry_count: i64,
    /// How many tries have failed, whatever was made of that.
    pub failure_count: i64,
    /// The last iteration of those tries.
    pub tried_until: i64,
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
    // What is planned first has an order before all that the plan will hold.
    let (order, kind) = match new.planned {
        true => (0i64, TaskKind::Plan),
        false => (1i64, TaskKind::Agent),
    };
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
            order,
            kind.as_str(),
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

/// Makes tasks claimable that were put aside until a time, whatever time that is: the clock they were put aside by was wrong.
pub fn promote_parked(sql: &mut dyn Sql, at_ms: i64) -> Result<usize> {
    sql.run(query!("tasks_promote_parked"), values![at_ms])
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

/// The first task of a session: its only one, or the one that plans the others.
pub fn first(sql: &mut dyn Sql, session: &str) -> Result<Option<Task>> {
    let row = sql.row(query!("tasks_first"), values![session])?;
    row.as_ref().map(from_row).transpose()
}

/// A task with all that is needed to work on it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Assignment {
    #[serde(flatten)]
    pub task: Task,
    /// What its plan says of it.
    pub step: Option<PlanTask>,
    /// What an earlier try left.
    pub result: Option<Json>,
}

/// The task with this id, to be worked on.
pub fn expect(sql: &mut dyn Sql, task: &str) -> Result<Assignment> {
    get(sql, task)?.with_context(|| format!("task {task} is gone"))
}

/// The task with this id, if it is there.
pub fn get(sql: &mut dyn Sql, task: &str) -> Result<Option<Assignment>> {
    let row = sql.row(query!("tasks_get"), values![task])?;
    row.as_ref().map(assignment).transpose()
}

/// The tasks of a session with what its plan says of them and what they came to, in order.
pub fn all(sql: &mut dyn Sql, session: &str) -> Result<Vec<Assignment>> {
    let rows = sql.rows(query!("tasks_of_session"), values![session])?;
    rows.iter().map(assignment).collect()
}

/// Those of its plan alone.
pub fn planned(sql: &mut dyn Sql, session: &str) -> Result<Vec<Assignment>> {
    let mut tasks = all(sql, session)?;
    tasks.retain(|task| task.step.is_some());
    Ok(tasks)
}

/// All but the task that plans the others: it is no task to whoever asked for the work.
pub fn for_people(sql: &mut dyn Sql, session: &str) -> Result<Vec<Assignment>> {
    let mut tasks = all(sql, session)?;
    tasks.retain(|assignment| assignment.task.task_type != TaskKind::Plan);
    Ok(tasks)
}

fn assignment(row: &Row) -> Result<Assignment> {
    let task = from_row(row)?;
    let spec = row.optional_text("spec")?;
    let spec = spec
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .with_context(|| format!("task {} holds an unreadable plan", task.id))?;
    Ok(Assignment {
        task,
        step: spec,
        result: row.optional_json("result")?,
    })
}

/// Whether a task is there and has not ended.
pub fn is_open(sql: &mut dyn Sql, task: &str) -> Result<bool> {
    let row = sql.row(query!("tasks_get"), values![task])?;
    row.map_or(Ok(false), |row| {
        Ok(!row.word::<TaskState>("status")?.is_terminal())
    })
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
    step_queued(sql, (session, task), step, Some(at_ms), at_ms)
}

/// The same; where it becomes ready with that, `run_at_ms` is its place in the queue, or it has the one it had.
fn step_queued(
    sql: &mut dyn Sql,
    (session, task): (&str, &str),
    step: TaskStep,
    run_at_ms: Option<i64>,
    at_ms: i64,
) -> Result<()> {
    let row = sql
        .row(query!("tasks_get"), values![task])?
        .with_context(|| format!("task {task} is gone"))?;
    let from: TaskState = row.word("status")?;
    let to = from.after(step)?;
    let run_at_ms = run_at_ms.filter(|_| to == TaskState::Pending);
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

/// Writes the event of a step that was taken together with others.
pub(in crate::store) fn tell(
    sql: &mut dyn Sql,
    whose: (&str, &str),
    (from, to): (TaskState, TaskState),
    at_ms: i64,
) -> Result<()> {
    tell_step(sql, whose, &Moved::between(from, to), at_ms)
}

/// How many other tasks of a session somebody works on right now, its own not counted.
pub fn running_beside(sql: &mut dyn Sql, session: &str, task: &str) -> Result<i64> {
    let row = sql.row(query!("tasks_running_beside"), values![session, task])?;
    row.context("no count of tasks")?.int("count")
}

/// Lets one of the tasks be claimed that wait for this.
pub fn free_one(sql: &mut dyn Sql, waits_for: &str) -> Result<()> {
    sql.run(query!("tasks_free_one"), values![waits_for])?;
    Ok(())
}

/// Keeps a new session in the queue until another one has ended.
pub fn follow(sql: &mut dyn Sql, session: &str, earlier: &str, reason: &str) -> Result<()> {
    let key = end_of(earlier);
    sql.run(query!("tasks_follow"), values![session, key, reason])?;
    Ok(())
}

/// Those that wait for the end of a session go on; or wait for the one that it waited for itself.
pub(in crate::store) fn let_followers_go(sql: &mut dyn Sql, session: &str) -> Result<()> {
    let key = end_of(session);
    sql.run(query!("tasks_let_followers_go"), values![key, session])?;
    Ok(())
}

/// What a task waits for that waits for the end of a session.
fn end_of(session: &str) -> String {
    ["session:", session].concat()
}

/// The session of a sub-agent has ended: the task that waits for it can go on.
pub(in crate::store) fn ready(
    sql: &mut dyn Sql,
    session: &str,
    task: &str,
    at_ms: i64,
) -> Result<()> {
    let row = sql.row(query!("tasks_get"), values![task])?;
    let Some(row) = row else {
        return Ok(());
    };
    match row.word("status")? {
        // Somebody has begun it: it does not queue up again behind all others.
        TaskState::WaitingDependency => {
            step_queued(sql, (session, task), TaskStep::Ready, None, at_ms)
        }
        _ => Ok(()),
    }
}

pub(in crate::store) fn cancel_open(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    for row in sql.rows(query!("tasks_open_of_session"), values![session])? {
        // It stays as it is, so that one sees what a failure kept from running.
        if row.word::<TaskState>("status")? == TaskState::Blocked {
            continue;
        }
        step(sql, session, &row.text("id")?, TaskStep::Cancel, at_ms)?;
    }
    Ok(())
}

/// Keeps the session's tasks from being claimed.
pub fn hold(sql: &mut dyn Sql, session: &str) -> Result<()> {
    sql.run(query!("tasks_hold"), values![session])?;
    Ok(())
}

/// Lets the session's tasks be claimed again, unless they wait for a workspace that another session has.
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
        target: row.optional_text("target")?,
        status: row.word("status")?,
        agent: row.optional_text("agent")?,
        result_summary: row.optional_text("result_summary")?,
        error_type: row.optional_text("error_type")?,
        error_message: row.optional_text("error_message")?,
        retry_count: row.int("retry_count")?,
        failure_count: row.int("failure_count")?,
        tried_until: row.int("tried_until")?,
        priority: row.int("priority")?,
        not_before_ms: row.optional_int("not_before_ms")?,
        parked_until_ms: row.optional_int("parked_until_ms")?,
        parked_reason: row.optional_text("parked_reason")?,
        waits_for: row.optional_text("waits_for")?,
        started_at_ms: row.optional_int("started_at_ms")?,
        ended_at_ms: row.optional_int("ended_at_ms")?,
    })
}
