//! Ticks by table: on time, missed, paused, over the maximum, and with a clock that was set.

use super::*;
use jiff::tz::TimeZone;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn hourly() -> Calendar {
    calendar("@hourly")
}

fn calendar(expression: &str) -> Calendar {
    Calendar {
        expression: expression.parse().unwrap(),
        zone: TimeZone::UTC,
    }
}

fn settled(last_tick_ms: i64) -> Standing {
    Standing {
        last_tick_ms: Some(last_tick_ms),
        ..Standing::default()
    }
}

/// Each tick by its hour and the first letter of what is wanted: run, catch up, skip.
fn in_short(due: &Due) -> String {
    let Due::Ticks(ticks, dropped) = due else {
        return format!("{due:?}");
    };
    let ticks = ticks.iter().map(|tick| {
        let letter = match tick.wish {
            Wish::Run => 'r',
            Wish::CatchUp => 'c',
            Wish::Skip(_) => 's',
        };
        format!("{}{letter}", tick.due_at_ms / HOUR)
    });
    let ticks: Vec<String> = ticks.collect();
    match dropped {
        Some(dropped) => format!(
            "{} dropped {}-{}",
            ticks.join(" "),
            dropped.from_ms / HOUR,
            dropped.until_ms / HOUR
        ),
        None => ticks.join(" "),
    }
}

#[test]
fn ticks_that_are_due() {
    use CatchUp::{All, None, One};
    for (last, now, catch_up, expected) in [
        (0, HOUR - 1, None, "Nothing"),
        (0, HOUR, None, "1r"),
        (0, HOUR + GRACE_MS - 1, None, "1r"),
        (0, HOUR + GRACE_MS, None, "1s"),
        (0, HOUR + GRACE_MS, One, "1r"),
        (0, HOUR + GRACE_MS, All, "1c"),
        (HOUR, HOUR, None, "Nothing"),
        (0, 4 * HOUR, None, "1s 2s 3s 4r"),
        (0, 4 * HOUR, One, "1s 2s 3r 4r"),
        (0, 4 * HOUR, All, "1c 2c 3c 4r"),
        (0, 4 * HOUR + 5 * MINUTE, None, "1s 2s 3s 4s"),
        (0, 4 * HOUR + 5 * MINUTE, One, "1s 2s 3s 4r"),
        (2 * HOUR + MINUTE, 2 * HOUR, None, "Nothing"),
        (3 * HOUR, 2 * HOUR, None, "ClockSetBack"),
    ] {
        let found = due(&hourly(), &settled(last), catch_up, now);
        assert_eq!(in_short(&found), expected, "{last} {now} {catch_up}");
    }
}

#[test]
fn a_pause_makes_even_recent_ticks_missed() {
    let paused = Standing {
        paused: true,
        ..settled(0)
    };
    let now = HOUR + 20_000;
    assert_eq!(due(&hourly(), &paused, CatchUp::All, now), Due::Nothing);
    let resumed = Standing {
        resumed_at_ms: Some(HOUR + 10_000),
        ..settled(0)
    };
    for (catch_up, expected) in [
        (CatchUp::None, "1s"),
        (CatchUp::One, "1r"),
        (CatchUp::All, "1c"),
    ] {
        let found = due(&hourly(), &resumed, catch_up, now);
        assert_eq!(in_short(&found), expected);
    }
    let later = due(&hourly(), &resumed, CatchUp::None, 2 * HOUR);
    assert_eq!(in_short(&later), "1s 2r");
}

#[test]
fn a_schedule_has_no_ticks_before_it_was_there() {
    let new = Standing {
        since_ms: 5 * HOUR,
        ..settled(0)
    };
    let found = due(&hourly(), &new, CatchUp::All, 7 * HOUR);
    assert_eq!(in_short(&found), "6c 7r");
}

#[test]
fn there_is_a_maximum_and_the_rest_is_told() {
    let year = 365 * 24 * HOUR;
    for (catch_up, last_listed, dropped, run) in [
        (CatchUp::None, MAX_SKIPPED, Some((1001, 8759)), "8760r"),
        (CatchUp::One, MAX_SKIPPED, Some((1001, 8758)), "8760r"),
        (CatchUp::All, MAX_CAUGHT_UP, Some((101, 8759)), "8760r"),
    ] {
        let Due::Ticks(ticks, told) = due(&hourly(), &settled(0), catch_up, year) else {
            panic!("nothing due");
        };
        let told = told.map(|told| (told.from_ms / HOUR, told.until_ms / HOUR));
        assert_eq!(told, dropped, "{catch_up}");
        assert_eq!(ticks[last_listed - 1].due_at_ms / HOUR, last_listed as i64);
        let last = Due::Ticks(vec![ticks[ticks.len() - 1].clone()], None);
        assert_eq!(in_short(&last), run, "{catch_up}");
        let by_one = usize::from(catch_up == CatchUp::One);
        assert_eq!(ticks.len(), last_listed + by_one + 1);
    }
    // Years of seconds are not counted one by one.
    let every_second = calendar("* * * * * *");
    let found = due(&every_second, &settled(0), CatchUp::None, 10 * year);
    let Due::Ticks(ticks, Some(dropped)) = found else {
        panic!("nothing dropped");
    };
    assert_eq!(ticks.len(), MAX_SKIPPED + 60);
    assert_eq!(dropped.until_ms, 10 * year - GRACE_MS);
}

#[test]
fn earlier_sessions_that_are_open() {
    for (overlap, wish, expected) in [
        (Overlap::Skip, Wish::Run, AtOverlap::Skip),
        (Overlap::Queue, Wish::Run, AtOverlap::Wait),
        (Overlap::Cancel, Wish::Run, AtOverlap::Replace),
        (Overlap::Skip, Wish::CatchUp, AtOverlap::Wait),
        (Overlap::Cancel, Wish::CatchUp, AtOverlap::Wait),
    ] {
        assert_eq!(overlap.step(&wish), expected, "{overlap}");
    }
}

#[test]
fn jitter_is_spread_and_always_the_same() {
    assert_eq!(spread_ms("nightly", HOUR, 0), HOUR);
    let spread: Vec<i64> = (0..1000)
        .map(|hour| spread_ms("nightly", hour * HOUR, 600_000) - hour * HOUR)
        .collect();
    assert!(spread.iter().all(|late| (0..=600_000).contains(late)));
    let sum: i64 = spread.iter().sum();
    assert!((250_000..350_000).contains(&(sum / 1000)), "{sum}");
    assert_eq!(
        spread[7],
        spread_ms("nightly", 7 * HOUR, 600_000) - 7 * HOUR
    );
    assert_ne!(spread[7], spread_ms("weekly", 7 * HOUR, 600_000) - 7 * HOUR);
}
