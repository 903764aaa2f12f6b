//! A question to a role that brought no usable words: what its turn is called, and what follows. It must not ask again itself.

use super::setback::Trouble;
use super::{Consulted, Work};
use crate::agent::{Outcome, TurnEnd};
use crate::clock::now_ms;
use crate::model::backoff::backoff_ms;
use crate::model::failure::{Failure, FailureClass, Reaction};
use crate::model::iteration::Verdict;
use crate::model::limit::{Limit, named_end};
use crate::model::policy::ErrorClass;
use crate::model::session::EndReason;
use crate::model::stop::Stop;
use crate::store::iterations::Iteration;
use crate::store::tasks::Parking;
use crate::workspace::fingerprint::hash_of;

impl Work {
    /// What follows a turn without usable words.
    pub(super) fn without_words<T>(
        &self,
        verdict: Verdict,
        end: TurnEnd,
        failure: Option<Failure>,
        history: &[&Iteration],
    ) -> Consulted<T> {
        if verdict == Verdict::Cancelled && end != TurnEnd::Overspent {
            return Consulted::Stopped;
        }
        if end == TurnEnd::Overspent {
            let (reason, detail) = self.used_up().unwrap_or_else(|| {
                let detail = "a budget over all sessions was passed".to_owned();
                (EndReason::BudgetUsd, detail)
            });
            return Consulted::Spent(reason, detail);
        }
        let failure = failure.unwrap_or_else(|| silence(end));
        self.after_failure(&failure, history)
    }

    fn after_failure<T>(&self, failure: &Failure, history: &[&Iteration]) -> Consulted<T> {
        let now_ms = now_ms();
        let streak = |reaction: Reaction| {
            let alike = |past: &&&Iteration| {
                past.verdict != Some(Verdict::Unfinished)
                    && past
                        .failure_class
                        .is_some_and(|class| class.reaction() == reaction)
            };
            history.iter().rev().take_while(alike).count() as u32 + 1
        };
        let fails = |class| Consulted::Failed(Trouble::new(class, failure.detail.clone()));
        let reaction = failure.class.reaction();
        let defaults = &self.house.config.defaults;
        match reaction {
            Reaction::Park => {
                let unnamed = match named_end(failure.reset_at_ms, now_ms) {
                    Some(_) => 0,
                    None => streak(reaction),
                };
                let limit = Limit::after(failure, now_ms, unnamed, hash_of(&self.session.id));
                let until_ms = limit.map_or(now_ms, |limit| limit.until_ms);
                later(until_ms, &failure.detail)
            }
            Reaction::Retry if streak(reaction) <= defaults.transient_retries => {
                let base_ms = defaults.transient_backoff.as_millis();
                later(
                    now_ms + backoff_ms(base_ms, streak(reaction)),
                    &failure.detail,
                )
            }
            Reaction::Retry => fails(ErrorClass::Other),
            Reaction::Stop => fails(ErrorClass::Permission),
            Reaction::NextIteration => fails(match failure.class {
                FailureClass::Timeout | FailureClass::Silence => ErrorClass::Timeout,
                _ => ErrorClass::Other,
            }),
        }
    }
}

fn later<T>(at_ms: i64, reason: &str) -> Consulted<T> {
    Consulted::Later(Parking::Until {
        at_ms,
        reason: reason.to_owned(),
    })
}

/// Why an agent that tells nothing of a failure has not spoken.
pub(super) fn silence(end: TurnEnd) -> Failure {
    Failure {
        class: match end {
            TurnEnd::TimedOut => FailureClass::Timeout,
            TurnEnd::Lost => FailureClass::Crash,
            _ => FailureClass::Other,
        },
        detail: "the agent said nothing".to_owned(),
        reset_at_ms: None,
    }
}

pub(super) fn refused<T>(stop: Stop) -> Consulted<T> {
    match stop {
        Stop::Spent(reason, detail) => Consulted::Spent(reason, detail),
        Stop::Wait { until_ms, reason } => later(until_ms, &reason),
        other => Consulted::Failed(Trouble::new(ErrorClass::Other, format!("{other:?}"))),
    }
}

/// Whether the agent spoke, or else what its turn is to be called.
pub(super) fn said(outcome: &Outcome) -> Result<(), Verdict> {
    let silent = outcome.final_text.trim().is_empty();
    match (outcome.end, &outcome.failure) {
        (TurnEnd::Stopped | TurnEnd::Overspent, _) => Err(Verdict::Cancelled),
        (TurnEnd::Lost, _) => Err(Verdict::Lost),
        (TurnEnd::DoomLoop, _) => Err(Verdict::DoomLoop),
        (_, Some(failure)) => Err(match failure.class.reaction() {
            Reaction::Park => Verdict::RateLimited,
            _ => Verdict::Failed,
        }),
        (TurnEnd::TimedOut, None) => Err(Verdict::TimedOut),
        (TurnEnd::Finished, None) if silent => Err(Verdict::Empty),
        (TurnEnd::Finished, None) => Ok(()),
    }
}
