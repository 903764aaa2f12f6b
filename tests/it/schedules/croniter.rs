//! The next times against an independent reader of cron expressions, where it is installed (`tests/tools/install croniter`).
//!
//! Left out, because croniter differs from crontab(5) on purpose: ranges that go backwards and ranges of one value (`5-5` is a whole cycle
//! to it), steps beyond the end of a field, `L`, `#`, `?`. Changes of the clock are left to the written oracle in `model/cron`: to croniter
//! every expression goes on in real time.

use crate::support::Site;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ralphd::model::cron::Expression;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

const PYTHON: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/target/tools/croniter/bin/python"
);
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/schedules/ask_croniter.py"
);
const COUNT: usize = 8;

/// Expressions that people write, and corners.
const WRITTEN: &[&str] = &[
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "30 3 * * *",
    "0 0 1 * *",
    "0 0 * * 0",
    "0 0 * * 7",
    "0 0 * * sun",
    "0 9-17 * * mon-fri",
    "*/10 8-18/2 * * 1-5",
    "0 0 1,15 * *",
    "0 0 1,15 * 3",
    "0 0 13 * 5",
    "0 0 13 * fri",
    "5 4 * * sun",
    "0 22 * * 1-5",
    "23 0-20/2 * * *",
    "0 0,12 1 */2 *",
    "0 4 8-14 * *",
    "0 0 29 2 *",
    "0 0 29 2 1",
    "0 0 31 * *",
    "0 0 31 1,3,5 *",
    "0 0 30 4,6,9,11 *",
    "59 23 31 12 *",
    "0 0 * jan *",
    "0 0 * JAN-mar,Dec *",
    "0 0 * * 6,0",
    "0 0 * * 5-7",
    "0 0 * * fri-sun",
    "0 0 * * 1,3,5",
    "15,45 * * * *",
    "1-9/3 * * * *",
    "5/15 * * * *",
    "0 6/4 * * *",
    "0 0 5/7 * *",
    "0 0 * 2/3 *",
    "0 0 */2 * 1",
    "0 0 1-7 * *",
    "0 0 */10 * */2",
    "0 0 2-30/4 * *",
    "@hourly",
    "@daily",
    "@midnight",
    "@weekly",
    "@monthly",
    "@yearly",
    "@annually",
    "30 * * * * *",
    "*/15 * * * * *",
    "0 */2 * * * *",
    "10,20 5 3 * * *",
    "0 0 0 1 1 *",
    "0 30 9 * * 1-5",
    "59 59 23 * * *",
    "1-5,50-55 * * * * *",
    "0 0 12 * feb-nov tue",
    "0-59/7 * * * *",
];

/// Every combination of a few forms of each field, until there are enough.
fn expressions() -> Vec<String> {
    let minutes = ["0", "*/7", "3,33", "10-20", "7/13", "1-50/9", "59"];
    let hours = ["*", "0", "*/6", "8-18", "1,13,23", "5-23/4"];
    let days = ["*", "1", "*/9", "10-20", "29,30,31", "3/8"];
    let months = ["*", "2", "*/5", "jun-aug", "1,4,12"];
    let weekdays = ["*", "0", "1-5", "sat", "*/3", "2,7"];
    let mut made: Vec<String> = WRITTEN.iter().map(|text| (*text).to_owned()).collect();
    // Steps without a common divisor with the lengths of the lists, so that the forms meet in ever new ways.
    for place in 0..400 {
        made.push(format!(
            "{} {} {} {} {}",
            minutes[place * 3 % minutes.len()],
            hours[(place / 2) * 5 % hours.len()],
            days[(place / 3) * 5 % days.len()],
            months[(place / 5) * 3 % months.len()],
            weekdays[(place / 7) * 5 % weekdays.len()],
        ));
    }
    made.retain(|text| text.parse::<Expression>().is_ok());
    let mut seen = BTreeSet::new();
    made.retain(|text| seen.insert(text.clone()));
    made
}

