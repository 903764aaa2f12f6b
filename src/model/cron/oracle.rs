//! The written oracle: moments around changes of the clock, worked out by hand from the rules of each zone.
//!
//! In 2026: New York goes from 01:59:59 -05 to 03:00:00 -04 on March 8 (07:00Z) and back from 01:59:59 -04 to 01:00:00 -05 on November 1
//! (06:00Z). London goes from 00:59:59 +00 to 02:00:00 +01 on March 29 (01:00Z) and back from 01:59:59 +01 to 01:00:00 +00 on October 25
//! (01:00Z). Lord Howe moves by half an hour: back from 01:59:59 +11 to 01:30:00 +10:30 on April 5 (15:00Z of April 4), and from
//! 01:59:59 +10:30 to 02:30:00 +11 on October 4 (15:30Z of October 3). Kolkata never does.

use super::*;

const NEW_YORK: &str = "America/New_York";
const LONDON: &str = "Europe/London";
const LORD_HOWE: &str = "Australia/Lord_Howe";
const KOLKATA: &str = "Asia/Kolkata";

/// Zone, expression, the moment after which, and all that follow, in UTC.
const ORACLE: &[(&str, &str, &str, &[&str])] = &[
    // A nightly run in the gap: right after it, once, and on every other day at its own time.
    (
        NEW_YORK,
        "30 2 * * *",
        "2026-03-07T00:00Z",
        &[
            "2026-03-07T07:30Z",
            "2026-03-08T07:00Z",
            "2026-03-09T06:30Z",
        ],
    ),
    (
        NEW_YORK,
        "0 2 * * *",
        "2026-03-07T12:00Z",
        &["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
    ),
    // Two times that meet right after the gap are one run.
    (
        NEW_YORK,
        "0,30 2 * * *",
        "2026-03-08T00:00Z",
        &[
            "2026-03-08T07:00Z",
            "2026-03-09T06:00Z",
            "2026-03-09T06:30Z",
        ],
    ),
    (
        NEW_YORK,
        "30 2,3 * * *",
        "2026-03-08T00:00Z",
        &[
            "2026-03-08T07:00Z",
            "2026-03-08T07:30Z",
            "2026-03-09T06:30Z",
        ],
    ),
    (
        NEW_YORK,
        "*/30 2 * * *",
        "2026-03-08T00:00Z",
        &["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
    ),
    // One that stands there anyway is not doubled by one from the gap.
    (
        NEW_YORK,
        "0 2,3 * * *",
        "2026-03-08T00:00Z",
        &["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
    ),
    // Around the gap nothing moves.
    (
        NEW_YORK,
        "59 1 * * *",
        "2026-03-08T00:00Z",
        &["2026-03-08T06:59Z", "2026-03-09T05:59Z"],
    ),
    (
        NEW_YORK,
        "0 3 * * *",
        "2026-03-08T00:00Z",
        &["2026-03-08T07:00Z", "2026-03-09T07:00Z"],
    ),
    // A nightly run in the repeated hour: in its first pass, once.
    (
        NEW_YORK,
        "30 1 * * *",
        "2026-10-31T12:00Z",
        &["2026-11-01T05:30Z", "2026-11-02T06:30Z"],
    ),
    (
        NEW_YORK,
        "0 1 * * *",
        "2026-10-31T12:00Z",
        &["2026-11-01T05:00Z", "2026-11-02T06:00Z"],
    ),
    (
        NEW_YORK,
        "*/30 1 * * *",
        "2026-10-31T12:00Z",
        &[
            "2026-11-01T05:00Z",
            "2026-11-01T05:30Z",
            "2026-11-02T06:00Z",
        ],
    ),
    // Asked from within the second pass.
    (
        NEW_YORK,
        "45 1 * * *",
        "2026-11-01T06:10Z",
        &["2026-11-02T06:45Z"],
    ),
    (
        NEW_YORK,
        "45 1,2 * * *",
        "2026-11-01T06:10Z",
        &["2026-11-01T07:45Z", "2026-11-02T06:45Z"],
    ),
    (
        NEW_YORK,
        "0 2 * * *",
        "2026-11-01T05:59Z",
        &["2026-11-01T07:00Z", "2026-11-02T07:00Z"],
    ),
    // Intervals go on in real time: not in the gap, in both passes.
    (
        NEW_YORK,
        "*/30 * * * *",
        "2026-03-08T06:00Z",
        &[
            "2026-03-08T06:30Z",
            "2026-03-08T07:00Z",
            "2026-03-08T07:30Z",
        ],
    ),
    (
        NEW_YORK,
        "15 * * * *",
        "2026-03-08T06:00Z",
        &["2026-03-08T06:15Z", "2026-03-08T07:15Z"],
    ),
    (
        NEW_YORK,
        "0 */2 * * *",
        "2026-03-08T04:00Z",
        &[
            "2026-03-08T05:00Z",
            "2026-03-08T08:00Z",
            "2026-03-08T10:00Z",
        ],
    ),
    (
        NEW_YORK,
        "*/30 * * * *",
        "2026-11-01T05:00Z",
        &[
            "2026-11-01T05:30Z",
            "2026-11-01T06:00Z",
            "2026-11-01T06:30Z",
            "2026-11-01T07:00Z",
        ],
    ),
    (
        NEW_YORK,
        "@hourly",
        "2026-11-01T04:30Z",
        &[
            "2026-11-01T05:00Z",
            "2026-11-01T06:00Z",
            "2026-11-01T07:00Z",
        ],
    ),
    (
        NEW_YORK,
        "0 0-23 * * *",
        "2026-11-01T04:30Z",
        &[
            "2026-11-01T05:00Z",
            "2026-11-01T06:00Z",
            "2026-11-01T07:00Z",
        ],
    ),
    // To the second.
    (
        NEW_YORK,
        "30 59 1 * * *",
        "2026-11-01T00:00Z",
        &["2026-11-01T05:59:30Z", "2026-11-02T06:59:30Z"],
    ),
    (
        NEW_YORK,
        "15 0 2 * * *",
        "2026-03-08T00:00Z",
        &["2026-03-08T07:00Z", "2026-03-09T06:00:15Z"],
    ),
    // A weekly run and a monthly one whose only day is the one with the gap.
    (
        NEW_YORK,
        "30 2 * * SUN",
        "2026-03-02T00:00Z",
        &["2026-03-08T07:00Z", "2026-03-15T06:30Z"],
    ),
    (
        NEW_YORK,
        "30 2 8 * *",
        "2026-02-10T00:00Z",
        &["2026-03-08T07:00Z", "2026-04-08T06:30Z"],
    ),
    (
        LONDON,
        "30 1 * * *",
        "2026-03-28T12:00Z",
        &["2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    ),
    (
        LONDON,
        "0 1 * * *",
        "2026-03-28T12:00Z",
        &["2026-03-29T01:00Z", "2026-03-30T00:00Z"],
    ),
    (
        LONDON,
        "0 2 * * *",
        "2026-03-28T12:00Z",
        &["2026-03-29T01:00Z", "2026-03-30T01:00Z"],
    ),
    (
        LONDON,
        "30 1 * * *",
        "2026-10-24T12:00Z",
        &["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
    ),
    (
        LONDON,
        "@daily",
        "2026-10-24T12:00Z",
        &["2026-10-24T23:00Z", "2026-10-26T00:00Z"],
    ),
    (
        LONDON,
        "*/20 * * * *",
        "2026-03-29T00:30Z",
        &[
            "2026-03-29T00:40Z",
            "2026-03-29T01:00Z",
            "2026-03-29T01:20Z",
        ],
    ),
    (
        LONDON,
        "0 * * * *",
        "2026-10-24T23:30Z",
        &[
            "2026-10-25T00:00Z",
            "2026-10-25T01:00Z",
            "2026-10-25T02:00Z",
        ],
    ),
    // Half an hour: 01:30 to 02:00 comes twice, 02:00 to 02:30 not at all.
    (
        LORD_HOWE,
        "45 1 * * *",
        "2026-04-04T00:00Z",
        &["2026-04-04T14:45Z", "2026-04-05T15:15Z"],
    ),
    (
        LORD_HOWE,
        "30 1 * * *",
        "2026-04-04T00:00Z",
        &["2026-04-04T14:30Z", "2026-04-05T15:00Z"],
    ),
    (
        LORD_HOWE,
        "0 1 * * *",
        "2026-04-04T00:00Z",
        &["2026-04-04T14:00Z", "2026-04-05T14:30Z"],
    ),
    (
        LORD_HOWE,
        "0 2 * * *",
        "2026-04-04T14:50Z",
        &["2026-04-04T15:30Z", "2026-04-05T15:30Z"],
    ),
    (
        LORD_HOWE,
        "*/15 * * * *",
        "2026-04-04T14:20Z",
        &[
            "2026-04-04T14:30Z",
            "2026-04-04T14:45Z",
            "2026-04-04T15:00Z",
            "2026-04-04T15:15Z",
            "2026-04-04T15:30Z",
        ],
    ),
    (
        LORD_HOWE,
        "45 * * * *",
        "2026-04-04T14:00Z",
        &[
            "2026-04-04T14:45Z",
            "2026-04-04T15:15Z",
            "2026-04-04T16:15Z",
        ],
    ),
    (
        LORD_HOWE,
        "15 2 * * *",
        "2026-10-03T00:00Z",
        &["2026-10-03T15:30Z", "2026-10-04T15:15Z"],
    ),
    (
        LORD_HOWE,
        "30 2 * * *",
        "2026-10-03T00:00Z",
        &["2026-10-03T15:30Z", "2026-10-04T15:30Z"],
    ),
    (
        LORD_HOWE,
        "45 2 * * *",
        "2026-10-03T00:00Z",
        &["2026-10-03T15:45Z", "2026-10-04T15:45Z"],
    ),
    (
        LORD_HOWE,
        "0 * * * *",
        "2026-10-03T14:00Z",
        &["2026-10-03T14:30Z", "2026-10-03T16:00Z"],
    ),
    (
        LORD_HOWE,
        "*/15 * * * *",
        "2026-10-03T15:00Z",
        &[
            "2026-10-03T15:15Z",
            "2026-10-03T15:30Z",
            "2026-10-03T15:45Z",
        ],
    ),
    (
        KOLKATA,
        "30 2 * * *",
        "2026-03-08T00:00Z",
        &["2026-03-08T21:00Z", "2026-03-09T21:00Z"],
    ),
    (
        KOLKATA,
        "30 1 * * *",
        "2026-10-24T12:00Z",
        &[
            "2026-10-24T20:00Z",
            "2026-10-25T20:00Z",
            "2026-10-26T20:00Z",
        ],
    ),
    (
        KOLKATA,
        "@hourly",
        "2026-03-29T00:00Z",
        &["2026-03-29T00:30Z", "2026-03-29T01:30Z"],
    ),
    // A whole day that Samoa never had: its run comes right after it.
    (
        "Pacific/Apia",
        "0 3 * * *",
        "2011-12-29T12:00Z",
        &[
            "2011-12-29T13:00Z",
            "2011-12-30T10:00Z",
            "2011-12-30T13:00Z",
        ],
    ),
];

#[test]
fn moments_around_changes_of_the_clock() {
    for (zone, expression, after, expected) in ORACLE {
        let calendar = Calendar {
            expression: expression.parse().unwrap(),
            zone: TimeZone::get(zone).unwrap(),
        };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let mut now = at(after).as_millisecond();
        for (place, moment) in expected.iter().enumerate() {
            now = calendar.next_ms(now).unwrap();
            let found = Timestamp::from_millisecond(now).unwrap();
            assert_eq!(
                found,
                at(moment),
                "{zone} {expression} after {after}, {place}"
            );
        }
    }
}

#[test]
fn zones_are_known_without_a_database_of_the_system() {
    let bundled = jiff::tz::TimeZoneDatabase::bundled();
    for zone in [NEW_YORK, LONDON, LORD_HOWE, KOLKATA, "UTC"] {
        assert!(bundled.get(zone).is_ok(), "{zone}");
    }
}
