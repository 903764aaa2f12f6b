//! Waiting for a condition, never for a time: the deadline only bounds a test that has failed already.

use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(5);

/// Polls until the condition yields something, and panics with `what` when it never does.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for: {what}");
        std::thread::sleep(POLL);
    }
}
