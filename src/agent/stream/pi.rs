//! pi, `--mode json`. It exits with 0 on every API error: the last assistant message's `stopReason` decides,
//! also where it was ended in the middle of a retry. Most of its output
//! repeats what was said (`message_update` the whole message for each piece of it): those lines are dropped unread.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::exit::{Said, failed};
use super::json::{Leaf, cut, event, head, part};
use super::sheet::Sheet;
use super::{Ending, Reader};

/// Beginnings of lines that only repeat. A line whose `type` stands elsewhere is read, and then ignored: this only saves time.
const REPEATS: [&str; 5] = [
    "{\"type\":\"message_update\"",
    "{\"type\":\"message_start\"",
    "{\"type\":\"tool_execution_update\"",
    "{\"type\":\"turn_end\"",
    "{\"type\":\"agent_end\"",
];

#[derive(Default)]
pub(super) struct Pi {
    stop: String,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    id: Leaf<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    tool_call_id: Leaf<'a>,
    #[serde(borrow)]
    tool_name: Leaf<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<ToolResult<'a>>,
    is_error: Leaf<'a>,
    success: Leaf<'a>,
    #[serde(borrow)]
    final_error: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Leaf<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Leaf<'a>,
    #[serde(borrow)]
    usage: Usage<'a>,
    #[serde(borrow)]
    stop_reason: Leaf<'a>,
    #[serde(borrow)]
    error_message: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage<'a> {
    input: Leaf<'a>,
    output: Leaf<'a>,
    cache_read: Leaf<'a>,
    cache_write: Leaf<'a>,
    #[serde(borrow)]
    cost: Cost<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cost<'a> {
    #[serde(borrow)]
    total: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolResult<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
}

impl Reader for Pi {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        if REPEATS.iter().any(|start| line.starts_with(start)) {
            return;
        }
        let Some(event) = event::<Event>(line) else {
            return;
        };
        match event.r#type.text() {
            "session" => sheet.report.agent_session_id = event.id.some_text(),
            "message_end" => {
                if let Some(message) = event
                    .message
                    .filter(|message| message.role.text() == "assistant")
                {
                    self.assistant(&message, sheet);
                }
            }
            "tool_execution_start" => {
                let arguments = event
                    .args
                    .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
                sheet.start_call(
                    event.tool_call_id.text(),
                    event.tool_name.text(),
                    arguments,
                    None,
                );
                sheet.work();
            }
            "tool_execution_end" => {
                let result = head(
                    event.result.and_then(|result| result.content),
                    RESULT_HEAD_MAX_BYTES,
                );
                let ok = event.is_error.flag() != Some(true);
                sheet
                    .calls
                    .end(event.tool_call_id.text(), &result, ok, None);
            }
            "auto_retry_end" if event.success.flag() == Some(false) => {
                self.stop = "error".to_owned();
                self.error = event.final_error.some_text().or(self.error.take());
            }
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said {
        match self.stop.as_str() {
            "error" => Said::Failed(failed(None, &self.error.take().unwrap_or_default(), ending)),
            "stop" => Said::Complete,
            "length" => {
                sheet.warn("the answer was cut at the model's output limit");
                Said::Complete
            }
            _ => Said::Incomplete,
        }
    }
}

impl Pi {
    /// A whole message. Each is told of once, so usage and cost are summed; cached tokens are not in `input`.
    fn assistant(&mut self, message: &Message<'_>, sheet: &mut Sheet) {
        let blocks: Vec<Block> = part(message.content).unwrap_or_default();
        let texts: Vec<&str> = blocks
            .iter()
            .filter(|block| block.r#type.text() == "text")
            .map(|block| block.text.text())
            .collect();
        sheet.say(&texts.join("\n"));
        if blocks.iter().any(|block| block.r#type.text() == "toolCall") {
            sheet.work();
        }
        let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
        let usage = &message.usage;
        let cached = count(&usage.cache_read);
        sheet.add_tokens(
            count(&usage.input) + cached + count(&usage.cache_write),
            count(&usage.output),
            cached,
        );
        if let Some(cost) = usage.cost.total.amount() {
            sheet.report.cost_usd = Some(sheet.report.cost_usd.unwrap_or(0.0) + cost);
        }
        sheet.report.model = message.model.some_text().or(sheet.report.model.take());
        sheet.report.turns = Some(sheet.report.turns.unwrap_or(0) + 1);
        self.stop = message.stop_reason.text().to_owned();
        self.error = message.error_message.some_text();
    }
}
