//! Whatever the expression, the zone and the moment: the next one is after it, is named by the fields, and nothing lies between.

use super::*;
use jiff::civil::DateTime;
use proptest::prelude::*;
use std::collections::BTreeSet;

const ZONES: [&str; 6] = [
    "UTC",
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Africa/Casablanca",
];
/// Long enough for a change of the clock and what follows it.
const RANGE_SECONDS: i64 = 3 * 3_600;

/// A field of an expression, with numbers from `least` to `most`.
fn field(least: u8, most: u8) -> impl Strategy<Value = String> {
    let value = least..=most;
    let range = (value.clone(), value.clone())
        .prop_map(|(one, other)| format!("{}-{}", one.min(other), one.max(other)));
    let part = prop_oneof![
        4 => value.prop_map(|value| value.to_string()),
        2 => range.clone(),
        1 => (range, 1..=most).prop_map(|(range, step)| format!("{range}/{step}")),
        1 => (1..=most).prop_map(|step| format!("*/{step}")),
    ];
    prop_oneof![
        2 => Just("*".to_owned()),
        3 => prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(",")),
    ]
}

fn expression() -> impl Strategy<Value = Expression> {
    let fields = (
        prop_oneof![Just("0".to_owned()), field(0, 59)],
        field(0, 59),
        field(0, 23),
        field(1, 31),
        field(1, 12),
        field(0, 7),
    );
    fields.prop_filter_map(
        "it never comes",
        |(second, minute, hour, day, month, week)| {
            let text = format!("{second} {minute} {hour} {day} {month} {week}");
            text.parse().ok()
        },
    )
}

/// Around the changes of the clock of 2026, and anywhere.
fn moment() -> impl Strategy<Value = i64> {
    let changes = [
        "2026-03-08T07:00Z",
        "2026-11-01T06:00Z",
        "2026-03-29T01:00Z",
        "2026-10-25T01:00Z",
        "2026-04-04T15:00Z",
        "2026-10-03T15:30Z",
        "2026-02-15T02:00Z",
    ];
    let changes = changes.map(|text| text.parse::<Timestamp>().unwrap().as_second());
    let near = (prop::sample::select(changes.to_vec()), -7_200i64..7_200);
    prop_oneof![
        3 => near.prop_map(|(change, by)| change + by),
        1 => 1_700_000_000i64..2_000_000_000,
    ]
}

/// The fields against a time on the wall, read off the text and not off the bits.
fn names(expression: &Expression, civil: DateTime) -> bool {
    let fields: Vec<&str> = expression.text.split(' ').collect();
    let sunday = civil.weekday().to_sunday_zero_offset();
    let holds = |field: &str, value: i8, least: i64, most: i64| {
        field
            .split(',')
            .any(|part| part_holds(part, i64::from(value), least, most))
    };
    let day = holds(fields[3], civil.day(), 1, 31);
    let weekday = holds(fields[5], sunday, 0, 6) || (sunday == 0 && holds(fields[5], 7, 0, 6));
    let stars = fields[3].starts_with('*') || fields[5].starts_with('*');
    holds(fields[0], civil.second(), 0, 59)
        && holds(fields[1], civil.minute(), 0, 59)
        && holds(fields[2], civil.hour(), 0, 23)
        && holds(fields[4], civil.month(), 1, 12)
        && if stars {
            day && weekday
        } else {
            day || weekday
        }
}

fn part_holds(part: &str, value: i64, least: i64, most: i64) -> bool {
    let (range, step) = part.split_once('/').unwrap_or((part, "1"));
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (least, most),
        Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
        None => (range.parse().unwrap(), range.parse().unwrap()),
    };
    let step: i64 = step.parse().unwrap();
    (first..=last).contains(&value) && (value - first) % step == 0
}

/// All moments of a while by brute force, second by second: an interval by what the clock shows at each moment; a time of the day by the
/// first moment that shows it, or the first one after the gap that swallows it.
fn by_force(expression: &Expression, zone: &TimeZone, from: i64) -> BTreeSet<i64> {
    let shown = |second: i64| {
        let at = Timestamp::from_second(second).unwrap();
        zone.to_offset(at).to_datetime(at)
    };
    let mut found = BTreeSet::new();
    // Times that were shown up to here: two hours more than any clock here is set back.
    let mut latest = (from - 7_200..=from).map(shown).max().unwrap();
    for second in from + 1..=from + RANGE_SECONDS {
        let now = shown(second);
        if expression.interval {
            if names(expression, now) {
                found.insert(second);
            }
            continue;
        }
        // Every time on the wall that is newly reached by this second, those of a gap included.
        while latest < now {
            latest = latest
                .checked_add(jiff::SignedDuration::from_secs(1))
                .unwrap();
            if names(expression, latest) {
                found.insert(second);
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_next_moment_is_after_and_named_by_the_fields(
        expression in expression(),
        zone in prop::sample::select(ZONES.to_vec()),
        second in moment(),
        millis in 0i64..1000,
    ) {
        let zone = TimeZone::get(zone).unwrap();
        let after = Timestamp::from_millisecond(second * 1000 + millis).unwrap();
        let next = expression.next(after, &zone).unwrap();
        prop_assert!(next > after);
        let shown = zone.to_offset(next).to_datetime(next);
        let change = zone.preceding(next + jiff::SignedDuration::from_nanos(1)).next();
        let after_gap = !expression.interval && change.is_some_and(|change| change.timestamp() == next);
        prop_assert!(after_gap || names(&expression, shown), "{expression} {shown}");
    }

    #[test]
    fn nothing_is_left_out_or_added(
        expression in expression(),
        zone in prop::sample::select(ZONES.to_vec()),
        second in moment(),
    ) {
        let zone = TimeZone::get(zone).unwrap();
        let expected = by_force(&expression, &zone, second);
        let mut found = BTreeSet::new();
        let mut at = Timestamp::from_second(second).unwrap();
        while let Some(next) = expression.next(at, &zone) {
            if next.as_second() > second + RANGE_SECONDS {
                break;
            }
            found.insert(next.as_second());
            at = next;
        }
        prop_assert_eq!(found, expected, "{}", expression);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,40}|[0-9*,/ -]{0,30}|([0-9*]{1,3}[-/,]?[A-Z0-9*]{0,3} ){4,6}") {
        let _ = text.parse::<Expression>();
    }
}
