//! From the clock on the wall to moments: what becomes of a time that is skipped or repeated. The rules stand in the module above.

use super::Expression;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// Changes of the clock that are looked over for one moment: more than the years that an expression may lie ahead can have.
const MAX_CHANGES: usize = 1_000;

impl Expression {
    /// The first moment after this one, in a time zone; none when the calendar ends before.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self.interval {
            true => self.next_by_interval(after, zone),
            false => self.next_by_clock(after, zone),
        }
    }

    /// In real time: between two changes of the clock the hands only go forward; at each change they are read anew.
    fn next_by_interval(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut from = whole_second(after)?.checked_add(1.second()).ok()?;
        for _ in 0..MAX_CHANGES {
            let offset = zone.to_offset(from);
            let found = self.first_from(offset.to_datetime(from))?;
            let found = offset.to_timestamp(found).ok()?;
            match zone.following(from).next() {
                Some(change) if change.timestamp() <= found => from = change.timestamp(),
                _ => return Some(found),
            }
        }
        None
    }

    /// By the time of the day: each comes once, whatever the clock does.
    fn next_by_clock(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let second = whole_second(after)?;
        let civil = zone.to_offset(second).to_datetime(second);
        let found = self.first_from(civil.checked_add(1.second()).ok()?)?;
        let found = moment_of(found, zone)?;
        if found > after {
            return Some(found);
        }
        // Inside a second pass; the first one had all of its times.
        let change = last_change(after, zone)?;
        let before = zone.to_offset(change.checked_sub(1.nanosecond()).ok()?);
        moment_of(self.first_from(before.to_datetime(change))?, zone)
    }
}

/// The moment of a time on the wall: the first one of two, or right after the gap that swallows it.
fn moment_of(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { before, .. } => last_change(before.to_timestamp(civil).ok()?, zone),
    }
}

/// The last change of the clock that is not after this moment.
fn last_change(at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let just_after = at.checked_add(1.nanosecond()).ok()?;
    let change = zone.preceding(just_after).next()?;
    Some(change.timestamp())
}

fn whole_second(at: Timestamp) -> Option<Timestamp> {
    let floor = at.as_nanosecond().div_euclid(1_000_000_000);
    Timestamp::from_second(i64::try_from(floor).ok()?).ok()
}
