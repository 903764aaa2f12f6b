//! A window of the day, as `22:00-06:00`: when agents may start. Pure: the time and its zone are passed in.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::str::FromStr;

/// From one time of the day to another, over midnight where the second is the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    from: Time,
    to: Time,
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a window of the day; write it as 22:00-06:00");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let time = |part: &str| {
            let (hour, minute) = part.trim().split_once(':')?;
            Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
        };
        let window = Window {
            from: time(from).ok_or_else(wrong)?,
            to: time(to).ok_or_else(wrong)?,
        };
        match window.from == window.to {
            true => Err(format!(
                "'{text}' is empty; leave it out to allow the whole day"
            )),
            false => Ok(window),
        }
    }
}

impl std::fmt::Display for Window {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}-{}",
            self.from.strftime("%H:%M"),
            self.to.strftime("%H:%M")
        )
    }
}

impl Window {
    /// When the window opens next; nothing while it is open.
    pub fn opens_at_ms(&self, now_ms: i64, zone: &TimeZone) -> Option<i64> {
        let now = Timestamp::from_millisecond(now_ms)
            .ok()?
            .to_zoned(zone.clone());
        let time = now.time();
        let open = match self.from < self.to {
            true => self.from <= time && time < self.to,
            false => self.from <= time || time < self.to,
        };
        if open {
            return None;
        }
        let day = match time < self.from {
            true => now.date(),
            false => now.date().checked_add(1.day()).ok()?,
        };
        // A time that the clock skips in spring comes right after the gap.
        let opens = day.to_datetime(self.from).to_zoned(zone.clone()).ok()?;
        Some(opens.timestamp().as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn open_and_opening() {
        for (window, now, opens) in [
            ("22:00-06:00", "2026-11-16T23:00:00Z", None),
            ("22:00-06:00", "2026-11-16T05:59:59Z", None),
            (
                "22:00-06:00",
                "2026-11-16T06:00:00Z",
                Some("2026-11-16T22:00:00Z"),
            ),
            ("09:00-17:30", "2026-11-16T09:00:00Z", None),
            (
                "09:00-17:30",
                "2026-11-16T17:30:00Z",
                Some("2026-11-17T09:00:00Z"),
            ),
            (
                "09:00-17:30",
                "2026-11-16T03:00:00Z",
                Some("2026-11-16T09:00:00Z"),
            ),
        ] {
            let parsed: Window = window.parse().unwrap();
            assert_eq!(parsed.to_string(), window);
            assert_eq!(
                parsed.opens_at_ms(at(now), &TimeZone::UTC),
                opens.map(at),
                "{window} {now}"
            );
        }
    }

    #[test]
    fn what_is_no_window() {
        for text in [
            "",
            "22:00",
            "22-06",
            "25:00-06:00",
            "06:00-06:00",
            "a:b-c:d",
        ] {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }
}
