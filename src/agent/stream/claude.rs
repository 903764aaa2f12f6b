//! Claude Code, `stream-json` or `json`. Decided on `is_error`, never on `subtype`: an API failure calls itself `success`.
//! Its exit code is 0 after SIGINT, so a stream without a result is a failure whatever the code.

use serde::Deserialize;

use super::exit::{Said, failed, failed_as};
use super::json::{Leaf, each_event, part};
use super::messages::{Conversation, Event, introduce, set_model_usage, warn_of_denials};
use super::sheet::Sheet;
use super::{Ending, Reader};
use crate::model::failure::FailureClass;

#[derive(Default)]
pub(super) struct Claude {
    conversation: Conversation,
    result: Option<Outcome>,
    reset_at_s: Option<i64>,
    retried_status: Option<u64>,
}

/// What the result said, as far as it decides on the end.
struct Outcome {
    is_error: bool,
    subtype: String,
    words: String,
    status: Option<u64>,
    class: Option<FailureClass>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RateLimit<'a> {
    #[serde(borrow)]
    status: Leaf<'a>,
    #[serde(rename = "resetsAt")]
    resets_at: Leaf<'a>,
}

impl Reader for Claude {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        each_event(line, |event: &Event<'_>| {
            introduce(event, sheet);
            match event.r#type.text() {
                "system" if event.subtype.text() == "api_retry" => {
                    self.retried_status = event.error_status.count()
                }
                "assistant" => self.assistant(event, sheet),
                "user" => self.conversation.user(event, sheet),
                "rate_limit_event" => self.rate_limit(event, sheet),
                "result" => self.result(event, sheet),
                _ => {}
            }
        });
    }

    fn said(&mut self, ending: &Ending<'_>, _: &mut Sheet) -> Said {
        let Some(result) = self.result.take() else {
            return match self.retried_status {
                Some(status) if ending.silent => {
                    let words = format!("was still retrying after status {status}");
                    Said::Failed(failed(Some(status), &words, ending))
                }
                _ => Said::Incomplete,
            };
        };
        match result {
            Outcome {
                is_error: false, ..
            } => Said::Complete,
            Outcome { subtype, .. } if is_own_limit(&subtype) => Said::Unfinished,
            Outcome {
                class: Some(class),
                words,
                ..
            } => {
                let mut failure = failed_as(class, &words, ending);
                if class == FailureClass::UsageLimit {
                    let told = self
                        .reset_at_s
                        .and_then(|seconds| seconds.checked_mul(1_000));
                    failure.reset_at_ms = told.or(failure.reset_at_ms);
                }
                Said::Failed(failure)
            }
            Outcome { status, words, .. } => Said::Failed(failed(status, &words, ending)),
        }
    }
}

impl Claude {
    fn assistant(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        self.retried_status = None;
        self.conversation.assistant(event, sheet);
        if let Some(usage) = self.conversation.usage_of(event) {
            let (input, output, cached) = usage.cached_apart();
            sheet.add_tokens(input, output, cached);
        }
    }

    fn rate_limit(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        let limit: RateLimit = part(event.rate_limit_info).unwrap_or_default();
        match limit.status.text() {
            "rejected" => {
                self.reset_at_s = limit
                    .resets_at
                    .count()
                    .and_then(|seconds| i64::try_from(seconds).ok())
            }
            "allowed_warning" => sheet.warn("the usage limit is near"),
            _ => {}
        }
    }

    fn result(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        let subtype = event.subtype.text();
        let is_error = event.is_error.flag().unwrap_or(subtype != "success");
        let mut words = event.result.text().to_owned();
        if !is_error {
            sheet.say(&words);
        } else if words.is_empty() {
            words = part::<Vec<String>>(event.errors)
                .unwrap_or_default()
                .join("; ");
        }
        if is_own_limit(subtype) {
            sheet.warn(&format!("{subtype}: {words}"));
        }
        warn_of_denials(event, sheet);
        sheet.report.cost_usd = event.total_cost_usd.amount().or(sheet.report.cost_usd);
        sheet.report.turns = event.num_turns.count();
        if !set_model_usage(event, sheet)
            && let Some(usage) = &event.usage
        {
            let (input, output, cached) = usage.cached_apart();
            sheet.set_tokens(input, output, cached);
        }
        let status = event.api_error_status.count();
        self.result = Some(Outcome {
            is_error,
            subtype: subtype.to_owned(),
            words,
            status,
            class: told_class(event),
        });
    }
}

/// The agent's own limits of turns and of money: the work is unfinished, and nothing is broken.
fn is_own_limit(subtype: &str) -> bool {
    matches!(subtype, "error_max_turns" | "error_max_budget_usd")
}

/// What fields of the result say beyond the status code.
fn told_class(event: &Event<'_>) -> Option<FailureClass> {
    if event.api_error.text() == "usage_limit_reached" {
        Some(FailureClass::UsageLimit)
    } else if event.stop_reason.text() == "refusal" {
        Some(FailureClass::Refusal)
    } else if event.stop_reason.text() == "max_tokens"
        || matches!(
            event.terminal_reason.text(),
            "prompt_too_long" | "blocking_limit"
        )
    {
        Some(FailureClass::ContextOverflow)
    } else {
        None
    }
}
