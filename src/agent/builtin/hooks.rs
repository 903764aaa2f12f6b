//! Hooks: commands of the user's that are asked before a tool call and told of it afterwards. They get the call as JSON on
//! stdin and answer with JSON on stdout. One that fails, hangs or babbles blocks the call: a guard that is not there guards nothing.

use super::settings::Assignment;
use crate::model::conversation::{Call, CallResult};
use crate::model::mask::Mask;
use crate::process::{Captured, Errand, Exit, Surroundings, capture};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

const ANSWER_MAX_BYTES: usize = 64 * 1024;
const REASON_MAX_BYTES: usize = 2 * 1024;

/// What a hook wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Continue,
    /// The call does not run, or its result is not shown; the agent is told why.
    Block(String),
    /// The iteration ends.
    Interrupt(String),
}

/// The hooks of one agent.
pub struct Hooks {
    assignment: Assignment,
    environment: Vec<(String, String)>,
    mask: Arc<Mask>,
}

#[derive(Deserialize)]
struct Answer {
    decision: String,
    #[serde(default)]
    reason: String,
}

impl Hooks {
    /// They run in the workspace, with the environment that the tools have.
    pub fn new(
        assignment: Assignment,
        environment: Vec<(String, String)>,
        mask: Arc<Mask>,
    ) -> Self {
        Self {
            assignment,
            environment,
            mask,
        }
    }

    /// Asks before a call.
    pub async fn before(&self, call: &Call, arguments: &Json) -> Decision {
        let command = &self.assignment.settings.pre_tool;
        if command.is_empty() {
            return Decision::Continue;
        }
        let told = self.told("pre_tool", call, arguments);
        self.ask("pre_tool", command, told).await
    }

    /// Tells of a call and what came of it.
    pub async fn after(&self, call: &Call, arguments: &Json, result: &CallResult) -> Decision {
        let command = &self.assignment.settings.post_tool;
        if command.is_empty() {
            return Decision::Continue;
        }
        let mut told = self.told("post_tool", call, arguments);
        told["result"] = json!(result.text);
        told["ok"] = json!(result.ok);
        told["duration_ms"] = json!(result.duration_ms);
        self.ask("post_tool", command, told).await
    }

    fn told(&self, event: &str, call: &Call, arguments: &Json) -> Json {
        json!({
            "event": event,
            "tool": call.name,
            "arguments": arguments,
            "session_id": self.assignment.session_id,
            "task_id": self.assignment.task_id,
            "iteration": self.assignment.iteration,
            "workspace": self.assignment.workspace,
        })
    }

    async fn ask(&self, name: &str, command: &[String], told: Json) -> Decision {
        let timeout = self.assignment.settings.hook_timeout;
        let errand = Errand {
            environment: Surroundings::Whole(self.environment.clone()),
            cwd: Some(self.assignment.workspace.clone()),
            input: Some(told.to_string().into_bytes()),
            ..Errand::new(command.to_vec(), timeout.to_duration(), ANSWER_MAX_BYTES)
        };
        match capture(&errand).await {
            Ok(captured) if captured.timed_out => {
                Decision::Block(format!("the {name} hook gave no answer in {timeout}"))
            }
            Ok(captured) => decision_of(name, &self.masked(captured)),
            Err(error) => Decision::Block(format!("the {name} hook could not be run: {error:#}")),
        }
    }

    /// Before anything of it is shortened: half of a secret is no longer known for one.
    fn masked(&self, captured: Captured) -> Captured {
        let masked = |said: Vec<u8>| {
            let text = String::from_utf8_lossy(&said);
            self.mask.text(&text).into_owned().into_bytes()
        };
        Captured {
            stdout: masked(captured.stdout),
            stderr: masked(captured.stderr),
            ..captured
        }
    }
}

fn decision_of(name: &str, captured: &Captured) -> Decision {
    let said = String::from_utf8_lossy(&captured.stdout);
    let complaint = String::from_utf8_lossy(&captured.stderr);
    let last_line = complaint.lines().rfind(|line| !line.trim().is_empty());
    let with_words = |what: String| match last_line {
        Some(line) => Decision::Block(format!("{what}: {}", brief(line))),
        None => Decision::Block(what),
    };
    match &captured.exit {
        Exit::Code(0) if said.trim().is_empty() => return Decision::Continue,
        Exit::Code(0) => {}
        Exit::Code(code) => {
            return with_words(format!("the {name} hook failed with exit code {code}"));
        }
        Exit::Signal(signal) => {
            return with_words(format!("the {name} hook died of signal {signal}"));
        }
        Exit::NotStarted(reason) => {
            return Decision::Block(format!("the {name} hook cannot be started: {reason}"));
        }
    }
    let answer: Answer = match serde_json::from_str(said.trim()) {
        Ok(answer) => answer,
        Err(_) => {
            return Decision::Block(format!(
                "the {name} hook did not answer with a JSON object that has a decision: {}",
                brief(said.trim())
            ));
        }
    };
    let reason = match answer.reason.trim() {
        "" => format!("the {name} hook gave no reason"),
        reason => brief(reason),
    };
    match answer.decision.as_str() {
        "continue" => Decision::Continue,
        "block" => Decision::Block(reason),
        "interrupt" => Decision::Interrupt(reason),
        other => Decision::Block(format!(
            "the {name} hook decided '{}'; known are continue, block and interrupt",
            brief(other)
        )),
    }
}

fn brief(text: &str) -> String {
    text[..text.floor_char_boundary(REASON_MAX_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_lets_a_call_through() {
        let captured = |exit, stdout: &str, stderr: &str| Captured {
            exit,
            timed_out: false,
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.as_bytes().to_vec(),
            truncated: false,
            leftovers_killed: 0,
        };
        let block = |reason: &str| Decision::Block(reason.to_owned());
        for (exit, stdout, stderr, expected) in [
            (Exit::Code(0), "", "", Decision::Continue),
            (
                Exit::Code(0),
                "{\"decision\":\"continue\"}\n",
                "",
                Decision::Continue,
            ),
            (
                Exit::Code(0),
                r#"{"decision":"block","reason":"no rm here"}"#,
                "",
                block("no rm here"),
            ),
            (
                Exit::Code(0),
                r#"{"decision":"interrupt","reason":"enough"}"#,
                "",
                Decision::Interrupt("enough".to_owned()),
            ),
            (
                Exit::Code(0),
                r#"{"decision":"maybe"}"#,
                "",
                block("the pre_tool hook decided 'maybe'; known are continue, block and interrupt"),
            ),
            (
                Exit::Code(0),
                "fine!",
                "",
                block(
                    "the pre_tool hook did not answer with a JSON object that has a decision: fine!",
                ),
            ),
            (
                Exit::Code(3),
                r#"{"decision":"continue"}"#,
                "oh\nno such file\n",
                block("the pre_tool hook failed with exit code 3: no such file"),
            ),
            (
                Exit::Signal(11),
                "",
                "",
                block("the pre_tool hook died of signal 11"),
            ),
            (
                Exit::NotStarted("no such program".to_owned()),
                "",
                "",
                block("the pre_tool hook cannot be started: no such program"),
            ),
        ] {
            assert_eq!(
                decision_of("pre_tool", &captured(exit, stdout, stderr)),
                expected
            );
        }
    }
}
