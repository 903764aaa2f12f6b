//! What the events of planned sessions say to a person: the plan, its tasks, the people and the sub-agents in it.

use super::{Facts, MAX_TEXT_CHARS};
use crate::cli::output::{cut, first_line};
use crate::model::id::short;
use crate::model::policy::OnFailure;
use crate::model::task::TaskKind;
use crate::store::tasks::Task;
use serde_json::Value as Json;

impl Facts<'_> {
    /// What an event means in a planned session: a line, or silence; nothing where it means the same in any session.
    pub(super) fn of_plan(&self) -> Option<Option<String>> {
        let told = match self.event.kind.as_str() {
            "plan.saved" => {
                let line = format!("plan of {}", count(self.amount("tasks"), "task"));
                Some(self.with_detail(line, "plan_summary"))
            }
            "plan.called_back" => Some(self.call()),
            "plan.completed" => Some("all tasks are over".to_owned()),
            "datasets.read" => Some(self.tables()),
            // The plan itself was told just before.
            "session.executing" if self.came_from("planning") => None,
            "session.discovering" => Some("looks at what there is".to_owned()),
            "session.summarizing" => Some("sums up".to_owned()),
            "human.approved" => Some(self.of_task("approved".to_owned())),
            "human.rejected" => {
                let line = self.with_detail("rejected".to_owned(), "rejected");
                Some(self.of_task(line))
            }
            "task.setback" => self.setback(),
            "sub_agent.spawned" => {
                let (agent, session) = (self.text("agent"), self.sub_agent());
                Some(self.of_task(format!("given to {agent}, session {session}")))
            }
            "sub_agent.ended" => {
                let (session, reason) = (self.sub_agent(), self.text("end_reason"));
                Some(self.of_task(format!("session {session} ended: {reason}")))
            }
            "iteration.started" if self.is_asked() => {
                Some(self.of_task(format!("asks {}", self.text("agent"))))
            }
            "iteration.ended" if self.is_asked() => self.reply(),
            "iteration.started" => {
                let task = self.step()?;
                let line = format!("iteration {} started", self.number());
                Some(of(task, line))
            }
            "iteration.ended" => {
                let task = self.step()?;
                Some(of(task, self.verdict()))
            }
            "task.parked" => {
                let task = self.step()?;
                self.parking().map(|line| of(task, line))
            }
            kind => {
                let state = kind.strip_prefix("task.")?;
                let task = self.step()?;
                self.transition(task, state)?
            }
        };
        Some(told)
    }

    /// The task, where it is one of a plan.
    fn step(&self) -> Option<&Task> {
        let planned = self.task.filter(|task| task.step.is_some());
        planned.map(|planned| &planned.task)
    }

    /// Whether the turn is one question to an agent and not work of its own.
    fn is_asked(&self) -> bool {
        let kind = self.task.map(|task| task.task.task_type);
        kind.is_some_and(|kind| kind != TaskKind::Agent)
    }

    fn of_task(&self, line: String) -> String {
        match self.step() {
            Some(task) => of(task, line),
            None => line,
        }
    }

    fn amount(&self, field: &str) -> u64 {
        let amount = self.event.data.get(field).and_then(Json::as_u64);
        amount.unwrap_or(0)
    }

    fn came_from(&self, state: &str) -> bool {
        self.event.data.get("from").and_then(Json::as_str) == Some(state)
    }

    fn sub_agent(&self) -> String {
        short(&self.text("session")).to_owned()
    }

    fn call(&self) -> String {
        let line = match self.optional("call").as_deref() {
            Some("replan") => "plans anew",
            _ => "is being ended",
        };
        self.with_detail(line.to_owned(), "why")
    }

    fn tables(&self) -> String {
        let tables = self.event.data.get("tables").and_then(Json::as_array);
        let names = tables.into_iter().flatten().filter_map(Json::as_str);
        let names: Vec<String> = names.map(first_line).collect();
        cut(&format!("tables: {}", names.join(", ")), MAX_TEXT_CHARS)
    }

    /// A failure that the task outlives. Of others their own events tell.
    fn setback(&self) -> Option<String> {
        if self.optional("decision").as_deref() != Some(OnFailure::Retry.as_str()) {
            return None;
        }
        let line = self.with_detail("failed, tried again".to_owned(), "error");
        Some(self.of_task(line))
    }

    /// What came of a question; an answer shows in what follows.
    fn reply(&self) -> Option<String> {
        let agent_said = self.optional("verdict");
        match agent_said.as_deref() {
            Some("promised") | None => None,
            Some("unfinished") => {
                let line = "the answer cannot be used".to_owned();
                Some(self.of_task(self.with_detail(line, "failure")))
            }
            Some(verdict) => {
                let line = format!("no answer: {}", verdict.replace('_', " "));
                Some(self.of_task(self.with_detail(line, "failure")))
            }
        }
    }

    /// A task of a plan in a new state; nothing for words that are no state.
    fn transition(&self, task: &Task, state: &str) -> Option<Option<String>> {
        let line = match state {
            // Claimed again after a gate, a failure or a sub-agent's end: of that its own event has told.
            "running" if self.amount("claim") > 1 => return Some(None),
            "running" => {
                let description = cut(&first_line(&task.description), MAX_TEXT_CHARS);
                let kind = task.task_type;
                return Some(Some(format!(
                    "task {}, {kind}: {description}",
                    task.task_order
                )));
            }
            "completed" => {
                let summary = task.result_summary.as_deref().map(first_line);
                match summary.filter(|summary| !summary.is_empty()) {
                    Some(summary) => format!("completed: {}", cut(&summary, MAX_TEXT_CHARS)),
                    None => "completed".to_owned(),
                }
            }
            "failed" | "skipped" => self.with_detail(state.to_owned(), "error"),
            "blocked" => "not run: a task that it needs has failed".to_owned(),
            "cancelled" => "cancelled".to_owned(),
            "pending" | "waiting_dependency" | "retrying" | "human_required" => return Some(None),
            _ => return None,
        };
        Some(Some(of(task, line)))
    }
}

fn of(task: &Task, line: String) -> String {
    format!("task {}: {line}", task.task_order)
}

fn count(amount: u64, what: &str) -> String {
    match amount {
        1 => format!("1 {what}"),
        _ => format!("{amount} {what}s"),
    }
}
