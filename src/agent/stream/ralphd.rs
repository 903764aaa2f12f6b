//! The stream of ralphd's own built-in agents: its lines, as `agent/builtin` writes them, and their reader.
//! After a crash a turn tells its earlier steps again before it goes on, so that the stream alone says everything.

use super::calls::ToolCall;
use super::exit::{Said, failed_as};
use super::sheet::Sheet;
use super::{Ending, Reader, StepReport};
use crate::model::conversation::StepUsage;
use crate::model::failure::{Failure, FailureClass};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Steps that wait to be told; past these the oldest are let go.
const STEPS_MAX: usize = 1024;

/// One line of the stream.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line<'a> {
    /// The conversation begins, or goes on after so many steps.
    Begun {
        model: Cow<'a, str>,
        steps_before: u32,
    },
    /// The model has answered.
    Reply {
        step: u32,
        text: Cow<'a, str>,
        /// It is not final: calls follow, or it was cut off. Said at once, for its writer may not come to the next line.
        #[serde(default)]
        more: bool,
        model: Option<Cow<'a, str>>,
        usage: StepUsage,
    },
    /// A tool call begins.
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: Cow<'a, str>,
    },
    /// A tool call has ended.
    Result {
        id: Cow<'a, str>,
        text: Cow<'a, str>,
        ok: bool,
        duration_ms: u64,
        retries: u32,
    },
    /// The loop itself says something to the model.
    Remark { text: Cow<'a, str> },
    /// Nothing new, but it is not dead.
    Alive,
    /// A reply failed; the model is asked again after a pause, or not at all.
    Waiting {
        ms: u64,
        why: Cow<'a, str>,
        /// What the failed reply has used all the same.
        #[serde(default)]
        usage: StepUsage,
    },
    /// Older steps were summed up, for which a model was asked too.
    Compacted {
        steps: usize,
        step: u32,
        usage: StepUsage,
    },
    /// The conversation is over.
    Ended {
        how: How,
        /// A word of [`FailureClass`], where it failed.
        class: Option<Cow<'a, str>>,
        detail: Option<Cow<'a, str>>,
        reset_at_ms: Option<i64>,
    },
}

/// How a conversation came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The model had no more calls: what it said last are its final words.
    Finished,
    /// As many steps as there may be.
    MaxSteps,
    /// A person has the next word.
    Asked,
    /// A hook ended it.
    Interrupted,
    DoomLoop,
    /// It was told to stop.
    Stopped,
    Failed,
}

#[derive(Default)]
pub(super) struct Ralphd {
    said: Option<(How, Option<Failure>)>,
}

impl Reader for Ralphd {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        match serde_json::from_str(line) {
            Ok(Line::Begun { model, .. }) if !model.is_empty() => {
                sheet.report.model = Some(model.into_owned());
            }
            Ok(Line::Reply {
                step,
                text,
                more,
                model,
                usage,
            }) => {
                sheet.say(&text);
                if more {
                    sheet.work();
                }
                let model = model.map(Cow::into_owned);
                sheet.report.model = model.clone().or(sheet.report.model.take());
                add(sheet, step, model, usage);
            }
            Ok(Line::Compacted { step, usage, .. }) => {
                sheet.work();
                let model = sheet.report.model.clone();
                add(sheet, step, model, usage);
            }
            Ok(Line::Call {
                id,
                name,
                arguments,
            }) => {
                sheet.work();
                sheet.start_call(&id, &name, &arguments, None);
            }
            Ok(Line::Result {
                id,
                text,
                ok,
                duration_ms,
                retries,
            }) => sheet.calls.end_told(
                &id,
                ToolCall {
                    result: text.into_owned(),
                    ok: Some(ok),
                    duration_ms: Some(duration_ms),
                    retries,
                    ..ToolCall::default()
                },
            ),
            Ok(Line::Remark { .. }) => sheet.work(),
            Ok(Line::Ended {
                how,
                class,
                detail,
                reset_at_ms,
            }) => {
                let detail = detail.unwrap_or_default();
                if matches!(how, How::MaxSteps | How::Interrupted | How::DoomLoop) {
                    sheet.warn(&detail);
                }
                let failure = class
                    .and_then(|class| class.parse().ok())
                    .map(|class| Failure {
                        class,
                        detail: detail.into_owned(),
                        reset_at_ms,
                    });
                self.said = Some((how, failure));
            }
            Ok(Line::Waiting { usage, .. }) => count(sheet, usage),
            Ok(Line::Begun { .. } | Line::Alive) | Err(_) => {}
        }
    }

    fn said(&mut self, ending: &Ending<'_>, sheet: &mut Sheet) -> Said {
        match self.said.take() {
            Some((How::Finished, _)) => Said::Complete,
            Some((How::Failed, Some(failure))) => Said::Failed(failure),
            Some((How::Failed, None)) => {
                Said::Failed(failed_as(FailureClass::Other, "it did not say why", ending))
            }
            Some((How::DoomLoop, _)) => {
                sheet.report.doom_loop = true;
                Said::Unfinished
            }
            Some((How::MaxSteps | How::Asked | How::Interrupted, _)) => Said::Unfinished,
            Some((How::Stopped, _)) | None => Said::Incomplete,
        }
    }
}

fn count(sheet: &mut Sheet, usage: StepUsage) {
    sheet.add_tokens(usage.input_tokens, usage.output_tokens, usage.cached_tokens);
    let written = sheet.report.cache_written_tokens.get_or_insert(0);
    *written = written.saturating_add(usage.cache_written_tokens);
}

fn add(sheet: &mut Sheet, number: u32, model: Option<String>, usage: StepUsage) {
    count(sheet, usage);
    if sheet.steps.len() == STEPS_MAX {
        sheet.steps.remove(0);
    }
    sheet.steps.push(StepReport {
        number,
        model,
        usage,
    });
}

#[cfg(test)]
mod tests;
