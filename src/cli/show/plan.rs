//! What is told of a planned session beside the rest: its tasks, its sub-agents, and which task a turn belonged to.

use super::super::output::{self, Style};
use super::super::table::{Cell, Table};
use crate::model::id::short;
use crate::model::task::TaskState;
use crate::report::standing::Standing;
use crate::report::wording::{task_in_words, worker_of};
use crate::store::tasks::{Assignment, Task};

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
            task_in_words(task, now_ms).into(),
            worker_of(one).into(),
            tries(task).into(),
            after.join(", ").into(),
            came_to(task),
        ]);
    }
    table
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
