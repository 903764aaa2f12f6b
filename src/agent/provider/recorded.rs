//! Cassettes: the replies of a model as lines of JSON, played back without a network, and made from any other provider.
//! Only what the model said is in one; tools really run when it is played.

use super::{Provider, Question};
use crate::agent::Pending;
use crate::model::conversation::Reply;
use crate::model::failure::{Failure, FailureClass};
use crate::model::mask::Mask;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The conversation that comes with the program.
pub const REHEARSAL: &str = include_str!("rehearsal.jsonl");
/// Stands in the text of a cassette for the session's promise.
const PROMISE: &str = "{{promise}}";

/// One line of a cassette. A line that comes again for the same place wins: the turn before it had failed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The n of «iteration n of m».
    iteration: i64,
    /// Which reply of that iteration, from 1.
    number: u32,
    reply: Reply,
}

/// A cassette in the player.
pub struct Cassette {
    name: String,
    replies: HashMap<(i64, u32), Reply>,
    iteration: i64,
    /// The number of the last reply that was given.
    number: AtomicU32,
}

impl Cassette {
    /// Reads a cassette from a file, to be played from the reply after `number` on.
    pub fn open(file: &Path, iteration: i64, number: u32) -> Result<Self> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the cassette {name}"))?;
        Self::read(&name, &text, iteration, number)
    }

    /// The conversation that comes with the program. Later iterations play its last one again.
    pub fn rehearsal(iteration: i64, number: u32) -> Result<Self> {
        let cassette = Self::read("rehearsal", REHEARSAL, iteration, number)?;
        let last = cassette.replies.keys().map(|(iteration, _)| *iteration);
        let last = last.max().unwrap_or(1);
        Ok(Self {
            iteration: iteration.min(last),
            ..cassette
        })
    }

    fn read(name: &str, text: &str, iteration: i64, number: u32) -> Result<Self> {
        let mut replies = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(line)
                .with_context(|| format!("{name}, line {}: not a line of a cassette", at + 1))?;
            replies.insert((line.iteration, line.number), line.reply);
        }
        Ok(Self {
            name: name.to_owned(),
            replies,
            iteration,
            number: AtomicU32::new(number),
        })
    }

    fn next(&self, question: &Question<'_>) -> Result<Reply, Failure> {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let found = self.replies.get(&(self.iteration, number));
        let mut reply = found.cloned().ok_or_else(|| Failure {
            class: FailureClass::Configuration,
            detail: format!(
                "the cassette {} has no reply {number} of iteration {}; record it anew",
                self.name, self.iteration
            ),
            reset_at_ms: None,
        })?;
        if reply.text.contains(PROMISE) {
            let promise = promise_in(&question.history.objective);
            reply.text = reply.text.replace(PROMISE, promise);
        }
        Ok(reply)
    }
}

impl Provider for Cassette {
    fn reply<'a>(&'a self, question: &'a Question<'a>) -> Pending<'a, Result<Reply, Failure>> {
        Box::pin(std::future::ready(self.next(question)))
    }
}

/// The words after which the house rules want the work to be over.
fn promise_in(prompt: &str) -> &str {
    let rules = prompt.rsplit_once("nothing but the words ");
    let promise = rules.and_then(|(_, rule)| rule.split(" (exactly so").next());
    let promise = promise.and_then(|promise| promise.lines().next());
    match promise.map(str::trim) {
        Some(promise) if !promise.is_empty() => promise,
        _ => "TASK_COMPLETE",
    }
}

/// Another provider, with everything it says written to a cassette.
pub struct Recorder {
    inner: Box<dyn Provider>,
    file: File,
    mask: Arc<Mask>,
    iteration: i64,
    number: AtomicU32,
}

impl Recorder {
    /// Adds to a cassette, from the reply after `number` on.
    pub fn new(
        inner: Box<dyn Provider>,
        file: &Path,
        mask: Arc<Mask>,
        iteration: i64,
        number: u32,
    ) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(file)
            .with_context(|| format!("cannot write the cassette {}", file.display()))?;
        Ok(Self {
            inner,
            file,
            mask,
            iteration,
            number: AtomicU32::new(number),
        })
    }

    fn write(&self, reply: &Reply) -> Result<()> {
        let line = serde_json::to_string(&Line {
            iteration: self.iteration,
            number: self.number.fetch_add(1, Ordering::Relaxed) + 1,
            reply: reply.clone(),
        })?;
        let line = format!("{}\n", self.mask.text(&line));
        Ok((&self.file).write_all(line.as_bytes())?)
    }
}

impl Provider for Recorder {
    fn reply<'a>(&'a self, question: &'a Question<'a>) -> Pending<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let reply = self.inner.reply(question).await?;
            self.write(&reply).map_err(|error| Failure {
                class: FailureClass::Configuration,
                detail: format!("the cassette cannot be written: {error:#}"),
                reset_at_ms: None,
            })?;
            Ok(reply)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_is_taken_from_the_house_rules() {
        let prompt = "x\n- end with a line that holds nothing but the words ALL GREEN (exactly so, alone on that line).";
        assert_eq!(promise_in(prompt), "ALL GREEN");
        assert_eq!(promise_in("no rules"), "TASK_COMPLETE");
    }

    #[test]
    fn the_rehearsal_can_be_played_to_its_end() {
        for (iteration, promised) in [(1, false), (2, false), (3, true), (9, true)] {
            let cassette = Cassette::rehearsal(iteration, 0).unwrap();
            let history = Default::default();
            let question = Question {
                system: "",
                history: &history,
                tools: &[],
                schema: None,
                max_output_tokens: 1,
            };
            let last = loop {
                let reply = cassette.next(&question).unwrap();
                if reply.calls.is_empty() {
                    break reply.text;
                }
            };
            assert_eq!(last.lines().any(|line| line == "TASK_COMPLETE"), promised);
        }
    }

    #[test]
    fn what_is_not_on_the_cassette_is_said_plainly() {
        let cassette = Cassette::rehearsal(1, 90).unwrap();
        let history = Default::default();
        let question = Question {
            system: "",
            history: &history,
            tools: &[],
            schema: None,
            max_output_tokens: 1,
        };
        let failure = cassette.next(&question).unwrap_err();
        assert_eq!(
            failure.detail,
            "the cassette rehearsal has no reply 91 of iteration 1; record it anew"
        );
    }
}
