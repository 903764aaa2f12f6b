//! Manners of the protocol: methods, ids of calls, places that are not there, and how the daemon takes its leave.

use super::{WAITS, done_at_once, for_later, submit};
use crate::support::http::{Http, Opened};
use crate::support::{Daemon, Site, wait_for};
use serde_json::json;
use std::io::{Read, Write};

#[test]
fn methods_and_places() {
    let daemon = done_at_once();
    let http = daemon.http();
    let id = submit(&http, &for_later("Paint."));
    let one = format!("/v1/sessions/{id}");
    let cancel = format!("{one}/cancel");
    for path in [
        "/v1/sessions",
        &one,
        "/healthz",
        "/openapi.json",
        "/v1/events",
    ] {
        let head = http.call("HEAD", path, b"");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        assert!(head.headers.contains_key("content-type"), "{path}");
    }
    for (path, allowed) in [
        ("/v1/sessions", "POST, GET, HEAD, OPTIONS"),
        (one.as_str(), "GET, HEAD, OPTIONS"),
        (&cancel, "POST, OPTIONS"),
        ("/hooks/any", "POST, OPTIONS"),
    ] {
        let options = http.call("OPTIONS", path, b"");
        assert_eq!((options.status, options.body.as_str()), (204, ""), "{path}");
        assert_eq!(options.headers["allow"], allowed, "{path}");
        for method in ["DELETE", "PUT", "PATCH", "TRACE", "BREW"] {
            let answer = http.call(method, path, b"");
            assert_eq!(answer.headers["allow"], allowed, "{path}");
            let detail = answer.refused(405);
            assert!(
                detail.contains(method) && detail.contains(allowed),
                "{detail}"
            );
        }
    }
    http.call("POST", &one, b"{}").refused(405);
    http.call("GET", &cancel, b"").refused(405);
    let long = format!("/{}", "x".repeat(5_000));
    for path in [
        "/v1",
        "/v1/",
        "/v1/sessions/",
        "/v2/sessions",
        "//v1/sessions",
        "/V1/sessions",
        long.as_str(),
    ] {
        let detail = http.get(path).refused(404);
        assert!(
            detail.contains("/openapi.json") && detail.len() < 300,
            "{detail}"
        );
    }
    assert_eq!(daemon.session(&id).unwrap().status, "created");
}

#[test]
fn a_call_has_an_id_in_its_answer_and_in_the_log() {
    let site = Site::with_worker("echo TASK_COMPLETE").configure("[log]\nlevel = \"debug\"\n");
    let daemon = Daemon::start(site);
    let http = daemon.http();
    let named = http.with("x-request-id", "my-call.1");
    for answer in [named.get("/v1/sessions"), named.get("/nowhere")] {
        assert_eq!(answer.headers["x-request-id"], "my-call.1");
    }
    let given = http.get("/v1/sessions").headers["x-request-id"].clone();
    let again = http.get("/v1/sessions").headers["x-request-id"].clone();
    assert!(given != again && given.len() == 36, "{given}");
    let log = daemon.log();
    for (id, status) in [("my-call.1", "200"), ("my-call.1", "404"), (&given, "200")] {
        let mut lines = log.lines();
        let line = lines.find(|line| {
            line.contains(&format!("id={id}")) && line.contains(&format!("status={status}"))
        });
        assert!(line.is_some_and(|line| line.contains("GET")), "{log}");
    }
    // Nobody writes lines of their own into the log.
    for odd in ["a b", "a\tlevel=ERROR", "", "\u{e9}", &"x".repeat(65)] {
        let answer = http.with("x-request-id", odd).get("/healthz");
        assert_eq!(answer.headers["x-request-id"].len(), 36, "{odd:?}");
    }
}

/// A call after which the connection stays.
fn kept_open(http: &Http) -> String {
    format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", http.address)
}

#[test]
fn several_calls_on_one_connection() {
    let daemon = done_at_once();
    let http = daemon.http();
    let mut connection = http.connect();
    let call = kept_open(&http);
    let last = format!(
        "GET /healthz HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        http.address
    );
    connection.write_all(call.repeat(9).as_bytes()).unwrap();
    connection.write_all(last.as_bytes()).unwrap();
    let mut all = String::new();
    connection.read_to_string(&mut all).unwrap();
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 10, "{all}");
}

#[test]
fn the_daemon_lets_calls_finish_and_takes_no_more() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    let http = daemon.http();
    let json = http.with("content-type", "application/json");
    // One waits for a result that will not come.
    let body = json!({ "objective": "Paint the door." }).to_string();
    let mut waiting = json.connect();
    let head = json.head("POST", "/v1/sessions?wait=3600", body.len());
    waiting
        .write_all(&[&head, body.as_bytes()].concat())
        .unwrap();
    wait_for("the agent", || (daemon.runs("worker") == 1).then_some(()));
    // One has sent half of its request; that the other half was asked for says that it is being read.
    let body = for_later("Sent in two halves.").to_string();
    let mut halved = json.connect();
    let expecting = json.with("expect", "100-continue");
    let head = expecting.head("POST", "/v1/sessions", body.len());
    halved.write_all(&head).unwrap();
    let mut asked = [0; 25];
    halved.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    halved.write_all(&body.as_bytes()[..20]).unwrap();
    // One is idle; that it was answered says that it was let in.
    let mut idle = http.connect();
    idle.write_all(kept_open(&http).as_bytes()).unwrap();
    idle.read_exact(&mut [0; 1]).unwrap();

    let pid = rustix::process::Pid::from_raw(daemon.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let told = Opened::read(waiting);
    assert_eq!(told.status, 202, "it is taken, and not done yet");
    let mut answered = String::new();
    idle.read_to_string(&mut answered).unwrap();
    assert!(answered.starts_with("TTP/1.1 200 OK"), "{answered}");
    wait_for("nobody to be let in", || {
        std::net::TcpStream::connect(http.address).err()
    });
    halved.write_all(&body.as_bytes()[20..]).unwrap();
    let taken = Opened::read(halved);
    assert_eq!(taken.status, 202);
    assert_eq!(daemon.wait_for_exit().code(), Some(0));
    let id = taken.headers["location"]
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(daemon.session(&id).unwrap().status, "created");
    daemon.assert_nothing_runs();
}
