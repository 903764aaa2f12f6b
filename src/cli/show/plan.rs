//! What is told of a planned session beside the rest: its tasks, its sub-agents, and which task a turn belonged to.

use super::super::output::{self, Style};
use super::super::table::{Cell, Table};
use crate::model::id::short;
use crate::model::role::Role;
use crate::model::task::{TaskKind, TaskState};
use crate::report::standing::Standing;
use crate::store::iterations::Iteration;
use crate::store::tasks::{Assignment, Task};
use std::path::Path;

const TASKS: &[&str] = &[
    "TASK", "TYPE", "STATUS", "AGENT", "TRIES", "AFTER", "RESULT",
];
const CHILDREN: &[&str] = &["ID", "AGENT", "TASK", "STATUS", "OBJECTIVE"];

/// The tasks, each with what it came to, or what it is for as long as it came to nothing.
pub fn tasks(planned: &[Assignment], now_ms: i64) -> Table {
    let mut table = Table::new(TASKS, TASKS.len() - 1);
    for one in planned {
        let task = &one.task;
        let step = one.step.as_ref();
        let after: Vec<String> = step.map_or(Vec::new(), |step| {
            step.depends_on.iter().map(u32::to_string).collect()
        });
        table.row(vec![
            task.task_order.to_string().into(),
            task.task_type.as_str().into(),
            status(task, now_ms).into(),
            worker(one).into(),
            tries(task).into(),
            after.join(", ").into(),
            came_to(task),
        ]);
    }
    table
}

/// Who does it, where that is an agent of the plan's choice; roles are told with their turns.
fn worker(one: &Assignment) -> String {
    let named = one.step.as_ref().is_some_and(|step| step.agent.is_some());
    let agent = one.task.agent.clone();
    agent
        .filter(|_| named || one.task.task_type == TaskKind::Agent)
        .unwrap_or_default()
}

fn status(task: &Task, now_ms: i64) -> (String, Style) {
    let words = match (task.status, task.parked_until_ms) {
        (TaskState::Pending, Some(until)) if until > now_ms => {
            format!("parked until {}", output::clock_time(until, now_ms))
        }
        (TaskState::Pending, _) => "ready".to_owned(),
        (TaskState::WaitingDependency, _) => "waiting".to_owned(),
        (TaskState::HumanRequired, _) => "asks".to_owned(),
        (TaskState::Blocked, _) => "not run".to_owned(),
        (status, _) => status.to_string(),
    };
    let style = match task.status {
        TaskState::Completed => Style::Good,
        TaskState::Failed => Style::Bad,
        TaskState::Running => Style::Active,
        TaskState::HumanRequired | TaskState::Skipped => Style::Notice,
        _ => Style::Dim,
    };
    (words, style)
}

/// Told only where there was more than one.
fn tries(task: &Task) -> String {
    match task.retry_count {
        0 => String::new(),
        count => (count + 1).to_string(),
    }
}

fn came_to(task: &Task) -> Cell {
    let error = task
        .error_message
        .as_deref()
        .filter(|error| !error.is_empty());
    let summary = task
        .result_summary
        .as_deref()
        .filter(|summary| !summary.is_empty());
    match (task.status, error, summary) {
        (TaskState::Completed, _, Some(summary)) => output::first_line(summary).into(),
        (TaskState::Completed, ..) | (_, None, _) => {
            (output::first_line(&task.description), Style::Dim).into()
        }
        (_, Some(error), _) => (output::first_line(error), Style::Bad).into(),
    }
}

/// The sessions of the sub-agents.
pub fn children(standings: &[Standing], planned: &[Assignment], now_ms: i64) -> Table {
    let mut table = Table::new(CHILDREN, CHILDREN.len() - 1);
    for standing in standings {
        let session = &standing.session;
        let task = session.parent_task_id.as_deref();
        table.row(vec![
            (short(&session.id).to_owned(), Style::Bold).into(),
            standing.worker().into(),
            task.and_then(|task| order_of(planned, task))
                .unwrap_or_default()
                .into(),
            standing.in_words(now_ms).into(),
            output::first_line(&session.objective).into(),
        ]);
    }
    table
}

/// The number of the plan's task with this id.
pub fn order_of(planned: &[Assignment], task: &str) -> Option<String> {
    let found = planned.iter().find(|one| one.task.id == task);
    found.map(|one| one.task.task_order.to_string())
}

/// The part that was played in a turn, where it was one question to an agent.
pub fn role_of(iteration: &Iteration) -> Option<Role> {
    let name = Path::new(&iteration.prompt_file).file_name()?.to_str()?;
    name.split('.').nth(1)?.parse().ok()
}
