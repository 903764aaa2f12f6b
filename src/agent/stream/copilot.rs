//! GitHub Copilot CLI, `--output-format json`. No tokens and no cost; its exit code repeats the one in its result.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::classify::classify_status;
use super::exit::{Said, failed, failed_as};
use super::json::{Leaf, cut, event, head, part};
use super::messages::time_ms;
use super::sheet::Sheet;
use super::{Ending, Reader};
use crate::model::failure::FailureClass;

#[derive(Default)]
pub(super) struct Copilot {
    exit_code: Option<u64>,
    error: Option<(Option<FailureClass>, Option<u64>, String)>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    timestamp: Leaf<'a>,
    #[serde(borrow, rename = "data")]
    detail: Option<Detail<'a>>,
    #[serde(borrow)]
    session_id: Leaf<'a>,
    exit_code: Leaf<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Detail<'a> {
    #[serde(borrow)]
    session_id: Leaf<'a>,
    #[serde(borrow)]
    content: Leaf<'a>,
    #[serde(borrow)]
    model: Leaf<'a>,
    #[serde(borrow)]
    tool_requests: Option<&'a RawValue>,
    #[serde(borrow)]
    parent_tool_call_id: Leaf<'a>,
    #[serde(borrow)]
    tool_call_id: Leaf<'a>,
    #[serde(borrow)]
    tool_name: Leaf<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    success: Leaf<'a>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    error_type: Leaf<'a>,
    #[serde(borrow)]
    message: Leaf<'a>,
    status_code: Leaf<'a>,
}

impl Reader for Copilot {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let Some(event) = event::<Event>(line) else {
            return;
        };
        let detail = event.detail.unwrap_or_default();
        let at_ms = time_ms(&event.timestamp);
        match event.r#type.text() {
            "session.start" => sheet.report.agent_session_id = detail.session_id.some_text(),
            "assistant.message" if detail.parent_tool_call_id.text().is_empty() => {
                self.message(&detail, sheet)
            }
            "tool.execution_start" => {
                let arguments = detail
                    .arguments
                    .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
                sheet.start_call(
                    detail.tool_call_id.text(),
                    detail.tool_name.text(),
                    arguments,
                    at_ms,
                );
            }
            "tool.execution_complete" => end_call(&detail, at_ms, sheet),
            "session.error" => {
                let class = match detail.error_type.text() {
                    "authentication" => Some(FailureClass::Auth),
                    "rate_limit" => Some(classify_status(429, detail.message.text())),
                    "quota" => Some(FailureClass::UsageLimit),
                    _ => None,
                };
                self.error = Some((
                    class,
                    detail.status_code.count(),
                    detail.message.text().to_owned(),
                ));
            }
            "result" => {
                let id = event.session_id.some_text();
                sheet.report.agent_session_id = id.or(sheet.report.agent_session_id.take());
                self.exit_code = event.exit_code.count();
            }
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, _: &mut Sheet) -> Said {
        match (self.exit_code, self.error.take()) {
            (Some(0), _) => Said::Complete,
            (_, Some((Some(class), _, words))) => Said::Failed(failed_as(class, &words, ending)),
            (_, Some((None, status, words))) => Said::Failed(failed(status, &words, ending)),
            _ => Said::Incomplete,
        }
    }
}

impl Copilot {
    fn message(&mut self, detail: &Detail<'_>, sheet: &mut Sheet) {
        sheet.say(detail.content.text());
        sheet.report.model = detail.model.some_text().or(sheet.report.model.take());
        // An answer after an error: the error was overcome.
        self.error = None;
        let requests: Vec<&RawValue> = part(detail.tool_requests).unwrap_or_default();
        if !requests.is_empty() {
            sheet.work();
        }
    }
}

fn end_call(detail: &Detail<'_>, at_ms: Option<i64>, sheet: &mut Sheet) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        message: Option<&'a RawValue>,
    }
    let ok = detail.success.flag() == Some(true);
    let body: Body = part(detail.result.or(detail.error)).unwrap_or_default();
    let result = head(body.content.or(body.message), RESULT_HEAD_MAX_BYTES);
    if !ok && result.to_lowercase().contains("permission") {
        sheet.warn(&format!("permission denied: {result}"));
    }
    sheet
        .calls
        .end(detail.tool_call_id.text(), &result, ok, at_ms);
}
