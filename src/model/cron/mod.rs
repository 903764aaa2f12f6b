//! Cron expressions: what they say, and which moments they mean in a time zone. Pure: the time and the zone are passed in.
//!
//! The words are those of crontab(5): five fields (minute, hour, day of month, month, day of week), or six with the second first;
//! `*`, numbers, ranges, lists, steps, names of months and days in any case, Sunday as 0 or 7, `@daily` and its kin. Where both days are
//! restricted (neither field begins with `*`), either is enough. `5/15` is from 5 on in steps of 15. A range that goes backwards is refused,
//! as cronie does it, for it is mostly a slip; only `SUN` may end one, as 7. So is what can never come, as the 30th of February.
//!
//! This is a small parser of our own over jiff's civil time. The `cron` crate counts weekdays from 1, wants seconds and demands both days;
//! `croner` has the right words. But both are built on chrono, a second calendar with a second time zone database beside jiff, and what is
//! hard here, the changes of the clock, would still have to be ours.
//!
//! When the clock changes:
//! - A time of the day that is skipped comes right after the gap, all of them together as one run; one that is repeated comes in its first
//!   pass only. So a nightly run is neither lost nor doubled.
//! - What is by nature an interval goes on in real time: in both passes of a repeated hour, and not in a gap. That is an expression whose
//!   hour begins with `*`, or names all hours. cronie also counts those whose minute begins with `*`; but then `*/30 2 * * *`, which runs by
//!   night, would be lost in spring and doubled in autumn.

mod civil;
mod field;
mod moment;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use field::{DAY, Field, HOUR, MINUTE, MONTH, SECOND, WEEKDAY};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt;
use std::str::FromStr;

/// Nothing that a person writes is longer.
const MAX_CHARACTERS: usize = 500;
const FORM: &str = "write 5 fields (minute, hour, day of month, month, day of week) such as \"0 3 * * *\", 6 with the second first, or @daily";
/// What stands for the usual ones.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron expression, each field as a set of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether one of the two days is enough.
    either_day: bool,
    /// Whether it goes on in real time when the clock changes.
    interval: bool,
}

/// Why a text is no cron expression; the text says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronError(String);

impl fmt::Display for CronError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for CronError {}

impl fmt::Display for Expression {
    /// As it was written.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Expression {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        if text.len() > MAX_CHARACTERS {
            return Err(CronError(format!(
                "must have at most {MAX_CHARACTERS} characters"
            )));
        }
        let written: Vec<&str> = text.split_whitespace().collect();
        let spelled = match written.as_slice() {
            [nickname] if nickname.starts_with('@') => spelled_out(nickname)?,
            _ => written.join(" "),
        };
        let fields: Vec<&str> = spelled.split(' ').filter(|part| !part.is_empty()).collect();
        let (second, rest) = match fields.as_slice() {
            [second, rest @ ..] if rest.len() == 5 => (*second, rest),
            rest => ("0", rest),
        };
        let [minute, hour, day, month, weekday] = rest else {
            return Err(CronError(count_in_words(fields.len())));
        };
        let set = |field: &Field, text: &str| field.parse(text).map_err(CronError);
        let hours = set(&HOUR, hour)?;
        let expression = Self {
            text: written.join(" "),
            seconds: set(&SECOND, second)?,
            minutes: set(&MINUTE, minute)?,
            hours,
            days: set(&DAY, day)?,
            months: set(&MONTH, month)?,
            weekdays: set(&WEEKDAY, weekday)?,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
            interval: hour.starts_with('*') || hours == HOUR.all(),
        };
        match expression.can_come() {
            true => Ok(expression),
            false => Err(CronError(format!(
                "never comes: {month} has no day {day}; change the day of month or the month"
            ))),
        }
    }
}

fn spelled_out(nickname: &str) -> Result<String, CronError> {
    let known = NICKNAMES.iter();
    let found = known
        .clone()
        .find(|(name, _)| name.eq_ignore_ascii_case(nickname));
    match found {
        Some((_, spelled)) => Ok((*spelled).to_owned()),
        None => {
            let names: Vec<&str> = known.map(|(name, _)| *name).collect();
            Err(CronError(format!(
                "{nickname} is not known; write one of {}",
                names.join(", ")
            )))
        }
    }
}

fn count_in_words(count: usize) -> String {
    match count {
        0 => format!("is empty; {FORM}"),
        1 => format!("has 1 field; {FORM}"),
        _ => format!("has {count} fields; {FORM}"),
    }
}

/// An expression in its time zone: all the moments that it means, in milliseconds since 1970.
#[derive(Clone, Debug)]
pub struct Calendar {
    pub expression: Expression,
    pub zone: TimeZone,
}

impl Calendar {
    /// The first moment after this one.
    pub fn next_ms(&self, after_ms: i64) -> Option<i64> {
        let after = Timestamp::from_millisecond(after_ms).ok()?;
        let next = self.expression.next(after, &self.zone)?;
        Some(next.as_millisecond())
    }

    /// The last moment after `floor_ms` that is not after `until_ms`. Halves the time between instead of counting the moments in it.
    pub fn last_ms(&self, floor_ms: i64, until_ms: i64) -> Option<i64> {
        let is_before = |after: i64| self.next_ms(after).filter(|next| *next <= until_ms);
        let mut found = is_before(floor_ms)?;
        let mut beyond = until_ms;
        while found < beyond {
            let middle = found + (beyond - found) / 2;
            match is_before(middle) {
                Some(later) => found = later,
                None if middle == found => break,
                None => beyond = middle,
            }
        }
        Some(found)
    }
}
