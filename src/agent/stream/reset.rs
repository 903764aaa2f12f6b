//! When a limit ends, out of the words of a tool. It must not read a clock: the time and the zone of the tool are given.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

const MINUTE_MS: i64 = 60_000;
/// A wait longer than this is not believed.
const WAIT_MAX_MS: f64 = 40.0 * 86_400_000.0;

const WAIT_SIGNS: &[&str] = &[
    "try again in",
    "retry in",
    "retry after",
    "retry-after",
    "retrydelay",
    "resets in",
    "reset in",
    "reset after",
];
const CLOCK_SIGNS: &[&str] = &["try again at", "available again at", "reset at", "resets"];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The time a text names, after now: «resets 2:52am (UTC)», «try again at Nov 17th, 2026 2:57 AM», «try again in 3 days 4 hours».
pub(in crate::agent) fn reset_from_text(text: &str, now_ms: i64, zone: &TimeZone) -> Option<i64> {
    let text = text.to_lowercase();
    let wait = after_any(&text, WAIT_SIGNS)
        .find_map(wait_ms)
        .map(|wait| now_ms.saturating_add(wait));
    wait.or_else(|| epoch_ms(&text)).or_else(|| {
        let now = Timestamp::from_millisecond(now_ms).ok()?;
        after_any(&text, CLOCK_SIGNS).find_map(|rest| clock_ms(rest, now, zone))
    })
}

fn after_any<'a>(text: &'a str, signs: &'a [&str]) -> impl Iterator<Item = &'a str> {
    signs.iter().filter_map(|sign| {
        let rest = &text[text.find(sign)? + sign.len()..];
        Some(rest.trim_start_matches([' ', ':', '"', '=', '\\']))
    })
}

/// «limit reached|1794797551»: seconds since 1970 after a bar.
fn epoch_ms(text: &str) -> Option<i64> {
    let rest = &text[text.find("limit reached|")? + "limit reached|".len()..];
    let digits: &str = &rest[..rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len())];
    digits.parse::<i64>().ok()?.checked_mul(1_000)
}

/// «3 days 4 hours 12 minutes», «1m30s», «38.5s», «30»: a bare number is seconds.
pub(in crate::agent) fn wait_ms(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut total = 0.0;
    let mut found = false;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = rest[digits..].trim_start_matches(' ');
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        match unit_ms(&after[..letters]) {
            Some(unit) => total += number * unit,
            None if !found => {
                return (number > 0.0).then_some((number * 1_000.0).min(WAIT_MAX_MS) as i64);
            }
            None => break,
        }
        found = true;
        rest = &after[letters..];
    }
    (found && total > 0.0 && total <= WAIT_MAX_MS).then_some(total as i64)
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
        "m" | "min" | "mins" | "minute" | "minutes" => 6e4,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3.6e6,
        "d" | "day" | "days" => 8.64e7,
        "w" | "week" | "weeks" => 6.048e8,
        _ => return None,
    })
}

#[derive(Default)]
struct Clock {
    month: Option<i8>,
    day: Option<i8>,
    year: Option<i16>,
    time: Option<(i8, i8)>,
    zone: Option<TimeZone>,
}

/// A clock time, perhaps with a date and a zone. Tools leave the seconds out, so the end of the named minute is meant: at its
/// beginning the limit may still hold, and within it the time is not yet tomorrow's.
fn clock_ms(text: &str, now: Timestamp, zone: &TimeZone) -> Option<i64> {
    let first = text
        .split_whitespace()
        .next()?
        .trim_end_matches(['.', ',', ')']);
    if let Ok(stamp) = first.to_uppercase().parse::<Timestamp>() {
        return (stamp > now).then(|| stamp.as_millisecond());
    }
    let clock = read_clock(text);
    let (hour, minute) = clock.time?;
    let now = now.to_zoned(clock.zone.clone().unwrap_or_else(|| zone.clone()));
    let time = Time::new(hour, minute, 0, 0).ok()?;
    let ends_ms = |date: Date| -> Option<i64> {
        let at: Zoned = date
            .to_datetime(time)
            .to_zoned(now.time_zone().clone())
            .ok()?;
        Some(at.timestamp().as_millisecond() + MINUTE_MS)
    };
    let now_ms = now.timestamp().as_millisecond();
    let candidates = match (clock.month, clock.day) {
        (Some(month), Some(day)) => {
            let years = clock
                .year
                .map_or(vec![now.year(), now.year() + 1], |year| vec![year]);
            years
                .into_iter()
                .filter_map(|year| Date::new(year, month, day).ok())
                .collect()
        }
        (None, None) => vec![now.date(), now.date().checked_add(1.day()).ok()?],
        _ => return None,
    };
    candidates
        .into_iter()
        .filter_map(ends_ms)
        .find(|ms| *ms > now_ms)
}