/// Starts in zones whose clock does not change before the end that stands beside them.
fn starts() -> Vec<(&'static str, Timestamp, Option<Timestamp>)> {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    vec![
        ("UTC", at("2026-11-16T12:34:56Z"), None),
        ("UTC", at("2027-12-31T23:59:59Z"), None),
        ("UTC", at("2028-02-28T23:00:00Z"), None),
        ("Asia/Kolkata", at("2026-03-07T20:15:00Z"), None),
        (
            "America/New_York",
            at("2026-03-09T00:00:00Z"),
            Some(at("2026-10-31T00:00:00Z")),
        ),
        (
            "Europe/London",
            at("2026-11-01T03:00:00Z"),
            Some(at("2027-03-27T00:00:00Z")),
        ),
    ]
}

/// What croniter says; nothing, loudly, where it is not installed.
fn ask(cases: &[serde_json::Value]) -> Option<Vec<Vec<i64>>> {
    if !std::path::Path::new(PYTHON).exists() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: croniter: there is no {PYTHON}; run tests/tools/install croniter"
        );
        return None;
    }
    let mut child = Command::new(PYTHON)
        .arg(SCRIPT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = serde_json::to_string(cases).unwrap();
    let writing = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn case(expression: &str, zone: &str, start: Timestamp) -> serde_json::Value {
    json!([expression, zone, start.as_second(), COUNT])
}

#[test]
fn next_times_agree_with_croniter() {
    let expressions = expressions();
    assert!(expressions.len() >= 200, "{}", expressions.len());
    let starts = starts();
    let pairs: Vec<_> = expressions
        .iter()
        .flat_map(|text| starts.iter().map(move |start| (text, start)))
        .collect();
    let cases: Vec<_> = pairs
        .iter()
        .map(|(text, (zone, start, _))| case(text, zone, *start))
        .collect();
    let Some(answers) = ask(&cases) else {
        return;
    };
    let mut compared = 0;
    for ((text, (zone, start, end)), expected) in pairs.into_iter().zip(answers) {
        let expression: Expression = text.parse().unwrap();
        let zone_found = TimeZone::get(zone).unwrap();
        let mut at = *start;
        for second in expected {
            let expected = Timestamp::from_second(second).unwrap();
            at = expression.next(at, &zone_found).unwrap();
            if end.is_some_and(|end| expected > end) {
                assert!(end.is_some_and(|end| at > end), "{text} in {zone}: {at}");
                break;
            }
            assert_eq!(at, expected, "{text} in {zone} after {start}");
            compared += 1;
        }
    }
    assert!(compared >= 5_000, "only {compared} times were compared");
}

#[test]
fn the_command_agrees_with_croniter() {
    let mut expressions = expressions();
    expressions.truncate(220);
    let start: Timestamp = "2027-01-15T10:20:30Z".parse().unwrap();
    let zone = "Asia/Kolkata";
    let cases: Vec<_> = expressions
        .iter()
        .map(|text| case(text, zone, start))
        .collect();
    let Some(answers) = ask(&cases) else {
        return;
    };
    let mut site = Site::new();
    for (place, text) in expressions.iter().enumerate() {
        site = site.configure(&format!(
            "[[schedules]]\nname = 's{place}'\ncron = '{text}'\ntimezone = '{zone}'\nrequest = {{ objective = 'Go.' }}\n"
        ));
    }
    let offset = SignedDuration::from_mins(330);
    for (place, expected) in answers.iter().enumerate() {
        let expected: Vec<String> = expected
            .iter()
            .map(|second| Timestamp::from_second(*second).unwrap() + offset)
            .map(|at| at.strftime("%Y-%m-%dT%H:%M:%S+05:30").to_string())
            .collect();
        let name = format!("s{place}");
        let after = start.to_string();
        let count = COUNT.to_string();
        let ran = site.ralphd(&[
            "schedule", "next", &name, "--after", &after, "--count", &count, "--json",
        ]);
        let times: Vec<String> = serde_json::from_str(&ran.done()).unwrap();
        assert_eq!(times, expected, "{}", expressions[place]);
    }
}
