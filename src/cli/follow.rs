//! The history as it happens: events of all processes, in order and once each, and what each says to a person.

mod ground;
mod steps;

use super::output::{clock_time, cut, first_line};
use crate::model::id::short;
use crate::store::Store;
use crate::store::driver::Sql;
use crate::store::events::{self, Event};
use crate::store::tasks::{self, Assignment};
use anyhow::Result;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// Other processes write the events; only looking tells.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const EVENTS_PER_LOOK: u32 = 256;
/// The longest stranger's text inside a line.
const MAX_TEXT_CHARS: usize = 200;

/// Whose history is followed.
#[derive(Clone, Debug)]
pub enum Whose {
    Everybodys,
    /// One session alone.
    Session(String),
    /// One session, and the sub-agents that work for it.
    Tree(String),
}

/// An event, with what is needed to tell it.
pub struct News {
    pub event: Event,
    /// The task it is about.
    task: Option<Assignment>,
    /// It happened to a sub-agent of the session that is followed.
    of_sub_agent: bool,
}

impl News {
    /// What happened after `seq`, oldest first.
    pub fn after(sql: &mut dyn Sql, whose: &Whose, seq: i64, limit: u32) -> Result<Vec<News>> {
        let page = match whose {
            Whose::Everybodys => events::after(sql, None, seq, limit)?,
            Whose::Session(session) => events::after(sql, Some(session), seq, limit)?,
            Whose::Tree(session) => events::of_tree_after(sql, session, seq, limit)?,
        };
        let mut known: HashMap<String, Option<Assignment>> = HashMap::new();
        let tell = |event: Event| {
            let task = match task_of(&event) {
                None => None,
                Some(id) if known.contains_key(id) => known[id].clone(),
                Some(id) => {
                    let task = tasks::get(sql, id)?;
                    known.insert(id.to_owned(), task.clone());
                    task
                }
            };
            let of_sub_agent = match whose {
                Whose::Tree(session) => event.session_id.as_ref() != Some(session),
                _ => false,
            };
            Ok(News {
                event,
                task,
                of_sub_agent,
            })
        };
        page.into_iter().map(tell).collect()
    }

    /// What it says to a person, without time and session; nothing where it only repeats another.
    pub fn line(&self) -> Option<String> {
        // The task that it works for tells of these.
        let told = ["session.created", "session.completed"].contains(&self.event.kind.as_str());
        if self.of_sub_agent && told {
            return None;
        }
        let line = line_of(&self.event, self.task.as_ref())?;
        let session = self.event.session_id.as_deref().map(short);
        match session.filter(|_| self.of_sub_agent) {
            Some(session) => Some(format!("[{session}] {line}")),
            None => Some(line),
        }
    }

    /// Whether the history of the session that is followed is over with it.
    pub fn is_end(&self) -> bool {
        !self.of_sub_agent && is_end(&self.event)
    }

    /// Whether that session cannot go on by itself any more.
    pub fn is_rest(&self) -> bool {
        self.is_end() || (!self.of_sub_agent && self.event.kind == "session.awaiting_human")
    }
}

fn task_of(event: &Event) -> Option<&str> {
    let told = event.data.get("task").and_then(serde_json::Value::as_str);
    event.task_id.as_deref().or(told)
}

