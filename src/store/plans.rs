//! The rows of a plan: its tasks and what they wait for. A task's end readies or blocks what depends on it, counts in the session
//! and calls the session's own task when it was the last, all in the transaction of that end. It must not decide what follows a failure.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::sessions;
use super::tasks::{self, Assignment, Claim, Settlement};
use super::{humans, query};
use crate::model::event::EventType;
use crate::model::plan::{Plan, PlanTask};
use crate::model::session::{EndReason, SessionState, SessionStep};
use crate::model::task::{TaskKind, TaskState, TaskStep};
use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use std::collections::{BTreeSet, HashMap};

/// A plan that is to become rows.
#[derive(Clone, Debug)]
pub struct NewPlan {
    pub plan: Plan,
    /// What the workflow was given, as JSON.
    pub inputs: Json,
    /// An id for each task, in the order of the plan.
    pub ids: Vec<String>,
    pub priority: i64,
    /// Their place in the queue: what has begun does not queue up behind all others.
    pub queued_since_ms: i64,
    /// The session's own agent, for tasks that name none.
    pub agent: String,
}

/// Saves the tasks of a plan; the session's own task, which planned them, waits until they are over.
pub fn save(sql: &mut dyn Sql, claim: &Claim, new: &NewPlan, at_ms: i64) -> Result<()> {
    let session = &claim.session_id;
    let mut known: HashMap<i64, (String, TaskState)> = tasks::of_session(sql, session)?
        .into_iter()
        .map(|task| (task.task_order, (task.id, task.status)))
        .collect();
    for (task, id) in new.plan.tasks.iter().zip(&new.ids) {
        known.insert(i64::from(task.order), (id.clone(), TaskState::Pending));
    }
    for (task, id) in new.plan.tasks.iter().zip(&new.ids) {
        add(sql, (session, new), task, id, &known)?;
    }
    // Only when all are there: a task may depend on one that comes later in the list.
    for (task, id) in new.plan.tasks.iter().zip(&new.ids) {
        for order in &task.depends_on {
            let on = known.get(&i64::from(*order)).context("a checked plan")?;
            sql.run(query!("plans_dependency"), values![id, &on.0])?;
        }
    }
    let count = new.plan.tasks.len();
    let shape = json!({
        "plan_summary": new.plan.plan_summary, "complexity": new.plan.complexity, "inputs": new.inputs,
        "planned_at_ms": at_ms,
        "first_order": new.plan.tasks.iter().map(|task| task.order).min(),
    });
    sql.run(
        query!("plans_save"),
        values![session, shape.to_string(), count as i64],
    )?;
    let facts = json!({"tasks": count, "plan_summary": new.plan.plan_summary});
    let about = About::session(session);
    events::add(sql, about, EventType::PlanSaved, at_ms, &facts)?;
    sessions::step(sql, session, SessionStep::Execute, at_ms)?;
    wait(sql, claim, count, at_ms)
}

/// Takes over completed tasks of another session, each under an id of its own. Doing it twice changes nothing.
pub fn copy(sql: &mut dyn Sql, session: &str, tasks: &[(String, Assignment)]) -> Result<()> {
    let mut copied = 0;
    for (id, done) in tasks {
        copied += sql.run(query!("plans_copy"), values![id, session, &done.task.id])?;
    }
    sql.run(query!("plans_copied"), values![session, copied as i64])?;
    Ok(())
}

/// The session's own task gives up its claim until `count` tasks are over.
fn wait(sql: &mut dyn Sql, claim: &Claim, count: usize, at_ms: i64) -> Result<()> {
    let wish = sessions::control(sql, &claim.session_id)?;
    tasks::settle(sql, claim, TaskStep::Wait, &Settlement::default(), at_ms)?;
    sql.run(query!("plans_wait"), values![&claim.task_id, count as i64])?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}

fn add(
    sql: &mut dyn Sql,
    (session, new): (&str, &NewPlan),
    task: &PlanTask,
    id: &str,
    known: &HashMap<i64, (String, TaskState)>,
) -> Result<()> {
    let met = |order: &&u32| {
        let on = known.get(&i64::from(**order));
        on.is_some_and(|(_, state)| matches!(state, TaskState::Completed | TaskState::Skipped))
    };
    let unmet = task.depends_on.len() - task.depends_on.iter().filter(met).count();
    let status = match unmet {
        0 => TaskState::Pending,
        _ => TaskState::WaitingDependency,
    };
    sql.run(
        query!("plans_task"),
        values![
            id,
            session,
            task.order,
            task.kind.as_str(),
            &task.description,
            status.as_str(),
            task.agent.as_ref().unwrap_or(&new.agent),
            task.target.as_ref(),
            new.priority,
            new.queued_since_ms,
            unmet as i64,
            serde_json::to_string(task)?,
        ],
    )?;
    Ok(())
}

