//! Why does the loop stop? One pure function with a closed answer, asked before every iteration.
//! It must see everything it needs in `Standing`, all of it from rows, so that the answer is the same after a crash.

use super::failure::{Failure, Reaction};
use super::iteration::Verdict;
use super::session::{EndReason, Verified};

/// Turns in a row that vanished with their shim: whatever it is, it will go on.
const MAX_LOST_TURNS: u32 = 3;

/// The first wait for a limit whose end was not named; it doubles.
const LIMIT_BACKOFF_MS: i64 = 60_000;
const MAX_LIMIT_BACKOFF_MS: i64 = 30 * 60_000;
const MAX_JITTER_MS: i64 = 60_000;

/// How the last iteration ended, as far as it matters for going on.
#[derive(Clone, Debug, Default)]
pub struct LastTurn {
    pub verdict: Option<Verdict>,
    /// null: there is nothing to verify with.
    pub verify_passed: Option<bool>,
    /// Protected files that the agent changed.
    pub tampered: Vec<String>,
    pub failure: Option<Failure>,
    /// The agent asked, and the question has not been put to anybody yet.
    pub asks: bool,
    pub ended_at_ms: i64,
}

/// A limit and how much of it is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge<N> {
    pub used: N,
    pub limit: Option<N>,
    /// What the next iteration is known to take at least.
    pub next: N,
}

impl<N: PartialOrd + Copy + Default + std::ops::Add<Output = N>> Gauge<N> {
    fn is_spent(&self) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        self.used >= limit || self.used + self.next > limit
    }
}

/// Everything the decision looks at.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    pub last: LastTurn,
    pub cancel: bool,
    pub pause: bool,
    pub shutdown: bool,
    /// A person has said something that no iteration has read: it is not done before that.
    pub unread_guidance: bool,
    pub iterations: Gauge<i64>,
    pub wall_ms: Gauge<i64>,
    pub usd: Gauge<f64>,
    pub tokens: Gauge<i64>,
    pub tool_calls: Gauge<i64>,
    /// Whose failures these are, for the words.
    pub agent: String,
    /// Failures in a row that were worth another try.
    pub transient_streak: u32,
    pub transient_retries: u32,
    pub transient_backoff_ms: i64,
    /// Limits in a row for which no end was named.
    pub limit_streak: u32,
    /// A number that differs from session to session, so that not all of them come back in the same second.
    pub jitter_seed: u64,
    /// Turns in a row that vanished with their shim.
    pub lost_streak: u32,
    /// Counted iterations in a row that changed nothing.
    pub stagnant_streak: i64,
    pub stagnation_threshold: i64,
    /// Whether a person must look at changed protected files before the promise is believed.
    pub tampering_needs_a_person: bool,
    /// What a person said to the question about them: true accepts.
    pub tampering_accepted: Option<bool>,
    /// Agents may not start before this time, and why.
    pub closed_until: Option<(i64, String)>,
    pub now_ms: i64,
}

/// Why the loop stops.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The promise is kept, and as far as it can be checked it is true.
    Done(Verified),
    Cancelled,
    Limit(EndReason),
    /// The agent cannot go on.
    Failed(String),
    /// Whoever supervises it dies of it.
    Poison(String),
    Stagnated,
    /// Protected files were changed: a person decides.
    AskAboutTampering(Vec<String>),
    /// The agent asked something.
    Ask,
    Paused,
    /// The daemon goes down; the task goes back into the queue.
    Shutdown,
    /// A limit over all sessions leaves no room for this one.
    Spent(EndReason, String),
    /// Not before this time: a failure that may pass by itself, or a time at which agents may not start.
    Wait {
        until_ms: i64,
        reason: String,
    },
}

/// The first reason that holds, in order: the promise, then a person's word, then the caps, then the rest.
pub fn why_stop(standing: &Standing) -> Option<Stop> {
    promise(standing)
        .or_else(|| standing.cancel.then_some(Stop::Cancelled))
        .or_else(|| cap(standing).map(Stop::Limit))
        .or_else(|| failure(standing))
        .or_else(|| poison(standing))
        .or_else(|| stagnation(standing))
        .or_else(|| standing.last.asks.then_some(Stop::Ask))
        .or_else(|| standing.pause.then_some(Stop::Paused))
        .or_else(|| standing.shutdown.then_some(Stop::Shutdown))
        .or_else(|| backoff(standing))
        .or_else(|| closed(standing))
}

