//! What a built-in agent says to whoever supervises it: lines on its standard output, and nothing else.

use super::journal::Entry;
use crate::agent::stream::ralphd::Line;
use crate::model::conversation::{Call, CallResult, Reply, StepUsage};
use anyhow::{Context, Result};
use std::io::Write;

/// The most of a text that is said, be it a reply, arguments or a result: no reader keeps more, and a line can be too long to be read
/// at all. The conversation itself has all of it.
const MAX_SAID_BYTES: usize = 512 * 1024;

/// Says one line.
pub fn tell(line: &Line<'_>) -> Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(&line)
        .and_then(|()| stdout.flush())
        .context("cannot write to the supervisor")
}

/// Says what the model answered.
pub fn tell_reply(number: u32, reply: &Reply) -> Result<()> {
    tell(&Line::Reply {
        step: number,
        text: end_of(&reply.text).into(),
        more: !reply.is_final(),
        model: reply.model.as_deref().map(Into::into),
        usage: reply.usage,
    })
}

/// Says that a call begins. Its place names it: models have been seen to use one id twice.
pub fn tell_call(number: u32, index: usize, call: &Call) -> Result<()> {
    tell(&Line::Call {
        id: place(number, index).into(),
        name: call.name.as_str().into(),
        arguments: beginning_of(&call.arguments).into(),
    })
}

/// Says how a call ended.
pub fn tell_result(number: u32, index: usize, result: &CallResult) -> Result<()> {
    tell(&Line::Result {
        id: place(number, index).into(),
        text: beginning_of(&result.text).into(),
        ok: result.ok,
        duration_ms: result.duration_ms,
        retries: result.retries,
    })
}

/// Says that older steps were summed up.
pub fn tell_compacted(number: u32, steps: usize, usage: StepUsage) -> Result<()> {
    tell(&Line::Compacted {
        steps,
        step: number,
        usage,
    })
}

/// Of a long reply the end: there stands whether it is done.
fn end_of(text: &str) -> &str {
    let from = text.len().saturating_sub(MAX_SAID_BYTES);
    &text[text.ceil_char_boundary(from)..]
}

fn beginning_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SAID_BYTES)]
}

fn place(number: u32, index: usize) -> String {
    format!("{number}.{}", index + 1)
}

/// Says again what an earlier process of the same turn has said, and returns how many replies that were.
pub fn tell_again(entries: &[Entry]) -> Result<u32> {
    let mut number = 0;
    for entry in entries {
        match entry {
            Entry::Assignment(_) => {}
            Entry::Reply(reply) => {
                number += 1;
                tell_reply(number, reply)?;
                for (index, call) in reply.calls.iter().enumerate() {
                    tell_call(number, index, call)?;
                }
            }
            Entry::Outcome {
                results, remark, ..
            } => {
                for (index, result) in results.iter().enumerate() {
                    tell_result(number, index, result)?;
                }
                if let Some(remark) = remark {
                    tell(&Line::Remark {
                        text: remark.as_str().into(),
                    })?;
                }
            }
            Entry::Compacted { steps, usage, .. } => {
                number += 1;
                tell_compacted(number, *steps, *usage)?;
            }
        }
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_texts_the_part_that_matters_is_said() {
        let long = "ä\n".repeat(MAX_SAID_BYTES);
        let reply = format!("{long}DONE");
        assert!(end_of(&reply).ends_with("\nDONE"));
        assert!(end_of(&reply).len() <= MAX_SAID_BYTES);
        let arguments = format!("{{\"path\":{long}");
        assert!(beginning_of(&arguments).starts_with("{\"path\":"));
        assert!(beginning_of(&arguments).len() <= MAX_SAID_BYTES);
        assert_eq!((end_of("short"), beginning_of("short")), ("short", "short"));
    }
}
