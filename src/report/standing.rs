//! How a session stands, for whoever looks: the command line, the HTTP API. One place, so that all say the same.
//! It only looks; the words for people are in `wording`.

use crate::model::session::SessionState;
use crate::model::task::{TaskKind, TaskState};
use crate::store::driver::Sql;
use crate::store::plans;
use crate::store::sessions::Session;
use crate::store::tasks::{self, Task};
use anyhow::Result;
use schemars::JsonSchema;
use std::collections::HashMap;

/// A session with the task that says most of how it stands: in a plain session the only one.
#[derive(Clone, Debug, serde::Serialize, JsonSchema)]
pub struct Standing {
    #[serde(flatten)]
    pub session: Session,
    #[serde(skip)]
    pub task: Option<Task>,
    /// How many tasks of its plan are in each state, for a planned session.
    #[serde(skip)]
    pub planned: Option<HashMap<TaskState, i64>>,
    pub parked_until_ms: Option<i64>,
    pub parked_reason: Option<String>,
    /// Who works on it, or did so last: its own agent, or one that stands in while a limit shuts that out.
    pub current_agent: String,
}

impl Standing {
    /// Adds to a session what its tasks tell.
    pub fn of(sql: &mut dyn Sql, session: Session) -> Result<Self> {
        let first = tasks::first(sql, &session.id)?;
        let (planned, task) = match first {
            Some(own) if own.task_type == TaskKind::Plan => {
                let stands = plans::stands(sql, &session.id)?;
                let task = telling(sql, &session, own, &stands)?;
                (Some(stands), Some(task))
            }
            first => (None, first),
        };
        let parked_until_ms = task.as_ref().and_then(|task| task.parked_until_ms);
        let parked_reason = task.as_ref().and_then(|task| task.parked_reason.clone());
        // The agents of a plan's tasks stand in for nobody.
        let current_agent = task.as_ref().and_then(|task| task.agent.clone());
        let current_agent = current_agent.filter(|_| planned.is_none());
        Ok(Self {
            current_agent: current_agent.unwrap_or_else(|| session.agent.clone()),
            session,
            task,
            planned,
            parked_until_ms,
            parked_reason,
        })
    }
}

/// The task of a plan that says what the session waits for: its own, or while others are to be done and none of them runs, the one
/// that will be next.
fn telling(
    sql: &mut dyn Sql,
    session: &Session,
    own: Task,
    stands: &HashMap<TaskState, i64>,
) -> Result<Task> {
    let some = |state| stands.get(&state).is_some_and(|count| *count > 0);
    let idle = session.status == SessionState::Executing && !some(TaskState::Running);
    if own.status != TaskState::WaitingDependency || !idle || !some(TaskState::Pending) {
        return Ok(own);
    }
    let all = tasks::of_session(sql, &session.id)?.into_iter();
    let waiting = all.filter(|task| task.status == TaskState::Pending);
    let next = waiting.min_by_key(|task| (task.waits_for.is_some(), task.parked_until_ms));
    Ok(next.unwrap_or(own))
}
