//! How often each token may call: a bucket that fills evenly and holds one minute's worth. The time is passed in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The buckets of all tokens; there are as many as tokens, no more.
pub struct Rates {
    per_minute: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    seen: Instant,
}

impl Rates {
    pub fn new(per_minute: u32) -> Self {
        Self {
            per_minute: f64::from(per_minute),
            buckets: Mutex::default(),
        }
    }

    /// Counts a call, or says how long to wait for the next.
    pub fn count(&self, token: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full = || Bucket {
            left: self.per_minute,
            seen: now,
        };
        let bucket = buckets.entry(token.to_owned()).or_insert_with(full);
        let per_second = self.per_minute / 60.0;
        let passed = now.saturating_duration_since(bucket.seen).as_secs_f64();
        bucket.left = (bucket.left + passed * per_second).min(self.per_minute);
        bucket.seen = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_evenly() {
        let rates = Rates::new(60);
        let start = Instant::now();
        for _ in 0..60 {
            assert_eq!(rates.count("a", start), Ok(()));
        }
        assert_eq!(rates.count("a", start), Err(Duration::from_secs(1)));
        assert_eq!(rates.count("b", start), Ok(()));
        let later = start + Duration::from_secs(2);
        assert_eq!(rates.count("a", later), Ok(()));
        assert_eq!(rates.count("a", later), Ok(()));
        assert!(rates.count("a", later).is_err());
        let much_later = start + Duration::from_secs(3600);
        for _ in 0..60 {
            assert_eq!(rates.count("a", much_later), Ok(()));
        }
        assert!(rates.count("a", much_later).is_err());
    }
}
