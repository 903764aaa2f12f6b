//! The one place that reads the wall clock, knows the local time and makes ids.
//! Decisions must not call it: they get the time as a value.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// So much less time by the wall clock than by the steady one is no correction of its pace: it was set back.
const SET_BACK: Duration = Duration::from_secs(60);

/// Milliseconds since 1970, as all stored times are.
pub fn now_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(elapsed) => i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX),
        // A clock before 1970 is a machine without a battery: the epoch is the least wrong answer.
        Err(_) => 0,
    }
}

/// Notices when the wall clock is set back, by looking at it now and then.
pub struct Watchman {
    looked: Instant,
    wall_ms: i64,
}

impl Default for Watchman {
    fn default() -> Self {
        Self {
            looked: Instant::now(),
            wall_ms: now_ms(),
        }
    }
}

impl Watchman {
    /// Whether it was since the last look.
    pub fn was_set_back(&mut self) -> bool {
        let before = std::mem::take(self);
        let passed = self.looked.duration_since(before.looked);
        is_set_back(passed, self.wall_ms - before.wall_ms)
    }
}

fn is_set_back(passed: Duration, passed_by_wall_ms: i64) -> bool {
    let behind = passed.as_millis() as i64 - passed_by_wall_ms;
    behind > SET_BACK.as_millis() as i64
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

/// Local time as `2026-11-16 03:00`.
pub fn local_time(at_ms: i64) -> String {
    zoned(at_ms, "%Y-%m-%d %H:%M")
}

/// Local time to the second, for lines of a history.
pub fn local_time_exact(at_ms: i64) -> String {
    zoned(at_ms, "%Y-%m-%d %H:%M:%S")
}

/// Local time as `03:00` on the day of `now_ms`, with the date on any other.
pub fn clock_time(at_ms: i64, now_ms: i64) -> String {
    const DAY: &str = "%Y-%m-%d";
    match zoned(at_ms, DAY) == zoned(now_ms, DAY) {
        true => zoned(at_ms, "%H:%M"),
        false => local_time(at_ms),
    }
}

fn zoned(at_ms: i64, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(time) => time
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime(format)
            .to_string(),
        Err(_) => at_ms.to_string(),
    }
}

/// When the day and the month began in a zone; the epoch where the clock is beyond the calendar.
pub fn starts_of_day_and_month(now_ms: i64, zone: &jiff::tz::TimeZone) -> (i64, i64) {
    let starts = || {
        let now = jiff::Timestamp::from_millisecond(now_ms)
            .ok()?
            .to_zoned(zone.clone());
        let day = now.start_of_day().ok()?;
        let month = now.first_of_month().ok()?.start_of_day().ok()?;
        Some((
            day.timestamp().as_millisecond(),
            month.timestamp().as_millisecond(),
        ))
    };
    starts().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_is_noticed() {
        let second = Duration::from_secs(1);
        for (passed, by_wall_ms, noticed) in [
            (30 * second, 30_000, false),
            (30 * second, 29_000, false),
            (30 * second, -30_000, false),
            (30 * second, -30_001, true),
            (second, -5 * 3_600_000, true),
            (second, 5 * 3_600_000, false),
            (3600 * second, 0, true),
        ] {
            assert_eq!(
                is_set_back(passed, by_wall_ms),
                noticed,
                "{passed:?} {by_wall_ms}"
            );
        }
        assert!(!Watchman::default().was_set_back());
    }

    #[test]
    fn another_day_is_named() {
        let noon = jiff::civil::date(2026, 11, 16).at(12, 0, 0, 0);
        let noon = noon.to_zoned(jiff::tz::TimeZone::system()).unwrap();
        let now_ms = noon.timestamp().as_millisecond();
        for (hours, expected) in [
            (2, "14:00"),
            (-11, "01:00"),
            (15, "2026-11-17 03:00"),
            (-13, "2026-11-15 23:00"),
        ] {
            assert_eq!(clock_time(now_ms + hours * 3_600_000, now_ms), expected);
        }
    }

    #[test]
    fn days_and_months_begin_by_the_local_calendar() {
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(
            starts_of_day_and_month(at("2026-11-16T23:30:00Z"), &zone),
            (at("2026-11-16T22:00:00Z"), at("2026-10-31T22:00:00Z"))
        );
    }
}
