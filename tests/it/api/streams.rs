//! Event streams: from where the caller left off, alive while nothing happens, over when the session is; and no reader holds up another.

use super::{WAITS, done_at_once, for_later, submit};
use crate::support::http::{Http, Opened};
use crate::support::receiver::Receiver;
use crate::support::{Daemon, Site, wait_for};
use serde_json::{Value as Json, json};

/// One event as it was sent.
#[derive(Debug)]
struct Told {
    id: i64,
    kind: String,
    data: Json,
}

/// The next event of a stream, whatever signs of life come before it; nothing at its end.
fn next(stream: &mut Opened) -> Option<Told> {
    let (mut id, mut kind, mut data) = (None, None, None);
    while let Some(line) = stream.line() {
        match line.split_once(": ") {
            Some(("id", value)) => id = Some(value.parse().unwrap()),
            Some(("event", value)) => kind = Some(value.to_owned()),
            Some(("data", value)) => data = Some(value.parse().unwrap()),
            Some(("" | "retry", _)) => {}
            None if line.is_empty() && data.is_some() => {
                return Some(Told {
                    id: id.unwrap(),
                    kind: kind.unwrap(),
                    data: data.unwrap(),
                });
            }
            None if line.is_empty() => {}
            _ => panic!("no line of an event stream: {line:?}"),
        }
    }
    None
}

fn to_the_end(mut stream: Opened) -> Vec<Told> {
    std::iter::from_fn(|| next(&mut stream)).collect()
}

fn open(http: &Http, path: &str) -> Opened {
    let stream = http.open(path);
    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    assert_eq!(stream.headers["cache-control"], "no-store");
    stream
}

#[test]
fn a_session_is_followed_from_its_beginning_to_its_end() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    let http = daemon.http();
    let id = submit(&http, &json!({ "objective": "Paint the door." }));
    let path = format!("/v1/sessions/{id}/events");
    let mut stream = open(&http, &path);
    let first = next(&mut stream).unwrap();
    assert_eq!(first.kind, "session.created");
    submit(&http, &for_later("Somebody else's."));
    std::fs::write(daemon.file("go"), "").unwrap();
    let mut told = to_the_end(stream);
    told.insert(0, first);
    assert_eq!(told.last().unwrap().kind, "session.completed");
    let rows = "SELECT seq || ' ' || type FROM events WHERE session_id = ?1 ORDER BY seq";
    let rows: Vec<String> = daemon.column(rows, [&id]);
    let seen: Vec<String> = told
        .iter()
        .map(|one| format!("{} {}", one.id, one.kind))
        .collect();
    assert_eq!(seen, rows);
    for one in &told {
        assert_eq!(one.data["seq"], one.id);
        assert_eq!(one.data["type"], one.kind.as_str());
        assert_eq!(one.data["session_id"], id.as_str());
    }

    // From any point of it on, by header or by parameter; the header is what browsers send.
    let half = told.len() / 2;
    let last_id = told[half - 1].id.to_string();
    let after = http.with("last-event-id", &last_id);
    for stream in [
        open(&after, &path),
        open(&http, &format!("{path}?after={last_id}")),
    ] {
        let rest: Vec<i64> = to_the_end(stream).iter().map(|one| one.id).collect();
        let expected: Vec<i64> = told[half..].iter().map(|one| one.id).collect();
        assert_eq!(rest, expected);
    }
    // All of it was told: a browser that comes back is sent away for good.
    let end = told.last().unwrap().id.to_string();
    let answer = http.with("last-event-id", &end).get(&path);
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    // Its address is the one that it began with.
    let answer = http
        .with("last-event-id", &end)
        .get(&format!("{path}?after=0"));
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    for bad in ["-1", "x", "1e3"] {
        http.with("last-event-id", bad).get(&path).refused(422);
        http.get(&format!("{path}?after={bad}")).refused(422);
    }
}

#[test]
fn what_comes_after_the_end_is_told_and_ends_the_stream_too() {
    // Whoever is called back wants nothing of it, and that is noted behind the end of the session.
    let receiver = Receiver::answering(|_, _| 410.into());
    let site = Site::with_worker("echo TASK_COMPLETE");
    let daemon = Daemon::start(site.configure("[callbacks]\nallow_private = true\n"));
    let http = daemon.http();
    let request = json!({ "objective": "Paint the door.", "callback_url": receiver.url("/") });
    let id = submit(&http, &request);
    let seq_of = |kind: &str| -> i64 {
        let sql = "SELECT seq FROM events WHERE session_id = ?1 AND type = ?2";
        wait_for(kind, || daemon.cell(sql, [id.as_str(), kind]))
    };
    let (end, late) = (seq_of("session.completed"), seq_of("notice.given_up"));
    assert!(end < late);
    let path = format!("/v1/sessions/{id}/events");
    let after = |seq: i64| http.with("last-event-id", &seq.to_string());
    let rest = to_the_end(open(&after(end), &path));
    assert_eq!(rest.last().unwrap().id, late);
    assert_eq!(to_the_end(open(&http, &path)).last().unwrap().id, late);
    assert_eq!(after(late).get(&path).status, 204);
}