/// Hands on the events after `after_seq` until `each` has enough.
pub async fn follow(
    store: &Store,
    whose: Whose,
    after_seq: i64,
    mut each: impl FnMut(&News) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut seen = after_seq;
    loop {
        let (about, from) = (whose.clone(), seen);
        let page = store
            .read(move |sql| News::after(sql, &about, from, EVENTS_PER_LOOK))
            .await?;
        for news in &page {
            seen = news.event.seq;
            if each(news)?.is_break() {
                return Ok(());
            }
        }
        if page.len() < EVENTS_PER_LOOK as usize {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn is_end(event: &Event) -> bool {
    matches!(
        event.kind.as_str(),
        "session.completed" | "session.failed" | "session.cancelled"
    )
}

fn line_of(event: &Event, task: Option<&Assignment>) -> Option<String> {
    let facts = Facts { event, task };
    if let Some(told) = facts.of_plan() {
        return told;
    }
    Some(match event.kind.as_str() {
        "session.created" => format!(
            "created for agent {}, from {}",
            facts.text("agent"),
            facts.text("trigger")
        ),
        "session.executing" => facts.why_executing().to_owned(),
        "session.discovering" | "session.planning" | "session.summarizing" => {
            event.kind.trim_start_matches("session.").to_owned()
        }
        "session.paused" => "paused".to_owned(),
        "session.completed" => "completed".to_owned(),
        "session.cancelled" => "cancelled".to_owned(),
        "session.failed" => {
            facts.with_detail(format!("failed: {}", facts.text("end_reason")), "detail")
        }
        "session.control" => facts.wish()?.to_owned(),
        "task.parked" => facts.parking()?,
        "task.rescued" => facts.with_detail("taken back from a worker that died".to_owned(), "why"),
        "iteration.started" => format!("iteration {} started", facts.number()),
        "iteration.ended" => facts.verdict(),
        "iteration.summarizing" => {
            let (number, agent) = (facts.number(), facts.text("agent"));
            format!("iteration {number} is being summed up by {agent}")
        }
        "iteration.summarized" => format!("iteration {} is summed up", facts.number()),
        "iteration.not_summarized" => {
            let line = format!("iteration {} not summed up", facts.number());
            facts.with_detail(line, "reason")
        }
        "tool.called" => facts.tool_call(),
        "handoff.invalid" => facts.with_detail("the handoff is not usable".to_owned(), "problem"),
        "agent.changed" => facts.change(),
        "cost.unknown" => facts.unpriced(),
        "human.asked" => facts.question(),
        "guidance.told" => format!("told: {}", facts.text("text")),
        "human.answered" => format!("answered: {}", facts.text("answer")),
        "human.expired" => "nobody answered in time".to_owned(),
        "session.rewound" => format!("taken back to iteration {}", facts.event.data["to"]),
        kind if kind.starts_with("workspace.") => facts.ground(kind)?,
        "budget.two_thirds" => {
            let kind = facts.text("kind").replace('_', " ");
            format!("two thirds of the budget of {kind} are used")
        }
        "notice.given_up" => {
            let line = format!("{} could not be told", facts.text("target"));
            facts.with_detail(line, "error")
        }
        "request.rejected" => facts.rejection(),
        "schedule.ticked" => facts.tick(),
        "schedule.dropped" => format!(
            "schedule {} missed too much: nothing is made of {} to {}",
            facts.text("schedule"),
            facts.text("from"),
            facts.text("until")
        ),
        "schedule.paused" => format!("schedule {} paused", facts.text("schedule")),
        "schedule.resumed" => format!("schedule {} goes on", facts.text("schedule")),
        "daemon.started" => "the daemon started".to_owned(),
        "daemon.stopped" => "the daemon stopped".to_owned(),
        _ => return None,
    })
}

/// The fields of an event's data, made harmless.
struct Facts<'a> {
    event: &'a Event,
    task: Option<&'a Assignment>,
}

impl Facts<'_> {
    fn optional(&self, field: &str) -> Option<String> {
        let text = first_line(self.event.data.get(field)?.as_str()?);
        Some(cut(&text, MAX_TEXT_CHARS)).filter(|text| !text.is_empty())
    }

    fn text(&self, field: &str) -> String {
        self.optional(field).unwrap_or_else(|| "?".to_owned())
    }

    fn tool_call(&self) -> String {
        let about = self.optional("about").map(|about| format!(" {about}"));
        let failed = match self.flag("ok") {
            Some(false) => " (failed)",
            _ => "",
        };
        format!(
            "  {}{}{failed}",
            self.text("name"),
            about.unwrap_or_default()
        )
    }

    fn flag(&self, field: &str) -> Option<bool> {
        self.event.data.get(field)?.as_bool()
    }

    fn number(&self) -> String {
        let number = self
            .event
            .data
            .get("number")
            .and_then(serde_json::Value::as_i64);
        number.map(|number| number.to_string()).unwrap_or_default()
    }

    fn with_detail(&self, line: String, field: &str) -> String {
        match self.optional(field) {
            Some(detail) => format!("{line}: {detail}"),
            None => line,
        }
    }

    fn why_executing(&self) -> &'static str {
        match self
            .event
            .data
            .get("from")
            .and_then(serde_json::Value::as_str)
        {
            Some("awaiting_human") => "goes on with the answer",
            Some("paused") => "resumed",
            _ => "started",
        }
    }

    fn wish(&self) -> Option<&'static str> {
        match self.optional("control").as_deref() {
            Some("pause") => Some("will pause after this iteration"),
            Some("pause_now") => Some("is being paused"),
            Some("cancel") => Some("is being cancelled"),
            Some(_) => None,
            None => Some("will not be paused after all"),
        }
    }

    fn parking(&self) -> Option<String> {
        let until = self
            .event
            .data
            .get("until_ms")
            .and_then(serde_json::Value::as_i64);
        match (until, self.optional("reason")) {
            (Some(until), _) => {
                let line = format!("parked until {}", clock_time(until, self.event.at_ms));
                let reason = self.optional("reason").map(|reason| format!(", {reason}"));
                Some(line + &reason.unwrap_or_default())
            }
            // The session's own pause says so itself.
            (None, Some(reason)) if reason == "paused" => None,
            (None, Some(reason)) => Some(format!("waits: {reason}")),
            (None, None) => Some("back in the queue".to_owned()),
        }
    }

    fn verdict(&self) -> String {
        let number = self.number();
        let space = if number.is_empty() { "" } else { " " };
        let mut line = format!(
            "iteration{space}{number} ended: {}",
            self.text("verdict").replace('_', " ")
        );
        match self.flag("verify_passed") {
            Some(true) => line.push_str(", verification passed"),
            Some(false) => line.push_str(", verification FAILED"),
            None => {}
        }
        if self.flag("counted") == Some(false) {
            line.push_str(", not counted");
        }
        self.with_detail(line, "failure")
    }

    fn change(&self) -> String {
        let to = self.text("to");
        let until = self
            .event
            .data
            .get("until_ms")
            .and_then(serde_json::Value::as_i64);
        match (self.optional("reason"), until) {
            (Some(reason), Some(until)) => {
                let until = clock_time(until, self.event.at_ms);
                format!("{reason} until {until}; going on with {to}")
            }
            _ => format!("{to} is free again; going on with {to}"),
        }
    }

    fn unpriced(&self) -> String {
        let why = match self.optional("model") {
            Some(model) => format!("there is no price for {model}"),
            None => "it does not tell its model".to_owned(),
        };
        let agent = self.text("agent");
        format!("the cost of {agent} is not known, only its tokens are counted: {why}")
    }

    fn question(&self) -> String {
        let mut line = format!("asks: {}", self.text("question"));
        let options = self
            .event
            .data
            .get("options")
            .and_then(serde_json::Value::as_array);
        for (position, option) in options.into_iter().flatten().enumerate() {
            let option = first_line(option.as_str().unwrap_or_default());
            line.push_str(&format!(
                "  [{}] {}",
                position + 1,
                cut(&option, MAX_TEXT_CHARS)
            ));
        }
        line
    }

    fn tick(&self) -> String {
        let line = format!(
            "schedule {}: {}",
            self.text("schedule"),
            self.text("outcome")
        );
        self.with_detail(line, "detail")
    }

    fn rejection(&self) -> String {
        let name = ["file", "name", "origin"]
            .iter()
            .find_map(|field| self.optional(field));
        let line = name.map_or("a request was rejected".to_owned(), |name| {
            format!("request {name} was rejected")
        });
        let field = if self.optional("error").is_some() {
            "error"
        } else {
            "reason"
        };
        self.with_detail(line, field)
    }
}

#[cfg(test)]
mod tests;
