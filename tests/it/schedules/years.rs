//! Two virtual years with a thousand restarts: no tick is lost or doubled, whatever is made of those that were missed.

use super::*;
use ralphd::model::schedule::GRACE_MS;
use std::collections::BTreeMap;

const RESTARTS: usize = 1_000;
const NAMES: [&str; 3] = ["nightly", "quarterly", "weekly"];

fn config(catch_up: &str) -> String {
    let more = format!("catch_up = '{catch_up}'");
    // One in the gaps and folds of New York, one that goes on in real time, one that is rare.
    [
        schedule(NAMES[0], "30 1,2 * * *", &more),
        schedule(NAMES[1], "0 */6 * * *", &more),
        schedule(NAMES[2], "15 9 * * MON", &more),
    ]
    .concat()
}

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % most
    }
}

/// When somebody looked, in order: twice a minute as far as ticks are concerned, and not at all while the daemon was down.
async fn live(state: &Path, config: &str, from_ms: i64, until_ms: i64) -> Vec<i64> {
    let mut chance = Chance(7);
    let mut looks = Vec::new();
    let mut now_ms = from_ms;
    let span = (until_ms - from_ms) / RESTARTS as i64;
    for restart in 1..=RESTARTS as i64 {
        let clockwork = Clockwork::open(state, config);
        // Up for a while, and then down: mostly for moments, sometimes for days.
        let end_ms = from_ms + restart * span;
        let down_ms = match chance.below(10) {
            0 => chance.below(4 * 24 * HOUR),
            1..4 => chance.below(12 * HOUR),
            _ => chance.below(10 * MINUTE),
        };
        let mut next = Some(now_ms);
        while let Some(due_ms) =
            next.filter(|due_ms| *due_ms < end_ms - down_ms || looks.is_empty())
        {
            now_ms = now_ms.max(due_ms + chance.below(GRACE_MS));
            next = clockwork.look(now_ms).await;
            looks.push(now_ms);
            clockwork.end_all(now_ms).await;
        }
        now_ms = now_ms.max(end_ms);
    }
    let clockwork = Clockwork::open(state, config);
    clockwork.look(until_ms.max(now_ms)).await;
    looks.push(until_ms.max(now_ms));
    looks
}

/// What must have become of each tick, by who looked when.
fn expected(schedule: &Schedule, looks: &[i64], catch_up: &str) -> BTreeMap<i64, &'static str> {
    let mut found = BTreeMap::new();
    let mut due_ms = schedule.calendar.next_ms(looks[0]);
    for look_ms in &looks[1..] {
        let mut missed = Vec::new();
        while let Some(tick_ms) = due_ms.filter(|tick_ms| tick_ms <= look_ms) {
            if look_ms - tick_ms < GRACE_MS {
                found.insert(tick_ms, "started");
            } else {
                found.insert(
                    tick_ms,
                    if catch_up == "all" {
                        "started"
                    } else {
                        "skipped"
                    },
                );
                missed.push(tick_ms);
            }
            due_ms = schedule.calendar.next_ms(tick_ms);
        }
        if let Some(newest) = missed.last().filter(|_| catch_up == "one") {
            found.insert(*newest, "started");
        }
    }
    found
}

/// In memory, where there is such a place: thousands of waits for a disk would show nothing more.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

async fn two_years(catch_up: &str) {
    let state = place();
    let (from_ms, until_ms) = (at("2026-01-01T00:00:00Z"), at("2028-01-01T00:00:00Z"));
    let config = config(catch_up);
    let looks = live(state.path(), &config, from_ms, until_ms).await;
    let clockwork = Clockwork::open(state.path(), &config);
    let mut started = 0;
    for schedule in &clockwork.schedules {
        let expected = expected(schedule, &looks, catch_up);
        let ticks = clockwork.ticks(&schedule.name);
        let found: BTreeMap<i64, &str> = ticks
            .iter()
            .map(|(due_ms, outcome, ..)| (*due_ms, outcome.as_str()))
            .collect();
        // On one line where they differ: thousands of equal ones help nobody.
        for tick_ms in expected.keys().chain(found.keys()) {
            assert_eq!(
                found.get(tick_ms),
                expected.get(tick_ms),
                "{} {tick_ms}",
                schedule.name
            );
        }
        let own = ticks.iter().filter(|(_, outcome, ..)| outcome == "started");
        assert!(own.clone().all(|(.., session)| session.is_some()));
        started += own.count() as i64;
    }
    assert!(started > 2_000, "{started}");
    assert_eq!(clockwork.count("SELECT count(*) FROM sessions"), started);
    let keys = "SELECT count(DISTINCT dedupe_key) FROM sessions WHERE \"trigger\" = 'cron'";
    assert_eq!(clockwork.count(keys), started);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_catching_up() {
    two_years("none").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_for_all_that_were_missed() {
    two_years("one").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_that_was_missed() {
    two_years("all").await;
}