fn promise(standing: &Standing) -> Option<Stop> {
    let last = &standing.last;
    if last.verdict != Some(Verdict::Promised) || standing.unread_guidance {
        return None;
    }
    match last.verify_passed {
        Some(false) => None,
        None => Some(Stop::Done(Verified::Claimed)),
        Some(true) if last.tampered.is_empty() => Some(Stop::Done(Verified::Verified)),
        Some(true) => match standing.tampering_accepted {
            _ if !standing.tampering_needs_a_person => Some(Stop::Done(Verified::Tampered)),
            Some(true) => Some(Stop::Done(Verified::Tampered)),
            Some(false) => None,
            None => Some(Stop::AskAboutTampering(last.tampered.clone())),
        },
    }
}

fn cap(standing: &Standing) -> Option<EndReason> {
    let caps = [
        (standing.iterations.is_spent(), EndReason::MaxIterations),
        (standing.usd.is_spent(), EndReason::BudgetUsd),
        (standing.tokens.is_spent(), EndReason::BudgetTokens),
        (standing.tool_calls.is_spent(), EndReason::BudgetToolCalls),
        (standing.wall_ms.is_spent(), EndReason::BudgetWall),
    ];
    caps.into_iter()
        .find(|(spent, _)| *spent)
        .map(|(_, reason)| reason)
}

fn failure(standing: &Standing) -> Option<Stop> {
    let Failure { class, detail, .. } = standing.last.failure.as_ref()?;
    let tries = standing.transient_streak;
    match class.reaction() {
        Reaction::Stop => Some(Stop::Failed(detail.clone())),
        Reaction::Retry if tries > standing.transient_retries => {
            Some(Stop::Failed(format!("{detail} ({tries} times in a row)")))
        }
        Reaction::Retry | Reaction::Park | Reaction::NextIteration => None,
    }
}

fn poison(standing: &Standing) -> Option<Stop> {
    let lost = standing.lost_streak;
    (lost >= MAX_LOST_TURNS).then(|| {
        Stop::Poison(format!(
            "{lost} turns in a row vanished with their shim, which died"
        ))
    })
}

fn stagnation(standing: &Standing) -> Option<Stop> {
    (standing.stagnant_streak >= standing.stagnation_threshold).then_some(Stop::Stagnated)
}

/// A passing failure is waited out: a limit until it is lifted, anything else a little longer each time.
fn backoff(standing: &Standing) -> Option<Stop> {
    let Failure {
        class,
        detail,
        reset_at_ms,
    } = standing.last.failure.as_ref()?;
    let since = standing.last.ended_at_ms;
    let (until_ms, reason) = match class.reaction() {
        Reaction::Retry => {
            let pause = backoff_ms(standing.transient_backoff_ms, standing.transient_streak);
            (since.saturating_add(pause), detail.clone())
        }
        Reaction::Park => {
            let named = reset_at_ms.unwrap_or_else(|| {
                let pause =
                    backoff_ms(LIMIT_BACKOFF_MS, standing.limit_streak).min(MAX_LIMIT_BACKOFF_MS);
                since.saturating_add(pause)
            });
            let kind = class.as_str().replace('_', " ");
            let lifted = named.saturating_add(jitter_ms(named - since, standing.jitter_seed));
            (lifted, format!("{kind} of {}", standing.agent))
        }
        Reaction::Stop | Reaction::NextIteration => return None,
    };
    (standing.now_ms < until_ms).then_some(Stop::Wait { until_ms, reason })
}

/// A little after the limit is lifted, each session at another time: a twentieth of the wait, a minute at most.
fn jitter_ms(wait_ms: i64, seed: u64) -> i64 {
    let most = (wait_ms / 20).clamp(0, MAX_JITTER_MS);
    i64::try_from(seed % (most as u64 + 1)).unwrap_or(0)
}

fn closed(standing: &Standing) -> Option<Stop> {
    let (until_ms, reason) = standing.closed_until.clone()?;
    Some(Stop::Wait { until_ms, reason })
}

