//! One key is one session, whichever ways its requests come; and every sender is told which.

use super::{for_later, submit};
use crate::hooks::{BEARER_SECRET, Post};
use crate::support::{Daemon, Site, wait_for};
use serde_json::{Value as Json, json};

const HOOK: &str = "
[hooks.bearer]
verify = 'bearer'
secret_env = 'BEARER_HOOK'
request = { objective = 'Look at {{ payload.text }}', not_before = '2099-01-01T00:00:00Z' }
";

fn daemon() -> Daemon {
    let site = Site::with_worker("echo TASK_COMPLETE").configure(HOOK);
    Daemon::start(site.variable("BEARER_HOOK", BEARER_SECRET))
}

/// The id that a way in answers with for a request under this key.
fn by(way: &str, daemon: &Daemon, key: &str) -> String {
    let http = daemon.http();
    let id = |answer: Json| answer["session_id"].as_str().unwrap().to_owned();
    match way {
        "header" => {
            let caller = http.with("idempotency-key", key);
            submit(&caller, &for_later("Paint."))
        }
        "body" => {
            let mut request = for_later("Paint.");
            request["idempotency_key"] = key.into();
            submit(&http, &request)
        }
        "harness" => {
            let mut question = for_later("Paint.");
            let fields = question.as_object_mut().unwrap();
            let objective = fields.remove("objective").unwrap();
            fields.insert("question".to_owned(), objective);
            let caller = http.with("idempotency-key", key);
            id(caller
                .post("/webhook/agent-harness?wait=0", &question)
                .expect(202))
        }
        "webhook" => {
            let post = Post::bearer(BEARER_SECRET, r#"{"text": "once"}"#);
            let answer = post.with("idempotency-key", key).send(&http, "bearer");
            assert!([200, 202].contains(&answer.status), "{answer:?}");
            id(answer.json())
        }
        "cli" => {
            let file = daemon.file("request.json");
            std::fs::write(&file, for_later("Paint.").to_string()).unwrap();
            let file = file.to_str().unwrap();
            let submit = ["submit", file, "--idempotency-key", key];
            daemon.ralphd(&submit).done().trim().to_owned()
        }
        "inbox" => {
            let mut request = for_later("Paint.");
            request["idempotency_key"] = key.into();
            daemon.drop_file(&format!("{key}.json"), &request.to_string());
            // A file is renamed to the session that stands for it.
            wait_for("the file to be accepted", || {
                let accepted = std::fs::read_dir(daemon.inbox().join("accepted")).ok()?;
                let mut names = accepted.flatten().map(|entry| entry.file_name());
                names.find_map(|name| {
                    let name = name.to_str()?.strip_suffix(&format!(".{key}.json"))?;
                    Some(name.to_owned())
                })
            })
        }
        other => panic!("no way {other}"),
    }
}

#[test]
fn one_key_by_every_way_in_is_one_session_and_all_get_its_id() {
    const WAYS: [&str; 6] = ["header", "body", "harness", "webhook", "cli", "inbox"];
    let daemon = daemon();
    for (number, first) in WAYS.into_iter().enumerate() {
        let key = format!("key-{number}");
        let id = by(first, &daemon, &key);
        for way in WAYS.into_iter().filter(|way| *way != first) {
            assert_eq!(
                by(way, &daemon, &key),
                id,
                "first by {first}, then by {way}"
            );
        }
        let sessions = daemon.count("SELECT count(*) FROM sessions");
        assert_eq!(sessions, number as i64 + 1, "first by {first}");
    }
}

#[test]
fn a_second_submission_says_that_it_is_not_new() {
    let daemon = daemon();
    let http = daemon.http().with("idempotency-key", "once");
    let first = http.post("/v1/sessions", &for_later("Paint.")).expect(202);
    let again = http.post("/v1/sessions", &for_later("Paint.")).expect(202);
    assert_eq!(first["new"], true);
    assert_eq!(
        again,
        json!({ "session_id": first["session_id"], "new": false, "url": first["url"] })
    );
}

#[test]
fn a_hundred_at_once_are_one_session() {
    let daemon = daemon();
    let http = daemon.http().with("idempotency-key", "at-once");
    let mut answers: Vec<(String, bool)> = std::thread::scope(|scope| {
        let call = || {
            let answer = http.post("/v1/sessions", &for_later("Paint.")).expect(202);
            let id = answer["session_id"].as_str().unwrap().to_owned();
            (id, answer["new"].as_bool().unwrap())
        };
        let calls: Vec<_> = (0..100).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|(_, new)| *new).count(), 1);
    answers.dedup_by(|one, other| one.0 == other.0);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);
}

#[test]
fn keys_that_are_none() {
    let daemon = daemon();
    let http = daemon.http();
    let with = |key: &str| http.with("idempotency-key", key);
    for key in ["", "  ", "k\u{e9}y", &"k".repeat(256)] {
        let detail = with(key)
            .post("/v1/sessions", &for_later("Paint."))
            .refused(422);
        assert!(detail.contains("Idempotency-Key"), "{detail}");
    }
    let twice = with("one").with("idempotency-key", "two");
    let detail = twice
        .post("/v1/sessions", &for_later("Paint."))
        .refused(422);
    assert!(detail.contains("Idempotency-Key"), "{detail}");
    let mut request = for_later("Paint.");
    request["idempotency_key"] = "other".into();
    let detail = with("one").post("/v1/sessions", &request).refused(422);
    assert!(detail.contains("differ"), "{detail}");
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 0);
    submit(&with(&"k".repeat(255)), &for_later("Paint."));
}
