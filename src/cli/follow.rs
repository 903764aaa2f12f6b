//! The history as it happens: events of all processes, in order and once each, and what each says to a person.

use super::output::{clock_time, cut, first_line};
use crate::store::Store;
use crate::store::events::{self, Event};
use anyhow::Result;
use std::ops::ControlFlow;
use std::time::Duration;

/// Other processes write the events; only looking tells.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const EVENTS_PER_LOOK: u32 = 256;
/// The longest stranger's text inside a line.
const MAX_TEXT_CHARS: usize = 200;

/// Hands on the events after `after_seq`, of one session or of all, until `each` has enough.
pub async fn follow(
    store: &Store,
    session: Option<&str>,
    after_seq: i64,
    mut each: impl FnMut(&Event) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut seen = after_seq;
    loop {
        let (about, from) = (session.map(str::to_owned), seen);
        let page = store
            .read(move |sql| events::after(sql, about.as_deref(), from, EVENTS_PER_LOOK))
            .await?;
        for event in &page {
            seen = event.seq;
            if each(event)?.is_break() {
                return Ok(());
            }
        }
        if page.len() < EVENTS_PER_LOOK as usize {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Whether a session's history is over with this event.
pub fn is_end(event: &Event) -> bool {
    matches!(
        event.kind.as_str(),
        "session.completed" | "session.failed" | "session.cancelled"
    )
}

/// What an event says to a person, without time and session; nothing where it only repeats another.
pub fn line_of(event: &Event) -> Option<String> {
    let facts = Facts(event);
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
        "request.rejected" => facts.rejection(),
        "daemon.started" => "the daemon started".to_owned(),
        "daemon.stopped" => "the daemon stopped".to_owned(),
        _ => return None,
    })
}

/// The fields of an event's data, made harmless.
struct Facts<'a>(&'a Event);

impl Facts<'_> {
    fn optional(&self, field: &str) -> Option<String> {
        let text = first_line(self.0.data.get(field)?.as_str()?);
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
        self.0.data.get(field)?.as_bool()
    }

    fn number(&self) -> String {
        let number = self
            .0
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
        match self.0.data.get("from").and_then(serde_json::Value::as_str) {
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
            .0
            .data
            .get("until_ms")
            .and_then(serde_json::Value::as_i64);
        match (until, self.optional("reason")) {
            (Some(until), _) => {
                let line = format!("parked until {}", clock_time(until, self.0.at_ms));
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
            .0
            .data
            .get("until_ms")
            .and_then(serde_json::Value::as_i64);
        match (self.optional("reason"), until) {
            (Some(reason), Some(until)) => {
                let until = clock_time(until, self.0.at_ms);
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
            .0
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
