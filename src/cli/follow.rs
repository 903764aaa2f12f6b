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
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn event(kind: &str, data: Json) -> Event {
        Event {
            seq: 1,
            session_id: None,
            task_id: None,
            at_ms: 0,
            kind: kind.to_owned(),
            data,
        }
    }

    #[test]
    fn lines_for_people() {
        for (kind, data, expected) in [
            (
                "session.created",
                json!({"agent": "claude", "trigger": "inbox"}),
                Some("created for agent claude, from inbox"),
            ),
            (
                "session.executing",
                json!({"from": "created"}),
                Some("started"),
            ),
            (
                "session.executing",
                json!({"from": "paused"}),
                Some("resumed"),
            ),
            ("session.awaiting_human", json!({}), None),
            (
                "session.failed",
                json!({"end_reason": "stagnated", "detail": "3 in a row"}),
                Some("failed: stagnated: 3 in a row"),
            ),
            (
                "session.failed",
                json!({"end_reason": "poison", "detail": null}),
                Some("failed: poison"),
            ),
            (
                "session.control",
                json!({"control": "pause"}),
                Some("will pause after this iteration"),
            ),
            (
                "session.control",
                json!({"control": null}),
                Some("will not be paused after all"),
            ),
            ("task.running", json!({}), None),
            (
                "tool.called",
                json!({"name": "bash", "about": "ls -l", "ok": false, "duration_ms": 3}),
                Some("  bash ls -l (failed)"),
            ),
            (
                "tool.called",
                json!({"name": "git_status", "about": null, "ok": true, "duration_ms": 3}),
                Some("  git_status"),
            ),
            (
                "task.parked",
                json!({"until_ms": null, "reason": "paused"}),
                None,
            ),
            (
                "task.parked",
                json!({"until_ms": null, "reason": null}),
                Some("back in the queue"),
            ),
            (
                "agent.changed",
                json!({"from": "codex", "to": "claude", "reason": null, "until_ms": null}),
                Some("claude is free again; going on with claude"),
            ),
            (
                "cost.unknown",
                json!({"agent": "codex", "model": "x"}),
                Some(
                    "the cost of codex is not known, only its tokens are counted: there is no price for x",
                ),
            ),
            (
                "iteration.started",
                json!({"number": 2}),
                Some("iteration 2 started"),
            ),
            (
                "iteration.ended",
                json!({"verdict": "timed_out", "counted": true, "verify_passed": null, "failure": null}),
                Some("iteration ended: timed out"),
            ),
            (
                "iteration.ended",
                json!({"number": 3, "verdict": "promised", "counted": true, "verify_passed": false}),
                Some("iteration 3 ended: promised, verification FAILED"),
            ),
            (
                "iteration.ended",
                json!({"verdict": "failed", "counted": false, "failure": "exit 1\x1b[2J\nmore"}),
                Some("iteration ended: failed, not counted: exit 1␛[2J"),
            ),
            (
                "iteration.not_summarized",
                json!({"number": 3, "agent": "scribe", "reason": "it took too long"}),
                Some("iteration 3 not summed up: it took too long"),
            ),
            (
                "human.asked",
                json!({"question": "Which?", "options": ["a", "b"]}),
                Some("asks: Which?  [1] a  [2] b"),
            ),
            ("something.new", json!({}), None),
            ("session.failed", Json::Null, Some("failed: ?")),
        ] {
            assert_eq!(line_of(&event(kind, data)).as_deref(), expected, "{kind}");
        }
    }

    #[test]
    fn times_are_told_by_the_local_clock() {
        let clock = clock_time(60_000, 0);
        for (kind, data, expected) in [
            (
                "task.parked",
                json!({"until_ms": 60_000, "reason": "usage limit of claude"}),
                format!("parked until {clock}, usage limit of claude"),
            ),
            (
                "agent.changed",
                json!({"from": "claude", "to": "codex", "reason": "usage limit of claude", "until_ms": 60_000}),
                format!("usage limit of claude until {clock}; going on with codex"),
            ),
        ] {
            assert_eq!(line_of(&event(kind, data)), Some(expected));
        }
    }

    #[test]
    fn only_terminal_states_end_a_history() {
        for (kind, expected) in [
            ("session.completed", true),
            ("session.paused", false),
            ("task.completed", false),
        ] {
            assert_eq!(is_end(&event(kind, json!({}))), expected);
        }
    }
}
