//! Cline, `--json`. Its `run_result` is the last word, and says whether it was one.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::exit::{Said, failed};
use super::json::{Leaf, cut, event, head, part};
use super::messages::time_ms;
use super::sheet::Sheet;
use super::{Ending, Reader};

#[derive(Default)]
pub(super) struct Cline {
    finish: Option<String>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    ts: Leaf<'a>,
    #[serde(borrow)]
    task_id: Leaf<'a>,
    #[serde(borrow)]
    event: Option<Inner<'a>>,
    #[serde(borrow)]
    message: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
    #[serde(borrow)]
    finish_reason: Leaf<'a>,
    iterations: Leaf<'a>,
    #[serde(borrow)]
    usage: Option<Usage<'a>>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Inner<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    content_type: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
    #[serde(borrow)]
    tool_call_id: Leaf<'a>,
    #[serde(borrow)]
    tool_name: Leaf<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(flatten)]
    usage: Usage<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage<'a> {
    #[serde(borrow)]
    input_tokens: Leaf<'a>,
    #[serde(borrow)]
    output_tokens: Leaf<'a>,
    #[serde(borrow)]
    cache_read_tokens: Leaf<'a>,
    #[serde(borrow)]
    total_cost: Leaf<'a>,
}

impl Reader for Cline {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let Some(event) = event::<Event>(line) else {
            return;
        };
        if sheet.report.agent_session_id.is_none() {
            sheet.report.agent_session_id = event.task_id.some_text();
        }
        match (event.r#type.text(), &event.event) {
            ("agent_event", Some(inner)) => agent_event(inner, time_ms(&event.ts), sheet),
            ("error", _) => self.error = event.message.some_text(),
            ("run_result", _) => self.result(&event, sheet),
            _ => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said {
        match (self.finish.as_deref(), self.error.take()) {
            (Some("completed"), _) => Said::Complete,
            (Some("max_iterations"), _) => {
                sheet.warn("stopped at its own limit of iterations");
                Said::Unfinished
            }
            (_, Some(error)) => Said::Failed(failed(None, &error, ending)),
            _ => Said::Incomplete,
        }
    }
}

impl Cline {
    fn result(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        let finish = event.finish_reason.text();
        if finish == "completed" {
            sheet.say(event.text.text());
        } else if finish == "error" {
            // The text of a failed run is its error.
            sheet.say("");
            self.error = event.text.some_text().or(self.error.take());
        }
        self.finish = Some(finish.to_owned());
        sheet.report.turns = event.iterations.count();
        if let Some(usage) = &event.usage {
            let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
            sheet.set_tokens(
                count(&usage.input_tokens),
                count(&usage.output_tokens),
                count(&usage.cache_read_tokens),
            );
            // Where it knows no price it says 0, which is not what the tokens cost.
            let used = count(&usage.input_tokens) + count(&usage.output_tokens) > 0;
            sheet.report.cost_usd = usage
                .total_cost
                .amount()
                .filter(|cost| *cost > 0.0 || !used);
        }
        #[derive(Deserialize)]
        struct Model<'a> {
            #[serde(borrow, default)]
            id: Leaf<'a>,
        }
        sheet.report.model = part::<Model>(event.model).and_then(|model| model.id.some_text());
    }
}

fn agent_event(inner: &Inner<'_>, at_ms: Option<i64>, sheet: &mut Sheet) {
    let id = inner.tool_call_id.text();
    match (inner.r#type.text(), inner.content_type.text()) {
        ("content_end", "text") => sheet.say(inner.text.text()),
        ("content_start", "tool") => {
            let arguments = inner
                .input
                .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
            sheet.start_call(id, inner.tool_name.text(), arguments, at_ms);
            sheet.work();
        }
        ("content_end", "tool") => {
            let result = head(inner.output.or(inner.error), RESULT_HEAD_MAX_BYTES);
            sheet.calls.end(id, &result, inner.error.is_none(), at_ms);
        }
        ("usage", _) => {
            let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
            let usage = &inner.usage;
            sheet.add_tokens(
                count(&usage.input_tokens),
                count(&usage.output_tokens),
                count(&usage.cache_read_tokens),
            );
        }
        _ => {}
    }
}
