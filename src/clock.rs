//! The one place that reads the wall clock and makes ids.
//! Decisions must not call it: they get the time as a value.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, as all stored times are.
pub fn now_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(elapsed) => i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX),
        // A clock before 1970 is a machine without a battery: the epoch is the least wrong answer.
        Err(_) => 0,
    }
}

/// A new UUIDv7: unique everywhere, and in the order of its making within this process.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// A stored time as people read it, in UTC.
pub fn iso(at_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(timestamp) => timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => at_ms.to_string(),
    }
}
