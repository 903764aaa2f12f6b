//! How long to wait before something that failed is tried again. Pure: it is told what was waited before and what was asked for.

/// The pause before the next try: the base, doubled with each failure in a row.
pub fn backoff_ms(base_ms: i64, streak: u32) -> i64 {
    let doublings = streak.saturating_sub(1).min(62);
    base_ms.saturating_mul(1 << doublings)
}

/// How often and how long something is tried again on the spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The first wait; each one is at least twice the one before.
    pub base_ms: i64,
    /// Tries after the first.
    pub retries: u32,
    /// A longer wait is somebody else's business.
    pub max_wait_ms: i64,
}

/// The waits that were made so far for one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    pub times: u32,
    pub last_ms: i64,
}

impl Patience {
    /// The next wait, never shorter than what was asked for; nothing when patience is at its end.
    pub fn next(&self, waited: Waited, asked_ms: Option<i64>) -> Option<Waited> {
        let doubled = waited.last_ms.saturating_mul(2);
        let wait_ms = self.base_ms.max(doubled).max(asked_ms.unwrap_or(0)).max(0);
        (waited.times < self.retries && wait_ms <= self.max_wait_ms).then(|| Waited {
            times: waited.times + 1,
            last_ms: wait_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn backoff_doubles_and_never_overflows() {
        for streak in 1..70 {
            let (one, next) = (backoff_ms(1000, streak), backoff_ms(1000, streak + 1));
            assert!(next == one.saturating_mul(2), "{streak}: {one}, {next}");
        }
        assert_eq!(backoff_ms(1000, 0), 1000);
        assert_eq!(backoff_ms(1000, 1), 1000);
        assert_eq!(backoff_ms(1000, 3), 4000);
        assert_eq!(backoff_ms(i64::MAX, 60), i64::MAX);
    }

    #[test]
    fn waits_grow_until_patience_ends() {
        let patience = Patience {
            base_ms: 500,
            retries: 3,
            max_wait_ms: 10_000,
        };
        for (times, last_ms, asked_ms, expected) in [
            (0, 0, None, Some(500)),
            (1, 500, None, Some(1_000)),
            (1, 500, Some(200), Some(1_000)),
            (1, 500, Some(7_000), Some(7_000)),
            (2, 7_000, Some(100), None),
            (0, 0, Some(10_000), Some(10_000)),
            (0, 0, Some(10_001), None),
            (0, 0, Some(-5), Some(500)),
            (3, 500, None, None),
        ] {
            let waited = Waited { times, last_ms };
            let next = patience.next(waited, asked_ms);
            assert_eq!(next.map(|next| next.last_ms), expected, "{waited:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Property 8: each wait is at least twice the one before it, and never less than what was asked for.
        #[test]
        fn each_wait_is_at_least_twice_the_one_before(
            base_ms in 1..100_000_i64,
            retries in 0..40_u32,
            max_wait_ms in 0..i64::MAX,
            asked in prop::collection::vec(prop::option::of(-10..1_000_000_i64), 0..50),
        ) {
            let patience = Patience { base_ms, retries, max_wait_ms };
            let mut waited = Waited::default();
            for asked_ms in asked {
                let Some(next) = patience.next(waited, asked_ms) else { break };
                let least = if waited.times == 0 { base_ms } else { waited.last_ms.saturating_mul(2) };
                prop_assert!(next.last_ms >= least);
                prop_assert!(next.last_ms >= asked_ms.unwrap_or(0));
                prop_assert!(next.last_ms <= max_wait_ms);
                prop_assert_eq!(next.times, waited.times + 1);
                waited = next;
            }
            prop_assert!(waited.times <= retries);
        }
    }
}
