//! `ralphd schedule` without a daemon: what is listed, foretold, started and paused.

use super::schedule;
use crate::support::Site;
use serde_json::Value as Json;

fn site() -> Site {
    let nightly = schedule("nightly", "30 2 * * *", "jitter = '10m'");
    let off = schedule("off", "@hourly", "enabled = false");
    Site::with_worker("echo TASK_COMPLETE").configure(&format!("{nightly}{off}"))
}

#[test]
fn next_tells_times_with_their_offset() {
    let site = site();
    let after = ["--after", "2026-03-07T12:00:00Z", "--count", "3"];
    let next = ["schedule", "next", "nightly"];
    let ran = site.ralphd(&[&next[..], &after, &["--json"]].concat());
    let times: Vec<String> = serde_json::from_str(&ran.done()).unwrap();
    let expected = [
        "2026-03-08T03:00:00-04:00",
        "2026-03-09T02:30:00-04:00",
        "2026-03-10T02:30:00-04:00",
    ];
    assert_eq!(times, expected);
    let ran = site.ralphd(&[&next[..], &after].concat());
    let words = "nightly: 30 2 * * * in America/New_York, each up to 10m 00s later (jitter)";
    assert!(ran.stderr.contains(words), "{ran:?}");
    assert!(ran.stdout.starts_with(expected[0]), "{ran:?}");
    let soon = site.ralphd(&["schedule", "next", "off", "-n", "1"]);
    assert!(soon.stderr.contains("but it is disabled"), "{soon:?}");
    let line = soon.done();
    assert!(
        line.contains("  in ") && line.lines().count() == 1,
        "{line}"
    );
}

#[test]
fn the_zone_of_the_machine_is_the_default() {
    let text = "[[schedules]]\nname = 'a'\ncron = '@daily'\nrequest = { objective = 'Go.' }\n";
    let site = Site::new().configure(text).variable("TZ", "Asia/Kolkata");
    let next = [
        "schedule",
        "next",
        "a",
        "-n",
        "1",
        "--json",
        "--after",
        "2026-11-16T00:00:00Z",
    ];
    assert!(
        site.ralphd(&next)
            .done()
            .contains("2026-11-17T00:00:00+05:30")
    );
}

#[test]
fn an_unknown_name_is_not_found() {
    let site = site();
    for verb in ["next", "run", "pause", "resume"] {
        let ran = site.ralphd(&["schedule", verb, "nigthly"]);
        assert_eq!(ran.code, Some(6), "{ran:?}");
        assert!(
            ran.stderr
                .contains("no schedule 'nigthly'; known: nightly, off"),
            "{ran:?}"
        );
    }
    let ran = Site::new().configure("").ralphd(&["schedule", "next", "x"]);
    assert_eq!(ran.code, Some(6));
    assert!(ran.stderr.contains("add [[schedules]]"), "{ran:?}");
}

#[test]
fn pauses_are_listed_and_kept() {
    let site = site();
    let listed = || -> Vec<Json> {
        serde_json::from_str(&site.ralphd(&["schedule", "list", "--json"]).done()).unwrap()
    };
    assert_eq!(listed()[0]["paused"], false);
    assert!(
        listed()[0]["next"]
            .as_str()
            .unwrap()
            .contains("T02:30:00-0")
    );
    assert_eq!(listed()[1]["next"], Json::Null);
    let said = site.ralphd(&["schedule", "pause", "nightly"]).done();
    assert_eq!(said, "schedule nightly is paused\n");
    assert_eq!(
        site.ralphd(&["schedule", "pause", "nightly"]).done(),
        "schedule nightly was paused already\n"
    );
    assert_eq!(
        (&listed()[0]["paused"], &listed()[0]["next"]),
        (&Json::Bool(true), &Json::Null)
    );
    let table = site.ralphd(&["schedule", "list"]).done();
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[1].contains("nightly") && lines[1].contains("paused"),
        "{table}"
    );
    assert!(lines[2].contains("disabled"), "{table}");
    assert_eq!(
        site.ralphd(&["schedule", "resume", "nightly"]).done(),
        "schedule nightly goes on\n"
    );
    assert_eq!(listed()[0]["paused"], false);
    let told = "SELECT group_concat(type) FROM events WHERE type LIKE 'schedule.%'";
    assert_eq!(
        site.cell::<String>(told, []).unwrap(),
        "schedule.paused,schedule.resumed"
    );
}

#[test]
fn run_starts_one_without_a_tick_or_a_daemon() {
    let site = site();
    let before = site.ralphd(&["schedule", "run", "nightly"]);
    assert!(before.stderr.contains("no daemon is running"), "{before:?}");
    let id = before.done();
    let session = site.session(id.trim()).unwrap();
    assert_eq!(session.status, "created");
    let trigger = "SELECT \"trigger\" FROM sessions";
    assert_eq!(site.cell::<String>(trigger, []).unwrap(), "cron");
    // Once more, although the first is open.
    site.ralphd(&["schedule", "run", "nightly"]).done();
    assert_eq!(site.count("SELECT count(*) FROM sessions"), 2);
    assert_eq!(site.count("SELECT count(*) FROM ticks"), 0);
}

#[test]
fn a_wrong_schedule_refuses_to_start() {
    let site = Site::with_worker("true").configure(&schedule("a", "0 25 * * *", ""));
    let ran = site.ralphd(&["schedule", "list"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let words = "schedules[0].cron: hour: 25 is not between 0 and 23";
    assert!(ran.stderr.contains(words), "{ran:?}");
}
