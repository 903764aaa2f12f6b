//! The text of an answer. Pure: rows in, words out.

mod tasks;

use super::changes::Changes;
use crate::clock::iso;
use crate::model::id::short;
use crate::model::session::{EndReason, SessionState, Verified};
use crate::store::humans::{HumanRequest, HumanStatus};
use crate::store::iterations::Iteration;
use crate::store::sessions::Session;
use crate::store::tasks::Assignment;
use anyhow::Result;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// What an answer tells of.
pub struct Facts<'a> {
    pub session: &'a Session,
    /// The tasks of its plan; none of a plain session.
    pub tasks: &'a [Assignment],
    pub iterations: &'a [Iteration],
    pub humans: &'a [HumanRequest],
    /// What it did to the files.
    pub changes: Option<&'a Changes>,
    pub logs: PathBuf,
}

impl Facts<'_> {
    /// For machines.
    pub fn json(&self) -> Result<String> {
        let session = self.session;
        let iterations: Vec<_> = self
            .iterations
            .iter()
            .map(|iteration| {
                json!({
                    "number": iteration.number,
                    "task": self.order_of(&iteration.task_id),
                    "agent": iteration.agent.as_ref().unwrap_or(&session.agent),
                    "verdict": iteration.verdict,
                    "counted": iteration.counted,
                    "verify_passed": iteration.verify_passed,
                    "started_at_ms": iteration.started_at_ms,
                    "ended_at_ms": iteration.ended_at_ms,
                    "output_file": iteration.output_file,
                })
            })
            .collect();
        let report = json!({
            "session_id": session.id,
            "status": session.status,
            "end_reason": session.end_reason,
            "end_detail": session.end_detail,
            "verified": session.verified,
            "answer": session.final_answer,
            "objective": session.objective,
            "agent": session.agent,
            "trigger": session.trigger,
            "iteration_count": session.iteration_count,
            "max_iterations": session.max_iterations,
            "duration_ms": self.duration_ms(),
            "cost_usd": session.cost_usd,
            "workspace": session.workspace,
            "changes": self.changes,
            "logs": self.logs,
            "created_at_ms": session.created_at_ms,
            "ended_at_ms": session.ended_at_ms,
            "plan_summary": session.plan.as_ref().map(|plan| &plan["plan_summary"]),
            "tasks": self.tasks_as_json(),
            "iterations": iterations,
            "questions": self.humans,
            "next": self.ways_on(),
        });
        Ok(serde_json::to_string_pretty(&report)? + "\n")
    }

    /// For people.
    pub fn text(&self) -> String {
        let session = self.session;
        let mut text = format!("# {}\n\n", self.headline());
        for (label, value) in self.particulars() {
            let _ = writeln!(text, "- {label}: {value}");
        }
        let _ = write!(text, "\n## Objective\n\n{}\n", session.objective.trim());
        if let Some(answer) = &session.final_answer {
            let title = match session.status {
                SessionState::Completed => "Answer",
                _ if !self.tasks.is_empty() => "What it came to so far",
                _ => "The agent's last words",
            };
            let _ = write!(text, "\n## {title}\n\n{}\n", answer.trim());
        }
        self.write_unanswered(&mut text);
        self.write_tasks(&mut text);
        let refuted = self
            .iterations
            .last()
            .filter(|last| last.verify_passed == Some(false));
        if let Some(tail) = refuted.and_then(|last| last.verify_tail.as_ref()) {
            let _ = write!(
                text,
                "\n## The verification's last lines\n\n~~~\n{}\n~~~\n",
                tail.trim_end()
            );
        }
        if !self.iterations.is_empty() {
            text.push_str("\n## Iterations\n\n");
            for iteration in self.iterations {
                let line = line_of(iteration, &session.agent);
                let _ = writeln!(text, "- {}{line}", self.task_of(iteration));
            }
        }
        text.push_str("\n## How to go on\n\n");
        for way in self.ways_on() {
            let _ = writeln!(text, "- {way}");
        }
        text
    }

    fn headline(&self) -> String {
        let session = self.session;
        match (session.status, session.verified) {
            (SessionState::Completed, Some(Verified::Verified)) => {
                "Completed, and verified".to_owned()
            }
            (SessionState::Completed, Some(Verified::Tampered)) => {
                "Completed, but TAMPERED: the agent changed protected files".to_owned()
            }
            (SessionState::Completed, _) if !self.tasks.is_empty() => {
                "Completed, every task as its worker claims (nothing verified the whole)".to_owned()
            }
            (SessionState::Completed, _) => {
                "Completed, as the agent claims (nothing verified it)".to_owned()
            }
            (SessionState::Cancelled, _) => "Cancelled".to_owned(),
            _ => {
                let reason = session.end_reason.map_or("failed", EndReason::as_str);
                let detail = session
                    .end_detail
                    .as_deref()
                    .unwrap_or("no reason was given");
                format!("Failed ({reason}): {detail}")
            }
        }
    }

    fn particulars(&self) -> Vec<(&'static str, String)> {
        let session = self.session;
        let mut list = vec![
            ("Session", session.id.clone()),
            ("Status", session.status.to_string()),
            (
                "End reason",
                session
                    .end_reason
                    .map_or(String::new(), |reason| reason.to_string()),
            ),
        ];
        if let Some(verified) = session.verified {
            list.push(("Verification", verified.to_string()));
        }
        if let Some(files) = self
            .iterations
            .last()
            .and_then(|last| last.tampered.as_ref())
        {
            list.push(("Changed protected files", files.join(", ")));
        }
        list.extend([
            ("Agent", self.agents()),
            ("Tasks", self.how_far()),
            (
                "Iterations",
                format!("{} of {}", session.iteration_count, session.max_iterations),
            ),
            ("Duration", duration(self.duration_ms())),
            ("Ended", session.ended_at_ms.map_or(String::new(), iso)),
            ("Workspace", session.workspace.clone()),
            ("Logs", self.logs.display().to_string()),
        ]);
        list.extend(
            self.changes
                .iter()
                .flat_map(|changes| changes.particulars()),
        );
        if session.cost_usd > 0.0 {
            list.push(("Cost", format!("{:.2} USD", session.cost_usd)));
        }
        list.retain(|(label, value)| *label != "Tasks" || !value.is_empty());
        list
    }

    /// The session's agent, and who stood in for it while a limit shut it out.
    fn agents(&self) -> String {
        let mut agents = self.session.agent.clone();
        let mut stood_in: Vec<(&str, Vec<String>)> = Vec::new();
        // The other agents of a plan stand in for nobody; each is named with its task.
        let own = self.iterations.iter().filter(|_| self.tasks.is_empty());
        for iteration in own {
            let Some(agent) = stand_in(iteration, &self.session.agent) else {
                continue;
            };
            let number = iteration.number.to_string();
            match stood_in.iter_mut().find(|(name, _)| *name == agent) {
                Some((_, numbers)) => numbers.push(number),
                None => stood_in.push((agent, vec![number])),
            }
        }
        for (agent, numbers) in stood_in {
            let _ = write!(agents, "; {agent} in iteration {}", numbers.join(", "));
        }
        agents
    }

    fn ways_on(&self) -> Vec<String> {
        let id = short(&self.session.id);
        let mut look = format!("look closer: `ralphd show {id}`, `ralphd logs {id}`");
        if self
            .changes
            .is_some_and(|changes| changes.facts.file_count > 0)
        {
            look.push_str(&format!(", `ralphd diff {id}`"));
        }
        let go_on = match self.tasks.is_empty() {
            true => format!(
                "go on from here, in the same workspace: `ralphd continue {id} --max-iterations 10`"
            ),
            false => format!("plan anew, in the same workspace: `ralphd continue {id}`"),
        };
        let afresh = format!("start afresh: `ralphd retry {id}`");
        match self.session.status {
            SessionState::Completed => vec![look, go_on],
            _ => vec![go_on, afresh, look],
        }
    }

    /// What a person was asked when the time for an answer ran out.
    fn write_unanswered(&self, text: &mut String) {
        let expired = |asked: &&HumanRequest| asked.status == HumanStatus::Expired;
        for asked in self.humans.iter().filter(expired) {
            let _ = write!(
                text,
                "\n## Asked, and not answered in time\n\n{}\n",
                asked.question.trim()
            );
            if let Some(error) = &asked.error {
                let _ = write!(text, "\nBecause: {}\n", error.trim());
            }
        }
    }

    fn duration_ms(&self) -> i64 {
        let session = self.session;
        let start = session.started_at_ms.unwrap_or(session.created_at_ms);
        session
            .ended_at_ms
            .map_or(0, |ended| (ended - start).max(0))
    }
}

