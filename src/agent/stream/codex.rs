//! Codex, `exec --json`. The final text is the last agent message; an item of type `error` is a remark, and an `error` event that
//! says «Reconnecting» is a retry. Status codes stand only in words, reset times as a local clock.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::exit::{Said, failed};
use super::json::{Leaf, cut, event, head};
use super::sheet::Sheet;
use super::{Ending, Reader};

#[derive(Default)]
pub(super) struct Codex {
    completed: bool,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    thread_id: Leaf<'a>,
    #[serde(borrow)]
    message: Leaf<'a>,
    /// Boxed, for an event moves several times on its way out of the parser.
    #[serde(borrow)]
    item: Option<Box<Item<'a>>>,
    #[serde(borrow)]
    usage: Option<Usage<'a>>,
    #[serde(borrow)]
    error: Option<ErrorBody<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow)]
    id: Leaf<'a>,
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
    #[serde(borrow)]
    message: Leaf<'a>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    aggregated_output: Option<&'a RawValue>,
    exit_code: Leaf<'a>,
    #[serde(borrow)]
    status: Leaf<'a>,
    #[serde(borrow)]
    server: Leaf<'a>,
    #[serde(borrow)]
    tool: Leaf<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    changes: Option<&'a RawValue>,
    #[serde(borrow)]
    query: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage<'a> {
    #[serde(borrow)]
    input_tokens: Leaf<'a>,
    cached_input_tokens: Leaf<'a>,
    output_tokens: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody<'a> {
    #[serde(borrow)]
    message: Leaf<'a>,
}

impl Reader for Codex {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let Some(event) = event::<Event>(line) else {
            return;
        };
        match event.r#type.text() {
            "thread.started" => sheet.report.agent_session_id = event.thread_id.some_text(),
            "turn.started" => self.completed = false,
            "item.started" => start(&event, sheet),
            "item.completed" => end(&event, sheet),
            "turn.completed" => self.complete(&event, sheet),
            "error" if !event.message.text().starts_with("Reconnecting") => {
                self.error = event.message.some_text()
            }
            "turn.failed" => {
                self.completed = false;
                let told = event.error.and_then(|error| error.message.some_text());
                self.error = told
                    .or(self.error.take())
                    .or_else(|| Some("the turn failed".to_owned()));
            }
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, _: &mut Sheet) -> Said {
        match self.error.take() {
            Some(error) => Said::Failed(failed(None, &error, ending)),
            None if self.completed => Said::Complete,
            None => Said::Incomplete,
        }
    }
}

impl Codex {
    /// The usage is the thread's sum, so the last one stands; an error before it was overcome.
    fn complete(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        self.completed = true;
        self.error = None;
        if let Some(usage) = &event.usage {
            let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
            sheet.set_tokens(
                count(&usage.input_tokens),
                count(&usage.output_tokens),
                count(&usage.cached_input_tokens),
            );
        }
    }
}

fn start(event: &Event<'_>, sheet: &mut Sheet) {
    let Some(item) = &event.item else { return };
    let kind = item.r#type.text();
    let named = |name: &str, raw: Option<&RawValue>| {
        format!(
            "{{\"{name}\":{}}}",
            raw.map_or("null", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES))
        )
    };
    let (name, arguments) = match kind {
        "command_execution" => (kind.to_owned(), named("command", item.command)),
        "file_change" => (kind.to_owned(), named("changes", item.changes)),
        "web_search" => (kind.to_owned(), named("query", item.query)),
        "mcp_tool_call" => {
            let arguments = item
                .arguments
                .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
            (
                format!("{}.{}", item.server.text(), item.tool.text()),
                arguments.to_owned(),
            )
        }
        _ => return,
    };
    sheet.start_call(item.id.text(), &name, &arguments, None);
    sheet.work();
}

fn end(event: &Event<'_>, sheet: &mut Sheet) {
    let Some(item) = &event.item else { return };
    match item.r#type.text() {
        "agent_message" => sheet.say(item.text.text()),
        "error" => sheet.warn(item.message.text()),
        "command_execution" | "file_change" | "web_search" | "mcp_tool_call" => {
            // Some items are only told of when they are done.
            start(event, sheet);
            if item.status.text() == "declined" {
                sheet.warn(&format!("permission denied: {}", item.r#type.text()));
            }
            let went_well = !matches!(item.status.text(), "failed" | "declined");
            let ok = went_well && item.exit_code.count().unwrap_or(0) == 0;
            let result = head(
                item.aggregated_output.or(item.result),
                RESULT_HEAD_MAX_BYTES,
            );
            sheet.calls.end(item.id.text(), &result, ok, None);
        }
        _ => {}
    }
}
