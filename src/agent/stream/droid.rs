//! Factory droid, `exec -o stream-json` (ends with a `completion`) or `json` (one result of Claude's shape). A failure only says
//! «Exec failed» and exit code 1; stderr may say more. The model that its first line names is its default, not the one that answers:
//! it is not believed, and so not priced.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::exit::{Said, failed};
use super::json::{Leaf, cut, event, head};
use super::messages::Usage;
use super::sheet::Sheet;
use super::{Ending, Reader};

#[derive(Default)]
pub(super) struct Droid {
    completed: bool,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    session_id: Leaf<'a>,
    #[serde(borrow)]
    role: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
    #[serde(borrow)]
    message: Leaf<'a>,
    #[serde(borrow)]
    id: Leaf<'a>,
    #[serde(borrow, rename = "toolName")]
    tool_name: Leaf<'a>,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(alias = "isError")]
    is_error: Leaf<'a>,
    timestamp: Leaf<'a>,
    #[serde(borrow, alias = "finalText")]
    result: Leaf<'a>,
    #[serde(alias = "numTurns")]
    num_turns: Leaf<'a>,
    #[serde(borrow)]
    usage: Option<Usage<'a>>,
}

impl Reader for Droid {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let Some(event) = event::<Event>(line) else {
            return;
        };
        if sheet.report.agent_session_id.is_none() {
            sheet.report.agent_session_id = event.session_id.some_text();
        }
        let at_ms = event
            .timestamp
            .count()
            .and_then(|ms| i64::try_from(ms).ok());
        let failed = event.is_error.flag() == Some(true);
        match event.r#type.text() {
            "message" if event.role.text() == "assistant" => sheet.say(event.text.text()),
            "tool_call" => {
                let arguments = event
                    .parameters
                    .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
                sheet.start_call(event.id.text(), event.tool_name.text(), arguments, at_ms);
                sheet.work();
            }
            "tool_result" => {
                let result = head(event.value.or(event.error), RESULT_HEAD_MAX_BYTES);
                sheet.calls.end(event.id.text(), &result, !failed, at_ms);
            }
            "error" => self.error = event.message.some_text(),
            "completion" | "result" => self.result(&event, failed, sheet),
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, _: &mut Sheet) -> Said {
        match self.error.take() {
            _ if self.completed => Said::Complete,
            Some(error) => {
                // Its own words tell nothing apart; those on stderr might.
                let words = format!("{}\n{error}", ending.stderr_tail);
                Said::Failed(failed(None, super::classify::telling_line(&words), ending))
            }
            None => Said::Incomplete,
        }
    }
}

impl Droid {
    fn result(&mut self, event: &Event<'_>, failed: bool, sheet: &mut Sheet) {
        sheet.report.turns = event.num_turns.count();
        if let Some(usage) = &event.usage {
            let (input, output, cached) = usage.cached_apart();
            sheet.set_tokens(input, output, cached);
        }
        self.completed = !failed;
        if failed {
            sheet.say("");
            self.error = event
                .result
                .some_text()
                .or(self.error.take())
                .or_else(|| Some("failed".to_owned()));
        } else {
            sheet.say(event.result.text());
        }
    }
}