/// Who took an iteration in the place of the session's own agent.
fn stand_in<'a>(iteration: &'a Iteration, own: &str) -> Option<&'a str> {
    iteration.agent.as_deref().filter(|agent| *agent != own)
}

fn line_of(iteration: &Iteration, own: &str) -> String {
    let verdict = iteration
        .verdict
        .map_or("under way", |verdict| verdict.as_str());
    let took = iteration
        .ended_at_ms
        .map_or(0, |ended| ended - iteration.started_at_ms);
    let mut line = format!("{}: {verdict}, {}", iteration.number, duration(took));
    if let Some(agent) = stand_in(iteration, own) {
        let _ = write!(line, ", by {agent}");
    }
    match iteration.verify_passed {
        Some(true) => line.push_str(", verification passed"),
        Some(false) => line.push_str(", verification failed"),
        None => {}
    }
    if let Some(reset) = iteration.reset_at_ms {
        let _ = write!(
            line,
            ", limit of {} until {}",
            iteration.agent.as_deref().unwrap_or(own),
            iso(reset)
        );
    }
    if let Some(failure) = &iteration.failure_detail {
        let _ = write!(line, " ({failure})");
    }
    if !iteration.counted {
        line.push_str(", not counted");
    }
    line
}

fn duration(milliseconds: i64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
    }
}
