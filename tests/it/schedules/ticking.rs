//! What becomes of ticks: refused ones, pauses, changes of the configuration, clocks that are set.

use super::*;
use ralphd::model::schedule::{MAX_CAUGHT_UP, spread_ms};
use ralphd::store::schedules;

const START: &str = "2026-11-16T12:00:00Z";

fn start() -> i64 {
    at(START)
}

async fn set_paused(clockwork: &Clockwork, paused: bool, at_ms: i64) {
    clockwork
        .write(move |sql| {
            schedules::set_paused(sql, "hourly", paused, at_ms).map(|changed| assert!(changed))
        })
        .await;
}

fn hours(clockwork: &Clockwork) -> Vec<String> {
    let hour = |due_ms: i64| (due_ms - start()) / HOUR;
    let ticks = clockwork.ticks("hourly").into_iter();
    ticks
        .map(|(due_ms, outcome, ..)| format!("{}{}", hour(due_ms), &outcome[..2]))
        .collect()
}

#[tokio::test]
async fn a_tick_becomes_a_session() {
    let state = tempfile::tempdir().unwrap();
    let config = schedule("hourly", "@hourly", "jitter = '10m'");
    let clockwork = Clockwork::open(state.path(), &config);
    assert_eq!(clockwork.look(start() + MINUTE).await, Some(start() + HOUR));
    clockwork.look(start() + HOUR).await;
    let database = clockwork.database();
    let sql = "SELECT s.\"trigger\", s.dedupe_key, s.origin, s.created_at_ms, t.not_before_ms, c.last_tick_ms, c.last_session_id = s.id
        FROM sessions s JOIN tasks t ON t.session_id = s.id JOIN schedules c ON c.name = 'hourly'";
    let found: (String, String, String, i64, i64, i64, bool) = database
        .query_row(sql, [], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
            ))
        })
        .unwrap();
    let due_ms = start() + HOUR;
    let expected = (
        "cron".to_owned(),
        "cron:hourly:2026-11-16T13:00:00Z".to_owned(),
        "hourly".to_owned(),
        due_ms,
        spread_ms("hourly", due_ms, 10 * MINUTE),
        due_ms,
        true,
    );
    assert_eq!(found, expected);
    assert!(found.4 > due_ms && found.4 <= due_ms + 10 * MINUTE);
}

#[tokio::test]
async fn a_request_that_cannot_be_kept_is_refused_with_its_reason() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("hourly.md");
    let config = format!(
        "[[schedules]]\nname = 'hourly'\ncron = '@hourly'\nrequest = '{}'\ntimezone = 'UTC'\n",
        file.display()
    );
    let clockwork = Clockwork::open(state.path(), &config);
    clockwork.look(start()).await;
    for (hour, (text, reason)) in [
        (None, "there is no such file"),
        (
            Some("---\nmax_iteration: 3\n---\nGo."),
            "did you mean max_iterations?",
        ),
        (Some("---\nagent: nobody\n---\nGo."), "nobody"),
        (
            Some("---\nidempotency_key: x\n---\nGo."),
            "idempotency_key: is set by the schedule",
        ),
        (Some("Go."), ""),
    ]
    .into_iter()
    .enumerate()
    {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        clockwork.look(start() + (hour as i64 + 1) * HOUR).await;
        let ticks = clockwork.ticks("hourly");
        let (_, outcome, detail, session) = ticks.last().unwrap();
        let detail = detail.clone().unwrap_or_default();
        assert!(detail.contains(reason), "{detail}");
        let refused = !reason.is_empty();
        assert_eq!(outcome == "refused", refused);
        assert_eq!(session.is_none(), refused);
    }
    let told = "SELECT count(*) FROM events WHERE type = 'schedule.ticked' AND json_extract(data, '$.outcome') = 'refused'";
    assert_eq!(clockwork.count(told), 4);
}

#[tokio::test]
async fn a_pause_is_kept_and_then_caught_up_as_wanted() {
    for (catch_up, expected) in [
        ("none", ["1st", "2sk", "3sk", "4st"]),
        ("one", ["1st", "2sk", "3st", "4st"]),
        ("all", ["1st", "2st", "3st", "4st"]),
    ] {
        let state = tempfile::tempdir().unwrap();
        let config = schedule("hourly", "@hourly", &format!("catch_up = '{catch_up}'"));
        let clockwork = Clockwork::open(state.path(), &config);
        clockwork.look(start()).await;
        clockwork.look(start() + HOUR).await;
        clockwork.end_all(start() + HOUR).await;
        set_paused(&clockwork, true, start() + HOUR + MINUTE).await;
        clockwork.look(start() + 2 * HOUR).await;
        clockwork.look(start() + 3 * HOUR).await;
        assert_eq!(hours(&clockwork), expected[..1], "{catch_up}");
        // However soon after a tick: it came due in the pause.
        let resumed_ms = start() + 3 * HOUR + 10 * SECOND;
        set_paused(&clockwork, false, resumed_ms).await;
        clockwork.look(resumed_ms + SECOND).await;
        assert_eq!(hours(&clockwork), expected[..3], "{catch_up}");
        clockwork.end_all(resumed_ms + SECOND).await;
        clockwork.look(start() + 4 * HOUR).await;
        assert_eq!(hours(&clockwork), expected, "{catch_up}");
    }
}