/// The pause before the next try: the base, doubled with each failure in a row.
pub fn backoff_ms(base_ms: i64, streak: u32) -> i64 {
    let doublings = streak.saturating_sub(1).min(30);
    base_ms.saturating_mul(1 << doublings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::failure::FailureClass;

    fn standing() -> Standing {
        Standing {
            iterations: Gauge {
                used: 1,
                limit: Some(10),
                next: 1,
            },
            transient_retries: 3,
            transient_backoff_ms: 1000,
            stagnation_threshold: 3,
            ..Standing::default()
        }
    }

    fn promised(verify_passed: Option<bool>) -> LastTurn {
        LastTurn {
            verdict: Some(Verdict::Promised),
            verify_passed,
            ..LastTurn::default()
        }
    }

    fn failed(class: FailureClass, reset_at_ms: Option<i64>) -> LastTurn {
        let failure = Some(Failure {
            class,
            detail: "exit 1".to_owned(),
            reset_at_ms,
        });
        LastTurn {
            verdict: Some(Verdict::Failed),
            failure,
            ended_at_ms: 5000,
            ..LastTurn::default()
        }
    }

    #[test]
    fn nothing_stops_a_healthy_loop() {
        assert_eq!(why_stop(&standing()), None);
    }

    #[test]
    fn turns_that_vanish_do_not_go_on_for_ever() {
        for (lost_streak, stops) in [(0, false), (2, false), (3, true), (4, true)] {
            let standing = Standing {
                lost_streak,
                ..standing()
            };
            let poisoned = matches!(why_stop(&standing), Some(Stop::Poison(_)));
            assert_eq!(poisoned, stops, "{lost_streak}");
        }
    }

    #[test]
    fn the_promise_comes_before_everything() {
        let full = Gauge {
            used: 10,
            limit: Some(10),
            next: 1,
        };
        let on_the_last = Standing {
            last: promised(None),
            iterations: full,
            cancel: true,
            stagnant_streak: 9,
            ..standing()
        };
        assert_eq!(why_stop(&on_the_last), Some(Stop::Done(Verified::Claimed)));
        let verified = Standing {
            last: promised(Some(true)),
            iterations: full,
            ..standing()
        };
        assert_eq!(why_stop(&verified), Some(Stop::Done(Verified::Verified)));
        let refuted = Standing {
            last: promised(Some(false)),
            iterations: full,
            ..standing()
        };
        assert_eq!(
            why_stop(&refuted),
            Some(Stop::Limit(EndReason::MaxIterations))
        );
        let refuted_early = Standing {
            last: promised(Some(false)),
            ..standing()
        };
        assert_eq!(why_stop(&refuted_early), None);
    }

    #[test]
    fn an_unread_word_holds_up_the_end() {
        let told = Standing {
            last: promised(Some(true)),
            unread_guidance: true,
            ..standing()
        };
        assert_eq!(why_stop(&told), None);
    }

    #[test]
    fn tampering() {
        let last = LastTurn {
            tampered: vec!["tests/a".to_owned()],
            ..promised(Some(true))
        };
        for (needs, accepted, expected) in [
            (false, None, Some(Stop::Done(Verified::Tampered))),
            (
                true,
                None,
                Some(Stop::AskAboutTampering(vec!["tests/a".to_owned()])),
            ),
            (true, Some(true), Some(Stop::Done(Verified::Tampered))),
            (true, Some(false), None),
        ] {
            let standing = Standing {
                last: last.clone(),
                tampering_needs_a_person: needs,
                tampering_accepted: accepted,
                ..standing()
            };
            assert_eq!(why_stop(&standing), expected);
        }
    }

    #[test]
    fn caps() {
        let spent = Gauge {
            used: 5,
            limit: Some(5),
            next: 0,
        };
        for (standing, reason) in [
            (
                Standing {
                    iterations: Gauge {
                        used: 10,
                        limit: Some(10),
                        next: 1,
                    },
                    ..standing()
                },
                EndReason::MaxIterations,
            ),
            (
                Standing {
                    usd: Gauge {
                        used: 2.0,
                        limit: Some(2.5),
                        next: 0.6,
                    },
                    ..standing()
                },
                EndReason::BudgetUsd,
            ),
            (
                Standing {
                    tokens: spent,
                    ..standing()
                },
                EndReason::BudgetTokens,
            ),
            (
                Standing {
                    tool_calls: spent,
                    ..standing()
                },
                EndReason::BudgetToolCalls,
            ),
            (
                Standing {
                    wall_ms: spent,
                    ..standing()
                },
                EndReason::BudgetWall,
            ),
        ] {
            assert_eq!(why_stop(&standing), Some(Stop::Limit(reason)));
        }
    }

    #[test]
    fn failures_wait_then_end() {
        for (class, streak, now_ms, expected) in [
            (
                FailureClass::Auth,
                1,
                9000,
                Some(Stop::Failed("exit 1".to_owned())),
            ),
            (
                FailureClass::Crash,
                1,
                5500,
                Some(Stop::Wait {
                    until_ms: 6000,
                    reason: "exit 1".to_owned(),
                }),
            ),
            (FailureClass::Crash, 1, 6000, None),
            (
                FailureClass::Crash,
                3,
                6000,
                Some(Stop::Wait {
                    until_ms: 9000,
                    reason: "exit 1".to_owned(),
                }),
            ),
            (
                FailureClass::Crash,
                4,
                6000,
                Some(Stop::Failed("exit 1 (4 times in a row)".to_owned())),
            ),
        ] {
            let standing = Standing {
                last: failed(class, None),
                transient_streak: streak,
                now_ms,
                ..standing()
            };
            assert_eq!(why_stop(&standing), expected, "{class} {streak} {now_ms}");
        }
    }

    #[test]
    fn limits_are_waited_out() {
        for (class, reset, streak, now_ms, until) in [
            (FailureClass::UsageLimit, Some(9_000), 1, 6_000, Some(9_000)),
            (FailureClass::UsageLimit, Some(9_000), 1, 9_000, None),
            (FailureClass::RateLimit, None, 1, 6_000, Some(65_000)),
            (FailureClass::RateLimit, None, 2, 6_000, Some(125_000)),
            (FailureClass::RateLimit, None, 50, 6_000, Some(1_805_000)),
        ] {
            let standing = Standing {
                last: failed(class, reset),
                agent: "claude".to_owned(),
                limit_streak: streak,
                now_ms,
                ..standing()
            };
            let reason = format!("{} of claude", class.as_str().replace('_', " "));
            let expected = until.map(|until_ms| Stop::Wait { until_ms, reason });
            assert_eq!(why_stop(&standing), expected, "{class} {streak} {now_ms}");
        }
    }

    #[test]
    fn jitter_is_small_and_never_early() {
        for (wait_ms, seed) in [(0, 7), (1_000, 9), (3_600_000, u64::MAX), (-5, 3)] {
            let jitter = jitter_ms(wait_ms, seed);
            assert!((0..=MAX_JITTER_MS).contains(&jitter) && jitter <= wait_ms.max(0) / 20 + 1);
        }
    }

    #[test]
    fn people_and_the_daemon() {
        let asks = LastTurn {
            asks: true,
            ..LastTurn::default()
        };
        for (standing, expected) in [
            (
                Standing {
                    cancel: true,
                    pause: true,
                    ..standing()
                },
                Stop::Cancelled,
            ),
            (
                Standing {
                    last: asks.clone(),
                    pause: true,
                    ..standing()
                },
                Stop::Ask,
            ),
            (
                Standing {
                    pause: true,
                    shutdown: true,
                    ..standing()
                },
                Stop::Paused,
            ),
            (
                Standing {
                    shutdown: true,
                    ..standing()
                },
                Stop::Shutdown,
            ),
            (
                Standing {
                    stagnant_streak: 3,
                    ..standing()
                },
                Stop::Stagnated,
            ),
        ] {
            assert_eq!(why_stop(&standing), Some(expected));
        }
    }

    #[test]
    fn backoff_doubles_and_never_overflows() {
        for streak in 1..40 {
            assert!(backoff_ms(1000, streak) <= backoff_ms(1000, streak + 1));
        }
        assert_eq!(backoff_ms(1000, 1), 1000);
        assert_eq!(backoff_ms(1000, 3), 4000);
        assert_eq!(backoff_ms(i64::MAX, 60), i64::MAX);
    }
}