#[test]
fn a_history_that_fills_its_pages_ends_without_a_wait() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let daemon = Daemon::start(site.configure("[http]\nheartbeat = \"1h\"\n"));
    let http = daemon.http();
    let id = submit(&http, &json!({ "objective": "Paint the door." }));
    let path = format!("/v1/sessions/{id}/events");
    to_the_end(open(&http, &path));
    // As many as are read in one go, so that only a look that finds nothing tells that there are no more.
    let fill = "WITH RECURSIVE more(n) AS (
            SELECT count(*) + 1 FROM events WHERE session_id = ?1 UNION ALL SELECT n + 1 FROM more WHERE n < 256)
        INSERT INTO events (session_id, at_ms, type, data) SELECT ?1, 0, 'daemon.stopped', '{\"worker\": \"w\"}' FROM more";
    let sql = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    sql.execute(fill, [&id]).unwrap();
    assert_eq!(to_the_end(open(&http, &path)).len(), 256);
}

#[test]
fn all_sessions_are_followed_from_now_on_over_a_restart() {
    let mut daemon = done_at_once();
    let http = daemon.http();
    submit(&http, &for_later("Before."));
    let mut stream = open(&http, "/v1/events");
    let one = submit(&http, &for_later("One."));
    let told = next(&mut stream).unwrap();
    assert_eq!(
        (told.kind.as_str(), &told.data["session_id"]),
        ("session.created", &json!(one))
    );
    daemon.kill9();
    let file = daemon.file("request.json");
    std::fs::write(&file, for_later("Two.").to_string()).unwrap();
    let two = daemon.ralphd(&["submit", file.to_str().unwrap()]).done();
    daemon.restart();
    let http = daemon.http().with("last-event-id", &told.id.to_string());
    let mut stream = open(&http, "/v1/events");
    let told = std::iter::from_fn(|| next(&mut stream));
    let mut made = told.filter(|one| one.kind == "session.created");
    assert_eq!(made.next().unwrap().data["session_id"], two.trim());
    // And what another process writes while it is watched.
    let three = daemon.ralphd(&["submit", file.to_str().unwrap()]).done();
    assert_eq!(made.next().unwrap().data["session_id"], three.trim());
}

#[test]
fn who_was_told_nothing_yet_can_come_back_too() {
    let mut daemon = done_at_once();
    let http = daemon.http();
    submit(&http, &for_later("Before."));
    let mut stream = open(&http, "/v1/events");
    let first = stream.line().unwrap();
    let id = first
        .strip_prefix("id: ")
        .unwrap_or_else(|| panic!("{first}"));
    daemon.kill9();
    daemon.restart();
    let mut stream = open(&daemon.http().with("last-event-id", id), "/v1/events");
    assert_eq!(next(&mut stream).unwrap().kind, "daemon.started");
}

#[test]
fn a_silent_stream_shows_signs_of_life() {
    let site = Site::with_worker("echo TASK_COMPLETE").configure("[http]\nheartbeat = \"20ms\"\n");
    let daemon = Daemon::start(site);
    let http = daemon.http();
    let id = submit(&http, &for_later("Paint."));
    for path in ["/v1/events".to_owned(), format!("/v1/sessions/{id}/events")] {
        let mut stream = open(&http, &path);
        for _ in 0..3 {
            while stream.line().unwrap() != ": alive" {}
        }
        submit(&http, &for_later("Something happens."));
    }
}

#[test]
fn a_reader_that_never_reads_is_cut_off_and_harms_nobody() {
    let quick = "[http]\nclient_timeout = \"1s\"\n[log]\nlevel = \"debug\"\n";
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE").configure(quick));
    let http = daemon.http();
    let id = submit(&http, &for_later("Paint."));
    // More than the buffers of any connection hold.
    let text = "so many words ".repeat(4_500);
    for _ in 0..300 {
        let path = format!("/v1/sessions/{id}/tell");
        http.post(&path, &json!({ "text": text })).expect(200);
    }
    let lazy = http.connect();
    let head = http.head("GET", &format!("/v1/sessions/{id}/events"), 0);
    std::io::Write::write_all(&mut &lazy, &head).unwrap();
    let stuck = lazy.local_addr().unwrap().to_string();
    let mut watcher = open(&http, "/v1/events");
    wait_for("the lazy reader to be cut off", || {
        let next_one = submit(&http, &for_later("Others go on."));
        assert_eq!(
            next(&mut watcher).unwrap().data["session_id"],
            next_one.as_str()
        );
        let log = daemon.log();
        let mut lines = log.lines();
        lines
            .any(|line| line.contains(&stuck) && line.contains("broke off"))
            .then_some(())
    });
}

#[test]
fn the_end_of_the_daemon_is_the_end_of_streams() {
    let mut daemon = done_at_once();
    let http = daemon.http();
    let id = submit(&http, &for_later("Paint."));
    let all = open(&http, "/v1/events");
    let one = open(&http, &format!("/v1/sessions/{id}/events"));
    assert_eq!(daemon.terminate().code(), Some(0));
    to_the_end(all);
    assert_eq!(to_the_end(one)[0].kind, "session.created");
}

#[test]
fn a_stream_ends_when_its_token_holds_no_more() {
    let site = Site::with_worker("echo TASK_COMPLETE").configure("[http]\nheartbeat = \"20ms\"\n");
    let daemon = Daemon::start(site);
    let other = super::token(&daemon, &[]);
    let shown = daemon
        .ralphd(&["token", "new", "watcher", "--scope", "read"])
        .done();
    let http = daemon.http().bearing(shown.trim());
    let stream = open(&http, "/v1/events");
    daemon.ralphd(&["token", "revoke", "watcher"]).done();
    to_the_end(stream);
    open(&daemon.http().bearing(&other), "/v1/events");
}
