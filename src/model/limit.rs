//! Until when an agent is shut out by a rate or usage limit. Pure: it is given the failure and the times.

use super::backoff::backoff_ms;
use super::failure::{Failure, FailureClass, Reaction};

/// The first wait for a limit whose end was not named; it doubles.
const LIMIT_BACKOFF_MS: i64 = 60_000;
const MAX_LIMIT_BACKOFF_MS: i64 = 30 * 60_000;
const MAX_JITTER_MS: i64 = 60_000;

/// A limit of an agent, and when it may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub class: FailureClass,
    pub until_ms: i64,
}

impl Limit {
    /// What a failed turn says of a limit. `streak` counts the limits in a row for which no end was named; `seed` differs from
    /// session to session, so that not all of them come back in the same second.
    pub fn after(failure: &Failure, ended_at_ms: i64, streak: u32, seed: u64) -> Option<Self> {
        if failure.class.reaction() != Reaction::Park {
            return None;
        }
        let lifted = named_end(failure.reset_at_ms, ended_at_ms).unwrap_or_else(|| {
            let pause = backoff_ms(LIMIT_BACKOFF_MS, streak).min(MAX_LIMIT_BACKOFF_MS);
            ended_at_ms.saturating_add(pause)
        });
        let jitter = jitter_ms(lifted.saturating_sub(ended_at_ms), seed);
        Some(Self {
            class: failure.class,
            until_ms: lifted.saturating_add(jitter),
        })
    }

    /// Whether it still holds.
    pub fn holds(&self, now_ms: i64) -> bool {
        now_ms < self.until_ms
    }

    /// As `usage limit of claude`.
    pub fn of(&self, agent: &str) -> String {
        format!("{} of {agent}", self.class.as_str().replace('_', " "))
    }
}

/// When a limit was said to end, unless that was over already: clocks differ, and asking again at once would never end.
pub fn named_end(reset_at_ms: Option<i64>, ended_at_ms: i64) -> Option<i64> {
    reset_at_ms.filter(|reset_at_ms| *reset_at_ms > ended_at_ms)
}

/// A little after the limit is lifted, each session at another time: a twentieth of the wait, a minute at most.
fn jitter_ms(wait_ms: i64, seed: u64) -> i64 {
    let most = (wait_ms / 20).clamp(0, MAX_JITTER_MS);
    i64::try_from(seed % (most as u64 + 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_end_when_they_said_or_later_each_time() {
        for (class, reset, streak, until) in [
            (FailureClass::UsageLimit, Some(9_000), 1, Some(9_000)),
            (FailureClass::RateLimit, None, 1, Some(65_000)),
            (FailureClass::RateLimit, Some(4_000), 1, Some(65_000)),
            (FailureClass::RateLimit, Some(5_000), 2, Some(125_000)),
            (FailureClass::RateLimit, None, 2, Some(125_000)),
            (FailureClass::RateLimit, None, 50, Some(1_805_000)),
            (FailureClass::UsageLimit, Some(i64::MAX), 1, Some(i64::MAX)),
            (FailureClass::Overloaded, Some(9_000), 1, None),
            (FailureClass::Auth, None, 1, None),
        ] {
            let failure = Failure {
                class,
                detail: String::new(),
                reset_at_ms: reset,
            };
            let limit = Limit::after(&failure, 5_000, streak, 0);
            assert_eq!(limit.map(|limit| limit.until_ms), until, "{class} {streak}");
        }
    }

    #[test]
    fn jitter_is_small_and_never_early() {
        for (wait_ms, seed) in [(0, 7), (1_000, 9), (3_600_000, u64::MAX), (-5, 3)] {
            let jitter = jitter_ms(wait_ms, seed);
            assert!((0..=MAX_JITTER_MS).contains(&jitter) && jitter <= wait_ms.max(0) / 20 + 1);
        }
    }
}
