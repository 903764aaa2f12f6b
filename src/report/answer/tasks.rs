//! The tasks of a planned session in its answer: what each came to, and how far the plan got.

use super::Facts;
use crate::model::shorten;
use crate::model::task::TaskState;
use crate::store::iterations::Iteration;
use crate::store::tasks::{Assignment, Task};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// Of what a task came to: one line, not an essay.
const MAX_LINE_BYTES: usize = 300;

impl Facts<'_> {
    pub(super) fn tasks_as_json(&self) -> Vec<Json> {
        let tasks = self.tasks.iter().map(|Assignment { task, step, .. }| {
            json!({
                "order": task.task_order,
                "type": task.task_type,
                "description": task.description,
                "status": task.status,
                "agent": task.agent,
                "depends_on": step.as_ref().map(|step| &step.depends_on),
                "retry_count": task.retry_count,
                "result_summary": task.result_summary,
                "error_type": task.error_type,
                "error_message": task.error_message,
                "started_at_ms": task.started_at_ms,
                "ended_at_ms": task.ended_at_ms,
            })
        });
        tasks.collect()
    }

    pub(super) fn write_tasks(&self, text: &mut String) {
        if self.tasks.is_empty() {
            return;
        }
        text.push_str("\n## Tasks\n\n");
        for Assignment { task, .. } in self.tasks {
            let _ = writeln!(text, "- {}", line_of(task, &self.session.agent));
        }
    }

    /// How many tasks are in which state; nothing for a plain session.
    pub(super) fn how_far(&self) -> String {
        let count = |state: TaskState| {
            let alike = self.tasks.iter().filter(|task| task.task.status == state);
            alike.count()
        };
        if self.tasks.is_empty() {
            return String::new();
        }
        let mut words = format!(
            "{} of {} completed",
            count(TaskState::Completed),
            self.tasks.len()
        );
        for (count, what) in [
            (count(TaskState::Failed), "failed"),
            (count(TaskState::Skipped), "skipped"),
            (
                count(TaskState::Blocked) + count(TaskState::Cancelled),
                "not done",
            ),
        ] {
            if count > 0 {
                let _ = write!(words, ", {count} {what}");
            }
        }
        words
    }

    pub(super) fn order_of(&self, task: &str) -> Option<i64> {
        let found = self.tasks.iter().find(|one| one.task.id == task);
        found.map(|one| one.task.task_order)
    }

    /// The task that an iteration belonged to, before its line.
    pub(super) fn task_of(&self, iteration: &Iteration) -> String {
        match self.order_of(&iteration.task_id) {
            Some(order) => format!("task {order}: "),
            None => String::new(),
        }
    }
}

fn line_of(task: &Task, own_agent: &str) -> String {
    let mut line = format!(
        "task {}: {} ({}",
        task.task_order,
        one_line(&task.description),
        task.task_type
    );
    if let Some(agent) = task.agent.as_deref().filter(|agent| *agent != own_agent) {
        let _ = write!(line, " by {agent}");
    }
    let _ = write!(line, "): {}", in_words(task.status));
    if task.retry_count > 0 {
        let _ = write!(line, " after {} tries", task.retry_count + 1);
    }
    let came_to = match task.status {
        TaskState::Completed => &task.result_summary,
        _ => &task.error_message,
    };
    if let Some(came_to) = came_to
        .as_deref()
        .map(one_line)
        .filter(|text| !text.is_empty())
    {
        let _ = write!(line, ": {came_to}");
    }
    line
}

fn in_words(status: TaskState) -> &'static str {
    match status {
        TaskState::Blocked => "not run, as a task that it needs failed",
        other => other.as_str(),
    }
}

fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    shorten::head(line.unwrap_or_default(), MAX_LINE_BYTES).to_owned()
}
