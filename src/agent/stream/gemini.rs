//! Gemini CLI, `stream-json` or `json`. The answer comes in pieces with no mark between messages, so only what follows the last
//! tool counts, and only once the result has come. Exit codes are HTTP statuses modulo 256, which look like signals.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::classify::classify_status;
use super::document::Document;
use super::exit::{Said, failed};
use super::json::{Leaf, cut, event, head, part};
use super::messages::time_ms;
use super::sheet::Sheet;
use super::{Ending, Reader};
use crate::model::failure::FailureClass;

#[derive(Default)]
pub(super) struct Gemini {
    document: Document,
    goes_on: bool,
    result: Option<Option<(Option<u64>, String)>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    timestamp: Leaf<'a>,
    #[serde(borrow)]
    session_id: Leaf<'a>,
    #[serde(borrow)]
    model: Leaf<'a>,
    #[serde(borrow)]
    role: Leaf<'a>,
    #[serde(borrow)]
    content: Leaf<'a>,
    delta: Leaf<'a>,
    #[serde(borrow)]
    tool_name: Leaf<'a>,
    #[serde(borrow)]
    tool_id: Leaf<'a>,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Leaf<'a>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Leaf<'a>,
    #[serde(borrow)]
    response: Leaf<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    stats: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    message: Leaf<'a>,
    code: Leaf<'a>,
}

/// The sums of either format: flat in the stream, per model in the document.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stats<'a> {
    #[serde(borrow)]
    total_tokens: Leaf<'a>,
    input_tokens: Leaf<'a>,
    cached: Leaf<'a>,
    #[serde(borrow)]
    models: BTreeMap<String, Share<'a>>,
    #[serde(borrow)]
    tools: Option<Tools<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Share<'a> {
    #[serde(borrow)]
    input_tokens: Leaf<'a>,
    #[serde(borrow)]
    tokens: Tokens<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens<'a> {
    #[serde(borrow)]
    prompt: Leaf<'a>,
    total: Leaf<'a>,
    cached: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tools<'a> {
    #[serde(borrow, rename = "totalCalls")]
    total_calls: Leaf<'a>,
}

impl Reader for Gemini {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        if let Some(document) = self.document.line(line) {
            self.whole(&document, sheet);
            return;
        }
        let Some(event) = event::<Event>(line) else {
            return;
        };
        match event.r#type.text() {
            "init" => {
                sheet.report.agent_session_id = event.session_id.some_text();
                sheet.report.model = event.model.some_text();
            }
            "message" if event.role.text() == "assistant" => self.message(&event, sheet),
            "tool_use" => {
                let arguments = event
                    .parameters
                    .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
                let at_ms = time_ms(&event.timestamp);
                sheet.start_call(
                    event.tool_id.text(),
                    event.tool_name.text(),
                    arguments,
                    at_ms,
                );
                self.works(sheet);
            }
            "tool_result" => {
                let result = head(event.output.or(event.error), RESULT_HEAD_MAX_BYTES);
                let ok = event.status.text() == "success";
                sheet
                    .calls
                    .end(event.tool_id.text(), &result, ok, time_ms(&event.timestamp));
                self.works(sheet);
            }
            "error" => sheet.warn(event.message.text()),
            "result" => self.result(&event, event.status.text() != "success", sheet),
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said {
        match self.result.take() {
            Some(None) => Said::Complete,
            Some(Some((status, error))) => Said::Failed(failed(status, &error, ending)),
            None => {
                // Pieces of a message that never ended are not final words.
                sheet.say("");
                Said::Incomplete
            }
        }
    }

    fn exit_meaning(&self) -> fn(i32) -> Option<FailureClass> {
        exit_meaning
    }
}

impl Gemini {
    fn message(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        if self.goes_on && event.delta.flag() == Some(true) {
            sheet.say_more(event.content.text());
        } else {
            sheet.say(event.content.text());
        }
        self.goes_on = true;
    }

    fn works(&mut self, sheet: &mut Sheet) {
        self.goes_on = false;
        sheet.work();
    }

    fn result(&mut self, event: &Event<'_>, is_error: bool, sheet: &mut Sheet) {
        set_stats(event, sheet);
        let error: Option<ErrorBody> = part(event.error);
        self.result = Some(match error {
            Some(error) if error.r#type.text() == "INVALID_STREAM" => {
                // An empty answer: the tool itself exits with 0, and an empty final text has its own rule.
                sheet.warn(error.message.text());
                None
            }
            Some(error) => Some((error.code.count(), error.message.text().to_owned())),
            None if is_error => Some((None, "the result is an error".to_owned())),
            None => None,
        });
    }

    fn whole(&mut self, document: &str, sheet: &mut Sheet) {
        let Some(event) = event::<Event>(document) else {
            return;
        };
        sheet.report.agent_session_id = event.session_id.some_text();
        sheet.say(event.response.text());
        self.result(&event, false, sheet);
    }
}

/// Both formats count cached tokens into the input; what is neither input nor answer is thought, and counts as output.
fn set_stats(event: &Event<'_>, sheet: &mut Sheet) {
    let Some(stats) = part::<Stats>(event.stats) else {
        return;
    };
    let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
    let mut sum = (
        count(&stats.input_tokens),
        count(&stats.total_tokens),
        count(&stats.cached),
    );
    let mut most = 0;
    for (model, share) in &stats.models {
        let input = count(&share.input_tokens) + count(&share.tokens.prompt);
        sum.0 += count(&share.tokens.prompt);
        sum.1 += count(&share.tokens.total);
        sum.2 += count(&share.tokens.cached);
        if input > most {
            most = input;
            sheet.report.model = Some(model.clone());
        }
    }
    sheet.set_tokens(sum.0, sum.1.saturating_sub(sum.0), sum.2);
    if let Some(calls) = stats.tools.and_then(|tools| tools.total_calls.count()) {
        sheet.report.tool_call_count = calls;
    }
}

/// Statuses of 400 to 511 come out as 144 to 255, those of 520 to 529 as 8 to 17; the rest are codes of its own.
fn exit_meaning(code: i32) -> Option<FailureClass> {
    match code {
        41 => Some(FailureClass::Auth),
        42 | 44 | 52 | 55 => Some(FailureClass::Configuration),
        144..=255 => Some(classify_status(u64::try_from(code + 256).ok()?, "")),
        8..=17 => Some(FailureClass::Overloaded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_statuses() {
        for (code, expected) in [
            (144, Some(FailureClass::Configuration)),
            (145, Some(FailureClass::Auth)),
            (147, Some(FailureClass::Auth)),
            (157, Some(FailureClass::ContextOverflow)),
            (173, Some(FailureClass::RateLimit)),
            (247, Some(FailureClass::Overloaded)),
            (17, Some(FailureClass::Overloaded)),
            (41, Some(FailureClass::Auth)),
            (55, Some(FailureClass::Configuration)),
            (137, None),
            (143, None),
            (1, None),
        ] {
            assert_eq!(exit_meaning(code), expected, "{code}");
        }
    }
}
