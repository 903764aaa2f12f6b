//! opencode, `run --format json`. There is no last event: the end is the end of the stream after a step that finished with `stop`.
//! Limits and server errors are retried in silence, for ever: only a silence timeout ends those.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::exit::{Said, failed, failed_as};
use super::json::{Leaf, cut, event, head};
use super::sheet::Sheet;
use super::{Ending, Reader};
use crate::model::failure::FailureClass;

#[derive(Default)]
pub(super) struct Opencode {
    message_id: String,
    finish: String,
    error: Option<(Option<u64>, String, String)>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow, rename = "sessionID")]
    session_id: Leaf<'a>,
    #[serde(borrow)]
    part: Option<Part<'a>>,
    #[serde(borrow)]
    error: Option<ErrorBody<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow, rename = "messageID")]
    message_id: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
    #[serde(borrow)]
    reason: Leaf<'a>,
    #[serde(borrow)]
    tokens: Tokens<'a>,
    cost: Leaf<'a>,
    #[serde(borrow)]
    tool: Leaf<'a>,
    #[serde(borrow, rename = "callID")]
    call_id: Leaf<'a>,
    #[serde(borrow)]
    state: State<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens<'a> {
    total: Leaf<'a>,
    input: Leaf<'a>,
    output: Leaf<'a>,
    reasoning: Leaf<'a>,
    #[serde(borrow)]
    cache: Cache<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cache<'a> {
    #[serde(borrow)]
    read: Leaf<'a>,
    write: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Leaf<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    time: Span<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Span<'a> {
    #[serde(borrow)]
    start: Leaf<'a>,
    end: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody<'a> {
    #[serde(borrow)]
    name: Leaf<'a>,
    #[serde(borrow, rename = "data")]
    detail: ErrorDetail<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorDetail<'a> {
    #[serde(borrow)]
    message: Leaf<'a>,
    #[serde(rename = "statusCode")]
    status: Leaf<'a>,
}

impl Reader for Opencode {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let Some(event) = event::<Event>(line) else {
            return;
        };
        if sheet.report.agent_session_id.is_none() {
            sheet.report.agent_session_id = event.session_id.some_text();
        }
        let part = event.part.unwrap_or_default();
        match event.r#type.text() {
            "step_start" => self.finish.clear(),
            "text" => self.text(&part, sheet),
            "tool_use" => tool(&part, sheet),
            "step_finish" => self.step(&part, sheet),
            "error" => {
                let error = event.error.unwrap_or_default();
                let (name, message) = (
                    error.name.text().to_owned(),
                    error.detail.message.text().to_owned(),
                );
                self.error = Some((error.detail.status.count(), name, message));
            }
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said {
        match (self.error.take(), self.finish.as_str()) {
            (Some((_, name, message)), _) if name == "ContextOverflowError" => {
                Said::Failed(failed_as(FailureClass::ContextOverflow, &message, ending))
            }
            (Some((status, name, message)), _) => {
                let words = if message.is_empty() { name } else { message };
                Said::Failed(failed(status, &words, ending))
            }
            (None, "stop") => Said::Complete,
            (None, "length") => {
                sheet.warn("the answer was cut at the model's output limit");
                Said::Complete
            }
            (None, "tool-calls") if ending.exit_code == Some(0) => {
                // A call that was not allowed ends the run without another word.
                sheet.warn("ended after a tool call, with no final text");
                Said::Unfinished
            }
            _ => Said::Incomplete,
        }
    }
}

impl Opencode {
    fn text(&mut self, part: &Part<'_>, sheet: &mut Sheet) {
        let id = part.message_id.text();
        if self.message_id == id {
            sheet.say_more("\n");
            sheet.say_more(part.text.text());
        } else {
            self.message_id = id.to_owned();
            sheet.say(part.text.text());
        }
    }

    /// A finished step: an error before it was overcome. Cached tokens are not in `input`; the rest of `total` is output.
    fn step(&mut self, part: &Part<'_>, sheet: &mut Sheet) {
        let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
        let tokens = &part.tokens;
        let input = count(&tokens.input) + count(&tokens.cache.read) + count(&tokens.cache.write);
        let output = match tokens.total.count() {
            Some(total) => total.saturating_sub(input),
            None => count(&tokens.output) + count(&tokens.reasoning),
        };
        sheet.add_tokens(input, output, count(&tokens.cache.read));
        if let Some(cost) = part.cost.amount() {
            sheet.report.cost_usd = Some(sheet.report.cost_usd.unwrap_or(0.0) + cost);
        }
        sheet.report.turns = Some(sheet.report.turns.unwrap_or(0) + 1);
        self.finish = part.reason.text().to_owned();
        self.error = None;
    }
}

/// A tool call, told of once it is over.
fn tool(part: &Part<'_>, sheet: &mut Sheet) {
    let time = |leaf: &Leaf<'_>| leaf.count().and_then(|ms| i64::try_from(ms).ok());
    let state = &part.state;
    let (id, name) = (part.call_id.text(), part.tool.text());
    let arguments = state
        .input
        .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
    sheet.start_call(id, name, arguments, time(&state.time.start));
    let ok = state.status.text() == "completed";
    let result = head(state.output.or(state.error), RESULT_HEAD_MAX_BYTES);
    if !ok && result.contains("rejected permission") {
        sheet.warn(&format!("permission denied: {name}"));
    }
    sheet.calls.end(id, &result, ok, time(&state.time.end));
    sheet.work();
}
