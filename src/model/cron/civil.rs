//! The next time on a calendar and a clock that never change: jumps from field to field, never from minute to minute.

use super::Expression;
use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Time, date};

/// The 29th of February on one day of the week may be this far away, over a year 2100 that is no leap year.
const MONTHS_AHEAD: usize = 12 * 41;
/// Leap years count: in one of these the month is as long as it gets.
const LEAP_YEAR: i16 = 2024;

impl Expression {
    /// Whether one of its months has one of its days.
    pub(super) fn can_come(&self) -> bool {
        let any_day = |month: i8| {
            let length = date(LEAP_YEAR, month, 1).days_in_month();
            self.days & up_to(length) != 0
        };
        let mut months = (1..=12).filter(|month| has(self.months, *month));
        self.either_day || months.any(any_day)
    }

    /// The first time at or after `from` that it names.
    pub(super) fn first_from(&self, from: DateTime) -> Option<DateTime> {
        let today = self.first_day(from.date())?;
        if today == from.date()
            && let Some(time) = self.first_time(from.time())
        {
            return Some(today.to_datetime(time));
        }
        let day = match today > from.date() {
            true => today,
            false => self.first_day(from.date().checked_add(1.day()).ok()?)?,
        };
        Some(day.to_datetime(self.first_time(Time::midnight())?))
    }

    fn first_day(&self, from: Date) -> Option<Date> {
        let mut from = from;
        for _ in 0..=MONTHS_AHEAD {
            if has(self.months, from.month())
                && let Some(day) = first(self.days_of_month(from), from.day())
            {
                return Date::new(from.year(), from.month(), day).ok();
            }
            from = from.first_of_month().checked_add(1.month()).ok()?;
        }
        None
    }

    /// The days of a month that it names, as bits.
    fn days_of_month(&self, within: Date) -> u64 {
        let start = within.first_of_month().weekday().to_sunday_zero_offset();
        let length = within.days_in_month();
        let by_week = (1..=length)
            .filter(|day| has(self.weekdays, (start + day - 1) % 7))
            .fold(0u64, |set, day| set | 1 << day);
        let by_month = self.days & up_to(length);
        match self.either_day {
            true => by_week | by_month,
            false => by_week & by_month,
        }
    }

    fn first_time(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = self.hand_positions(from)?;
        Time::new(hour, minute, second, 0).ok()
    }

    fn hand_positions(&self, from: Time) -> Option<(i8, i8, i8)> {
        let (first_minute, first_second) = (first(self.minutes, 0)?, first(self.seconds, 0)?);
        if has(self.hours, from.hour()) {
            let second = first(self.seconds, from.second());
            if let Some(second) = second.filter(|_| has(self.minutes, from.minute())) {
                return Some((from.hour(), from.minute(), second));
            }
            if let Some(minute) = first(self.minutes, from.minute() + 1) {
                return Some((from.hour(), minute, first_second));
            }
        }
        let hour = first(self.hours, from.hour() + 1)?;
        Some((hour, first_minute, first_second))
    }
}

fn has(set: u64, value: i8) -> bool {
    set >> value & 1 == 1
}

/// The first value of a set from this one on.
fn first(set: u64, from: i8) -> Option<i8> {
    let left = set >> from << from;
    (left != 0).then(|| left.trailing_zeros() as i8)
}

/// The days 1 to `last`.
fn up_to(last: i8) -> u64 {
    (1u64 << (last + 1)) - 2
}
