//! Qwen Code, `stream-json` or `json` (an array). Claude's shape with its own traps: a retried message comes with the fragments of
//! all tries joined, which must not be believed; a limit on tool calls ends it with no result and a code of its own.

use serde::Deserialize;

use super::exit::{Said, failed};
use super::json::{Leaf, each_event, part};
use super::messages::{Conversation, Event, introduce, warn_of_denials};
use super::sheet::Sheet;
use super::{Ending, Reader};

/// Exit codes of its own limits: turns, tool calls.
const LIMIT_EXITS: [i32; 2] = [53, 55];

#[derive(Default)]
pub(super) struct Qwen {
    conversation: Conversation,
    retried: bool,
    joined: bool,
    result: Option<Option<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody<'a> {
    #[serde(borrow)]
    message: Leaf<'a>,
}

impl Reader for Qwen {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        each_event(line, |event: &Event<'_>| {
            introduce(event, sheet);
            match event.r#type.text() {
                "system" if event.subtype.text() == "retry" => self.retried = true,
                "assistant" => self.assistant(event, sheet),
                "user" => {
                    self.retried = false;
                    self.conversation.user(event, sheet);
                }
                "result" => self.result(event, sheet),
                _ => {}
            }
        });
    }

    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said {
        match self.result.take() {
            Some(None) => Said::Complete,
            Some(Some(error)) => Said::Failed(failed(None, &error, ending)),
            None if ending
                .exit_code
                .is_some_and(|code| LIMIT_EXITS.contains(&code)) =>
            {
                sheet.warn("stopped at its own limit of turns or tool calls");
                Said::Unfinished
            }
            None => Said::Incomplete,
        }
    }
}

impl Qwen {
    fn assistant(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        self.conversation.assistant(event, sheet);
        self.joined = std::mem::take(&mut self.retried);
        if self.joined {
            sheet.say("");
        }
        if let Some(usage) = self.conversation.usage_of(event) {
            let (input, output, cached) = usage.cached_within();
            sheet.add_tokens(input, output, cached);
        }
    }

    fn result(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        warn_of_denials(event, sheet);
        sheet.report.turns = event.num_turns.count();
        if let Some(usage) = &event.usage {
            let (input, output, cached) = usage.cached_within();
            sheet.set_tokens(input, output, cached);
        }
        if event
            .is_error
            .flag()
            .unwrap_or(event.subtype.text() != "success")
        {
            let error: ErrorBody = part(event.error).unwrap_or_default();
            // The last assistant message is the error's text again, not the agent's words.
            sheet.say("");
            self.result = Some(Some(error.message.text().to_owned()));
            return;
        }
        if self.joined || self.retried {
            sheet.say("");
            sheet.warn("the answer was retried and its fragments joined; not believed");
        } else {
            sheet.say(event.result.text());
        }
        self.result = Some(None);
    }
}
