//! What is read, what is refused, and the moments of plain expressions.

use super::*;

fn times(expression: &str, from: &str, count: usize) -> Vec<String> {
    let expression: Expression = expression.parse().unwrap();
    let mut at: Timestamp = from.parse().unwrap();
    let mut found = Vec::new();
    for _ in 0..count {
        at = expression.next(at, &TimeZone::UTC).unwrap();
        found.push(at.strftime("%Y-%m-%d %H:%M:%S").to_string());
    }
    found
}

#[test]
fn moments_of_plain_expressions() {
    let from = "2026-11-16T12:34:56Z"; // a Monday
    for (expression, expected) in [
        ("* * * * *", "2026-11-16 12:35:00"),
        ("* * * * * *", "2026-11-16 12:34:57"),
        ("30 */5 * * * *", "2026-11-16 12:35:30"),
        ("0 3 * * *", "2026-11-17 03:00:00"),
        ("  0\t3  * * *  ", "2026-11-17 03:00:00"),
        ("34 12 * * *", "2026-11-17 12:34:00"),
        ("56 34 12 * * *", "2026-11-17 12:34:56"),
        ("*/20 * * * *", "2026-11-16 12:40:00"),
        ("5/20 * * * *", "2026-11-16 12:45:00"),
        ("10-50/20 * * * *", "2026-11-16 12:50:00"),
        ("1,2,50-52 * * * *", "2026-11-16 12:50:00"),
        ("0 0 * * 0", "2026-11-22 00:00:00"),
        ("0 0 * * 7", "2026-11-22 00:00:00"),
        ("0 0 * * sun", "2026-11-22 00:00:00"),
        ("0 0 * * FRI-SUN", "2026-11-20 00:00:00"),
        ("0 0 * * 6-7", "2026-11-21 00:00:00"),
        ("0 0 * feb,dec mon-fri", "2026-12-01 00:00:00"),
        ("0 0 13 * 5", "2026-11-20 00:00:00"),
        ("0 0 13 * *", "2026-12-13 00:00:00"),
        ("0 0 */15 * 2", "2026-12-01 00:00:00"),
        ("0 0 31 * *", "2026-12-31 00:00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00:00"),
        ("0 0 29 2 */7", "2032-02-29 00:00:00"),
        ("0 0 30 2 1", "2027-02-01 00:00:00"),
        ("@yearly", "2027-01-01 00:00:00"),
        ("@annually", "2027-01-01 00:00:00"),
        ("@monthly", "2026-12-01 00:00:00"),
        ("@weekly", "2026-11-22 00:00:00"),
        ("@daily", "2026-11-17 00:00:00"),
        ("@Midnight", "2026-11-17 00:00:00"),
        ("@hourly", "2026-11-16 13:00:00"),
    ] {
        assert_eq!(times(expression, from, 1), [expected], "{expression}");
    }
}

#[test]
fn the_longest_wait_goes_over_2100() {
    assert_eq!(
        times("0 0 29 2 */7", "2088-03-01T00:00:00Z", 1),
        ["2128-02-29 00:00:00"]
    );
}

#[test]
fn the_end_of_the_calendar_is_no_panic() {
    let expression: Expression = "0 0 29 2 *".parse().unwrap();
    let end: Timestamp = "9999-12-30T00:00:00Z".parse().unwrap();
    assert_eq!(expression.next(end, &TimeZone::UTC), None);
    assert_eq!(expression.next(Timestamp::MAX, &TimeZone::UTC), None);
    let every_second: Expression = "* * * * * *".parse().unwrap();
    assert!(every_second.next(Timestamp::MIN, &TimeZone::UTC).is_some());
}

#[test]
fn what_is_no_expression_says_what_to_write() {
    for (text, expected) in [
        (
            "",
            "is empty; write 5 fields (minute, hour, day of month, month, day of week)",
        ),
        ("daily", "has 1 field; write 5"),
        ("0 3 * *", "has 4 fields"),
        ("0 0 3 * * * 2026", "has 7 fields"),
        (
            "@nightly",
            "@nightly is not known; write one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
        ),
        ("@reboot", "@reboot is not known"),
        ("60 * * * *", "minute: 60 is not between 0 and 59"),
        ("0 24 * * *", "hour: 24 is not between 0 and 23"),
        ("0 0 0 * *", "day of month: 0 is not between 1 and 31"),
        ("0 0 * 13 *", "month: 13 is not between 1 and 12"),
        ("0 0 * * 8", "day of week: 8 is not between 0 and 7"),
        ("99 0 0 * * *", "second: 99 is not between 0 and 59"),
        (
            "0 0 * JANUARY *",
            "month: \"JANUARY\" is not understood; write *, 1 to 12 or JAN, FEB,",
        ),
        (
            "0 MON * * *",
            "hour: \"MON\" is not understood; write *, 0 to 23, ranges",
        ),
        ("0 0 ? * *", "day of month: \"?\" is not understood"),
        ("0 0 L * *", "day of month: \"L\" is not understood"),
        ("0 0 * * 5#2", "day of week: \"5#2\" is not understood"),
        ("-5 * * * *", "minute: \"\" is not understood"),
        ("1, * * * *", "minute: \"\" is not understood"),
        ("1.5 * * * *", "minute: \"1.5\" is not understood"),
        ("*/0 * * * *", "minute: a step of 0 does not move"),
        (
            "*/90 * * * *",
            "minute: a step of 90 is longer than the field, which ends at 59",
        ),
        ("*/ * * * *", "minute: \"\" is no step"),
        ("*/5/5 * * * *", "minute: \"5/5\" is no step"),
        (
            "0 22-6 * * *",
            "hour: the range 22-6 goes backwards; write 22-23,0-6",
        ),
        (
            "0 0 * * FRI-MON",
            "day of week: the range FRI-MON goes backwards; write FRI-SAT,SUN-MON",
        ),
        (
            "0 0 * 11-2 *",
            "month: the range 11-2 goes backwards; write 11-12,1-2",
        ),
        ("0 0 30 2 *", "never comes: 2 has no day 30"),
        ("0 0 31 feb,apr,jun *", "never comes"),
        (
            "99999999999999999999 * * * *",
            "minute: 4294967295 is not between",
        ),
    ] {
        let error = text.parse::<Expression>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let long = format!("{} * * * *", "1,".repeat(300));
    assert!(long.parse::<Expression>().is_err());
}

#[test]
fn the_last_moment_before_a_time() {
    let calendar = Calendar {
        expression: "0 3 * * *".parse().unwrap(),
        zone: TimeZone::UTC,
    };
    let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
    let floor = at("2020-01-01T00:00:00Z");
    for (until, expected) in [
        ("2026-11-16T12:00:00Z", Some("2026-11-16T03:00:00Z")),
        ("2026-11-16T03:00:00Z", Some("2026-11-16T03:00:00Z")),
        ("2026-11-16T02:59:59Z", Some("2026-11-15T03:00:00Z")),
        ("2020-01-01T02:00:00Z", None),
        ("2019-01-01T02:00:00Z", None),
    ] {
        assert_eq!(
            calendar.last_ms(floor, at(until)),
            expected.map(at),
            "{until}"
        );
    }
}