fn read_clock(text: &str) -> Clock {
    let mut clock = Clock::default();
    for word in text.split_whitespace().take(8) {
        let bare = word.trim_end_matches([',', '.', ';', '!']);
        if let Some(name) = bare.strip_prefix('(') {
            let name = name.trim_end_matches([')', '.']);
            clock.zone = if name == "utc" {
                Some(TimeZone::UTC)
            } else {
                TimeZone::get(name).ok()
            };
            break;
        }
        let digits = bare
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(bare.len());
        let (number, rest) = (bare[..digits].parse::<i16>().ok(), &bare[digits..]);
        match (number, rest) {
            (None, "at" | "on") => {}
            (None, "am" | "pm") => {
                clock.time = clock
                    .time
                    .map(|(hour, minute)| (half_day(hour, rest), minute))
            }
            (None, month) => match MONTHS.iter().position(|name| month.starts_with(name)) {
                Some(at) => clock.month = Some(at as i8 + 1),
                None => break,
            },
            (Some(hour), "am" | "pm") if hour <= 12 => {
                clock.time = Some((half_day(hour as i8, rest), 0))
            }
            (Some(hour), rest) if rest.starts_with(':') && hour < 24 => {
                match minutes(hour as i8, &rest[1..]) {
                    Some(time) => clock.time = Some(time),
                    None => break,
                }
            }
            (Some(day @ 1..=31), "" | "st" | "nd" | "rd" | "th") => clock.day = Some(day as i8),
            (Some(year @ 2000..=9998), "") => clock.year = Some(year),
            _ => break,
        }
    }
    clock
}

fn minutes(hour: i8, text: &str) -> Option<(i8, i8)> {
    let minute: i8 = text.get(..2)?.parse().ok().filter(|minute| *minute < 60)?;
    match &text[2..] {
        "" => Some((hour, minute)),
        half @ ("am" | "pm") => Some((half_day(hour, half), minute)),
        _ => None,
    }
}

fn half_day(hour: i8, half: &str) -> i8 {
    hour % 12 + if half == "pm" { 12 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().expect("a time").as_millisecond()
    }

    #[test]
    fn words_become_times() {
        let now = "2026-11-16T01:52:31Z";
        for (text, zone, expected) in [
            (
                "You've hit your limit · resets 2:52am (UTC)",
                0,
                Some("2026-11-16T02:53:00Z"),
            ),
            ("resets 2:52am (UTC)", 5, Some("2026-11-16T02:53:00Z")),
            ("resets 3pm (UTC)", 0, Some("2026-11-16T15:01:00Z")),
            ("resets Nov 17, 3pm (UTC)", 0, Some("2026-11-17T15:01:00Z")),
            (
                "resets Jan 2 at 12am (UTC)",
                0,
                Some("2027-01-02T00:01:00Z"),
            ),
            ("or try again at 2:57 AM.", 0, Some("2026-11-16T02:58:00Z")),
            ("or try again at 2:57 AM.", 2, Some("2026-11-17T00:58:00Z")),
            ("or try again at 2:57 AM.", -5, Some("2026-11-16T07:58:00Z")),
            ("Try again at 1:52 AM.", 0, Some("2026-11-16T01:53:00Z")),
            ("Try again at 1:51 AM.", 0, Some("2026-11-17T01:52:00Z")),
            ("try again at 14:30", 0, Some("2026-11-16T14:31:00Z")),
            (
                "try again at Nov 17th, 2026 2:57 AM.",
                0,
                Some("2026-11-17T02:58:00Z"),
            ),
            ("try again at Nov 1st, 2026 2:57 AM.", 0, None),
            (
                "try again at 2026-11-16T03:00:00Z.",
                0,
                Some("2026-11-16T03:00:00Z"),
            ),
            (
                "try again in 3 days 4 hours 12 minutes.",
                0,
                Some("2026-11-19T06:04:31Z"),
            ),
            ("Please try again in 1s.", 0, Some("2026-11-16T01:52:32Z")),
            ("try again in 1m30.5s", 0, Some("2026-11-16T01:54:01.5Z")),
            ("Retry-After: 30", 0, Some("2026-11-16T01:53:01Z")),
            (r#""retryDelay":"38s""#, 0, Some("2026-11-16T01:53:09Z")),
            (
                "usage limit reached|1794797551",
                0,
                Some("2026-11-16T02:52:31Z"),
            ),
            ("try again in a moment", 0, None),
            ("try again later", 0, None),
            ("try again at noon", 0, None),
            ("resets soon", 0, None),
            ("resets 99:99am", 0, None),
            ("", 0, None),
        ] {
            let zone = TimeZone::fixed(jiff::tz::offset(zone));
            assert_eq!(
                reset_from_text(text, at(now), &zone),
                expected.map(at),
                "{text}"
            );
        }
    }
}