/// Ends a claimed task of a plan by `step`, with all that follows for the others.
pub fn finish(
    sql: &mut dyn Sql,
    claim: &Claim,
    step: TaskStep,
    settlement: &Settlement,
    at_ms: i64,
) -> Result<()> {
    let wish = sessions::control(sql, &claim.session_id)?;
    tasks::settle(sql, claim, step, settlement, at_ms)?;
    let end = TaskState::Running.after(step)?;
    follow(sql, (&claim.session_id, &claim.task_id), end, at_ms)?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}

/// What the end of a task means for those that depend on it, for the session's counts and for its own task.
pub fn follow(
    sql: &mut dyn Sql,
    (session, task): (&str, &str),
    end: TaskState,
    at_ms: i64,
) -> Result<()> {
    let blocked = match end {
        TaskState::Completed | TaskState::Skipped => {
            release(sql, session, task, at_ms)?;
            0
        }
        // Nothing is wrong with what depends on it: that is dropped by whoever dropped this.
        TaskState::Cancelled => 0,
        _ => block(sql, session, task, at_ms)?,
    };
    let completed = i64::from(end == TaskState::Completed);
    let failed = i64::from(end == TaskState::Failed);
    if completed + failed > 0 {
        sql.run(query!("plans_count"), values![session, completed, failed])?;
    }
    advance(sql, session, 1 + blocked, at_ms)
}

fn release(sql: &mut dyn Sql, session: &str, task: &str, at_ms: i64) -> Result<()> {
    for row in sql.rows(query!("plans_release"), values![task])? {
        let ready = row.int("unmet_dependency_count")? == 0;
        if ready && row.word::<TaskState>("status")? == TaskState::Pending {
            let between = (TaskState::WaitingDependency, TaskState::Pending);
            tasks::tell(sql, (session, &row.text("id")?), between, at_ms)?;
        }
    }
    Ok(())
}

fn block(sql: &mut dyn Sql, session: &str, task: &str, at_ms: i64) -> Result<i64> {
    let rows = sql.rows(query!("plans_block"), values![task])?;
    for row in &rows {
        let between = (TaskState::WaitingDependency, TaskState::Blocked);
        tasks::tell(sql, (session, &row.text("id")?), between, at_ms)?;
    }
    Ok(rows.len() as i64)
}

fn advance(sql: &mut dyn Sql, session: &str, over: i64, at_ms: i64) -> Result<()> {
    if over == 0 {
        return Ok(());
    }
    let row = sql.row(query!("plans_advance"), values![session, over])?;
    let Some(row) = row else {
        return Ok(());
    };
    let ready = row.int("unmet_dependency_count")? == 0;
    if ready && row.word::<TaskState>("status")? == TaskState::Pending {
        let between = (TaskState::WaitingDependency, TaskState::Pending);
        tasks::tell(sql, (session, &row.text("id")?), between, at_ms)?;
    }
    Ok(())
}

/// Lets a claimed task be tried again, with what went wrong in its row.
pub fn retry(sql: &mut dyn Sql, claim: &Claim, settlement: &Settlement, at_ms: i64) -> Result<()> {
    let wish = sessions::control(sql, &claim.session_id)?;
    tasks::settle(sql, claim, TaskStep::Retry, settlement, at_ms)?;
    sql.run(query!("plans_retry"), values![&claim.task_id])?;
    let between = (TaskState::Retrying, TaskState::Pending);
    tasks::tell(sql, (&claim.session_id, &claim.task_id), between, at_ms)?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}

/// Records that a try of a claimed task has failed, and what is made of it.
pub fn setback(sql: &mut dyn Sql, claim: &Claim, facts: &Json, at_ms: i64) -> Result<()> {
    sql.run(query!("plans_setback"), values![&claim.task_id])?;
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::TaskSetback, at_ms, facts)
}

/// Why a session's own task is called before all others are over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallBack {
    /// What is left is to be planned anew.
    Replan,
    /// The session is to end.
    End(EndReason),
}

impl CallBack {
    const REPLAN: &str = "replan";

    fn as_str(&self) -> &'static str {
        match self {
            CallBack::Replan => Self::REPLAN,
            CallBack::End(reason) => reason.as_str(),
        }
    }

    fn read(word: &str) -> Result<Self> {
        Ok(match word {
            Self::REPLAN => CallBack::Replan,
            other => CallBack::End(other.parse()?),
        })
    }
}