#[tokio::test]
async fn what_is_new_changed_or_was_off_does_not_catch_up() {
    let state = tempfile::tempdir().unwrap();
    let all = "catch_up = 'all'\noverlap = 'queue'";
    let hourly = schedule("hourly", "@hourly", all);
    let open = |config: &str| Clockwork::open(state.path(), config);
    open(&hourly).look(start()).await;
    open(&hourly).look(start() + HOUR).await;
    // Another request, other rules: the same ticks.
    let other_rules = schedule(
        "hourly",
        "@hourly",
        "catch_up = 'all'\noverlap = 'queue'\njitter = '1s'",
    );
    open(&other_rules).look(start() + 3 * HOUR).await;
    assert_eq!(hours(&open(&hourly)), ["1st", "2st", "3st"]);
    // Other times.
    let changed = schedule("hourly", "30 * * * *", all);
    open(&changed).look(start() + 5 * HOUR).await;
    open(&changed).look(start() + 6 * HOUR).await;
    assert_eq!(hours(&open(&hourly)), ["1st", "2st", "3st", "5st"]);
    // Off, and on again.
    let off = schedule("hourly", "30 * * * *", "catch_up = 'all'\nenabled = false");
    open(&off).look(start() + 7 * HOUR).await;
    open(&changed).look(start() + 9 * HOUR).await;
    open(&changed).look(start() + 10 * HOUR).await;
    assert_eq!(hours(&open(&hourly)), ["1st", "2st", "3st", "5st", "9st"]);
    // Gone, and back again; its rows stayed.
    open("").look(start() + 11 * HOUR).await;
    open(&changed).look(start() + 13 * HOUR).await;
    assert_eq!(hours(&open(&hourly)).len(), 5);
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_tick_twice() {
    let state = tempfile::tempdir().unwrap();
    let clockwork = Clockwork::open(state.path(), &schedule("hourly", "@hourly", ""));
    let look = async |at_ms: i64| {
        clockwork.look(at_ms).await;
        clockwork.end_all(at_ms).await;
    };
    look(start()).await;
    look(start() + HOUR).await;
    look(start() + 2 * HOUR).await;
    // By moments: the tick is over.
    look(start() + 2 * HOUR - 5 * SECOND).await;
    look(start() + 2 * HOUR).await;
    assert_eq!(hours(&clockwork), ["1st", "2st"]);
    // By years, for a while: it goes on by the clock that it has.
    let years = 10 * 365 * 24 * HOUR;
    look(start() + years).await;
    look(start() + 30 * MINUTE).await;
    look(start() + HOUR).await;
    look(start() + 2 * HOUR).await;
    assert_eq!(hours(&clockwork)[..2], ["1st", "2st"]);
    look(start() + 3 * HOUR).await;
    let third = clockwork.ticks("hourly")[2].clone();
    // The wrong clock had it as missed; it comes all the same.
    assert_eq!((third.0, third.1.as_str()), (start() + 3 * HOUR, "started"));
    let sessions = "SELECT count(*) - count(DISTINCT dedupe_key) FROM sessions";
    assert_eq!(clockwork.count(sessions), 0);
}

#[tokio::test]
async fn more_than_the_maximum_is_told_of() {
    let state = tempfile::tempdir().unwrap();
    let config = schedule("hourly", "@hourly", "catch_up = 'all'");
    let clockwork = Clockwork::open(state.path(), &config);
    clockwork.look(start()).await;
    clockwork.look(start() + 200 * HOUR + 10 * MINUTE).await;
    assert_eq!(hours(&clockwork).len(), MAX_CAUGHT_UP);
    let database = clockwork.database();
    let sql =
        "SELECT data ->> 'from', data ->> 'until' FROM events WHERE type = 'schedule.dropped'";
    let told: (String, String) = database
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let expected = (
        "2026-11-20T17:00:00Z".to_owned(),
        "2026-11-24T20:00:00Z".to_owned(),
    );
    assert_eq!(told, expected);
    clockwork.look(start() + 200 * HOUR + 20 * MINUTE).await;
    assert_eq!(hours(&clockwork).len(), MAX_CAUGHT_UP, "they stay left out");
}
