//! Submitting: what is answered with 202 is on disk, `wait` brings the result, and what cannot be kept is refused with every reason.

use super::{ASKS, WAITS, done_at_once, for_later, submit};
use crate::support::{Daemon, Site, wait_for};
use serde_json::json;

#[test]
fn what_is_acknowledged_survives_kill_9() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    let answer = daemon
        .http()
        .post("/v1/sessions", &for_later("Paint the door."));
    daemon.kill9();
    let submitted = answer.clone().expect(202);
    let id = submitted["session_id"].as_str().unwrap();
    assert_eq!(submitted["new"], true);
    assert_eq!(submitted["url"], format!("/v1/sessions/{id}"));
    assert_eq!(answer.headers["location"], format!("/v1/sessions/{id}"));
    let stored: Vec<String> = daemon.column(
        "SELECT json_array(id, status, \"trigger\", objective, agent) FROM sessions",
        [],
    );
    assert_eq!(
        stored,
        [json!([id, "created", "api", "Paint the door.", "worker"]).to_string()]
    );
    daemon.restart();
    let shown = daemon.http().get(&format!("/v1/sessions/{id}")).expect(200);
    assert_eq!(shown["status"], "created");
}

#[test]
fn with_wait_the_answer_is_the_result() {
    let daemon = done_at_once();
    let http = daemon.http();
    let request = json!({ "objective": "Paint the door.", "labels": { "team": "infra" } });
    let answer = http.post("/v1/sessions?wait=600", &request);
    let place = answer.headers["location"].clone();
    let result = answer.expect(200);
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(result["final_answer"], "painted");
    assert_eq!(result["verified"], "claimed");
    assert_eq!(result["request"]["labels"]["team"], "infra");
    assert_eq!(
        place,
        format!("/v1/sessions/{}", result["id"].as_str().unwrap())
    );
    // Without a second to spare it is only taken.
    http.post("/v1/sessions?wait=0", &for_later("Another."))
        .expect(202);
}

#[test]
fn a_wait_ends_at_a_question_and_when_its_time_is_over() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    let http = daemon.http();
    let asking = http.post("/v1/sessions?wait=600", &json!({ "objective": "Paint." }));
    let asking = asking.expect(200);
    assert_eq!(asking["status"], "awaiting_human");
    assert_eq!(asking["human_context"]["question"], "Which pot of paint?");
    let later = http.post("/v1/sessions?wait=1", &for_later("Not today."));
    assert_eq!(later.expect(202)["new"], true);
}

#[test]
fn markdown_and_json_are_one_request() {
    let daemon = done_at_once();
    let http = daemon.http();
    let text = "---\nmax_iterations: 3\nnot_before: 2099-01-01T00:00:00Z\n---\nPaint the door.";
    for kind in [
        "text/markdown",
        "text/markdown; charset=utf-8",
        "text/plain",
    ] {
        let answer = http.with("content-type", kind);
        let answer = answer.call("POST", "/v1/sessions", text.as_bytes());
        let id = answer.expect(202)["session_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let shown = http.get(&format!("/v1/sessions/{id}")).expect(200);
        assert_eq!(shown["objective"], "Paint the door.");
        assert_eq!(shown["max_iterations"], 3);
    }
    let json = http.with("content-type", "application/vnd.ralphd+json");
    let body = for_later("Paint.").to_string();
    json.call("POST", "/v1/sessions", body.as_bytes())
        .expect(202);
}

#[test]
fn what_cannot_be_kept_is_refused_with_every_reason() {
    let daemon = done_at_once();
    let http = daemon.http();
    let request = json!({ "objective": "", "max_iterations": 0, "agnet": "worker" });
    let answer = http.post("/v1/sessions", &request);
    let problem = answer.json();
    let detail = answer.refused(422);
    for word in ["objective", "max_iterations", "agnet", "agent"] {
        assert!(detail.contains(word), "{detail}");
    }
    let mut keys: Vec<&str> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|error| error["key"].as_str())
        .collect();
    keys.sort_unstable();
    assert_eq!(keys, ["agnet", "max_iterations", "objective"], "{problem}");

    let body = |kind: &str, bytes: &[u8]| {
        let caller = http.with("content-type", kind);
        caller.call("POST", "/v1/sessions", bytes)
    };
    let cases: [(&str, &[u8], u16, &str); 6] = [
        ("application/json", b"{\"objective\": ", 422, "line 1"),
        (
            "application/json",
            b"{\"objective\": \"\xff\"}",
            400,
            "UTF-8",
        ),
        ("application/json", b"[]", 422, "is a list"),
        ("application/json", b"", 422, "not valid JSON"),
        (
            "application/x-www-form-urlencoded",
            b"a=b",
            415,
            "application/json",
        ),
        ("text/html", b"<p>", 415, "text/html"),
    ];
    for (kind, bytes, status, word) in cases {
        let detail = body(kind, bytes).refused(status);
        assert!(detail.contains(word), "{kind} {bytes:?}: {detail}");
    }
    for (path, word) in [
        ("/v1/sessions?wait=soon", "wait: must be a whole number"),
        ("/v1/sessions?wait=-1", "from 0 to 3600"),
        ("/v1/sessions?wait=3601", "from 0 to 3600"),
        ("/v1/sessions?wat=1", "unknown parameter 'wat'; known: wait"),
    ] {
        let detail = http.post(path, &for_later("Paint.")).refused(422);
        assert!(detail.contains(word), "{detail}");
    }
    let unknown = json!({ "objective": "Paint.", "agent": "nobody" });
    let detail = http.post("/v1/sessions", &unknown).refused(422);
    assert!(detail.contains("worker"), "the known ones: {detail}");
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 0);
}

#[test]
fn a_caller_who_goes_away_while_it_waits_takes_nothing_with_it() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    let http = daemon.http();
    let body = json!({ "objective": "Paint the door." }).to_string();
    let waiting = http.with("content-type", "application/json");
    let mut connection = waiting.connect();
    let head = waiting.head("POST", "/v1/sessions?wait=3600", body.len());
    std::io::Write::write_all(&mut connection, &[&head, body.as_bytes()].concat()).unwrap();
    wait_for("the session", || daemon.session("paint-the-door"));
    drop(connection);
    std::fs::write(daemon.file("go"), "").unwrap();
    assert_eq!(daemon.ended("paint-the-door").status, "completed");
    submit(&http, &for_later("The next one."));
}