/// What is not begun is dropped, what runs comes to its end, and then the session's own task goes on as `call` says.
pub fn call_back(
    sql: &mut dyn Sql,
    session: &str,
    call: &CallBack,
    why: &str,
    at_ms: i64,
) -> Result<()> {
    // A cancellation may have been obeyed just before.
    if sessions::expect(sql, session)?.status.is_terminal() {
        return Ok(());
    }
    let replans = i64::from(*call == CallBack::Replan);
    sql.run(
        query!("plans_call_back"),
        values![session, call.as_str(), why, replans],
    )?;
    let facts = json!({"call": call.as_str(), "why": why});
    let about = About::session(session);
    events::add(sql, about, EventType::PlanCalledBack, at_ms, &facts)?;
    let mut over = 0;
    for row in sql.rows(query!("plans_unstarted"), values![session])? {
        let blocked = row.word::<TaskState>("status")? == TaskState::Blocked;
        if blocked && replans == 0 {
            continue;
        }
        let id = row.text("id")?;
        // A sub-agent that is still at work comes to its end first; its task is claimed then, and dropped.
        if !sessions::cancel_children(sql, session, Some(&id), at_ms)? {
            continue;
        }
        // A blocked task was counted when it was blocked.
        over += i64::from(!blocked);
        tasks::step(sql, session, &id, TaskStep::Cancel, at_ms)?;
    }
    humans::withdraw(sql, session, at_ms)?;
    if sessions::expect(sql, session)?.status == SessionState::AwaitingHuman {
        sessions::step(sql, session, SessionStep::Answer, at_ms)?;
        tasks::unhold(sql, session)?;
    }
    advance(sql, session, over, at_ms)
}

/// What the session's own task was called back for, and why.
pub fn called_back(sql: &mut dyn Sql, task: &str) -> Result<Option<(CallBack, String)>> {
    let row = sql.row(query!("tasks_get"), values![task])?;
    let row = row.with_context(|| format!("task {task} is gone"))?;
    let Some(word) = row.optional_text("error_type")? else {
        return Ok(None);
    };
    let why = row.optional_text("error_message")?.unwrap_or_default();
    Ok(Some((CallBack::read(&word)?, why)))
}

/// How often a session was planned anew.
pub fn replans(sql: &mut dyn Sql, session: &str) -> Result<i64> {
    let row = sql.row(query!("plans_replans"), values![session])?;
    row.map_or(Ok(0), |row| row.int("retry_count"))
}

/// Whether a session has been called back while some of its tasks still run.
pub fn is_called_back(sql: &mut dyn Sql, session: &str) -> Result<bool> {
    let row = sql.row(query!("plans_is_called_back"), values![session])?;
    Ok(row.is_some())
}

/// Which of these sessions have been called back: what still runs in them has no use any more.
pub fn all_called_back(sql: &mut dyn Sql, sessions: &BTreeSet<String>) -> Result<Vec<String>> {
    let list = json!(sessions).to_string();
    let rows = sql.rows(query!("plans_called_back"), values![list])?;
    rows.iter().map(|row| row.text("session_id")).collect()
}

/// A task of a plan and what it came to.
#[derive(Clone, Debug)]
pub struct Piece {
    pub order: u32,
    pub kind: TaskKind,
    pub description: String,
    pub status: TaskState,
    pub result: Option<Json>,
    pub summary: Option<String>,
    pub error: Option<String>,
}

/// What the tasks came to that this one depends on.
pub fn dependencies(sql: &mut dyn Sql, task: &str) -> Result<Vec<Piece>> {
    let rows = sql.rows(query!("plans_dependencies"), values![task])?;
    rows.iter().map(piece).collect()
}

/// The orders of the tasks that wait for this one.
pub fn dependents(sql: &mut dyn Sql, task: &str) -> Result<Vec<u32>> {
    let rows = sql.rows(query!("plans_dependents"), values![task])?;
    let order = |row: &Row| Ok(u32::try_from(row.int("task_order")?).unwrap_or(u32::MAX));
    rows.iter().map(order).collect()
}

/// What all tasks of a session's plan came to.
pub fn pieces(sql: &mut dyn Sql, session: &str) -> Result<Vec<Piece>> {
    let rows = sql.rows(query!("plans_results"), values![session])?;
    rows.iter().map(piece).collect()
}

fn piece(row: &Row) -> Result<Piece> {
    Ok(Piece {
        order: u32::try_from(row.int("task_order")?).unwrap_or(u32::MAX),
        kind: row.word("task_type")?,
        description: row.text("description")?,
        status: row.word("status")?,
        result: row.optional_json("result")?,
        summary: row.optional_text("result_summary")?,
        error: row.optional_text("error_message")?,
    })
}

/// How many tasks of a session's plan are in each state.
pub fn stands(sql: &mut dyn Sql, session: &str) -> Result<HashMap<TaskState, i64>> {
    let rows = sql.rows(query!("plans_stands"), values![session])?;
    rows.iter()
        .map(|row| Ok((row.word("status")?, row.int("count")?)))
        .collect()
}
