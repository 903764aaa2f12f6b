//! Acting on sessions: each verb of the API does what the command of the same name does, and says how the session stands then.

use super::{ASKS, WAITS, done_at_once, for_later, submit};
use crate::plans::stage::{Stage, shell};
use crate::support::http::Http;
use crate::support::{Daemon, Site, wait_for};
use serde_json::{Value as Json, json};

/// Does something to a session that allows it.
fn act(http: &Http, id: &str, verb: &str, body: Json) -> Json {
    http.post(&format!("/v1/sessions/{id}/{verb}"), &body)
        .expect(200)
}

/// The same where it is not allowed.
fn refused(http: &Http, id: &str, verb: &str, body: Json, status: u16) -> String {
    let answer = http.post(&format!("/v1/sessions/{id}/{verb}"), &body);
    answer.refused(status)
}

#[test]
fn a_question_is_answered() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    let http = daemon.http();
    for (words, by) in [("the blue one", "words"), ("2", "the number of an option")] {
        let asking = http.post("/v1/sessions?wait=600", &json!({ "objective": "Paint." }));
        let id = asking.expect(200)["id"].as_str().unwrap().to_owned();
        let shown = http.get(&format!("/v1/sessions/{id}")).expect(200);
        assert_eq!(shown["questions"][0]["question"], "Which pot of paint?");
        assert_eq!(shown["questions"][0]["status"], "waiting");
        for blank in ["", " \n"] {
            let detail = refused(&http, &id, "answer", json!({ "answer": blank }), 422);
            assert!(detail.contains("must not be blank"), "{detail}");
        }
        let detail = refused(&http, &id, "answer", json!({ "anwser": words }), 422);
        assert!(detail.contains("`anwser`"), "{detail}");
        refused(&http, &id, "answer", json!({}), 422);
        refused(&http, &id, "answer", json!("the blue one"), 422);
        let stands = act(&http, &id, "answer", json!({ "answer": words }));
        assert_ne!(stands["status"], "awaiting_human", "by {by}");
        assert_eq!(daemon.ended(&id).answer(), "painted", "by {by}");
        let detail = refused(&http, &id, "answer", json!({ "answer": "2" }), 409);
        assert!(detail.contains("completed"), "{detail}");
    }
}

#[test]
fn an_answer_that_comes_again_is_none_to_the_next_question() {
    let asks_twice = r#"prompt=$(cat); mkdir -p state
        ask() { echo "{\"question\": \"$1\"}" >state/question.json; echo 'I have to ask.'; }
        case "$prompt" in
        *'Delete production?'*) echo TASK_COMPLETE;;
        *'Keep a backup?'*) ask 'Delete production?';;
        *) ask 'Keep a backup?';;
        esac"#;
    let daemon = Daemon::start(Site::with_worker(asks_twice));
    let http = daemon.http();
    let request = json!({ "objective": "Tidy up." });
    let asking = http.post("/v1/sessions?wait=600", &request).expect(200);
    let id = asking["id"].as_str().unwrap();
    let shown = http.get(&format!("/v1/sessions/{id}")).expect(200);
    let first = shown["questions"][0]["id"].as_str().unwrap().to_owned();
    let once = http.with("Idempotency-Key", "once");
    act(&once, id, "answer", json!({ "answer": "yes" }));
    let open = "SELECT id FROM human_requests WHERE status = 'waiting' AND question = 'Delete production?'";
    let second: String = wait_for("the second question", || daemon.cell(open, []));
    // As a client says it again that has not heard the reply, and as one that did not look again.
    let stands = act(&once, id, "answer", json!({ "answer": "yes" }));
    assert_eq!(stands["status"], "awaiting_human");
    let to_first = json!({ "answer": "yes", "question": first });
    let detail = refused(&http, id, "answer", to_first, 409);
    assert!(detail.contains("no longer waits"), "{detail}");
    let approval = json!({ "question": first });
    refused(&http, id, "approve", approval, 409);
    let resume = json!({ "session_id": id, "human_response": "yes" });
    let answer = once.post("/webhook/agent-harness-resume?wait=0", &resume);
    assert_eq!(answer.expect(200)["status"], "awaiting_human");
    assert_eq!(daemon.cell::<String>(open, []).as_ref(), Some(&second));
    act(
        &http,
        id,
        "answer",
        json!({ "answer": "no", "question": second }),
    );
    daemon.ended(id);
    let answers: Vec<String> = daemon.column("SELECT answer FROM human_requests ORDER BY id", []);
    assert_eq!(answers, ["yes", "no"]);
}

#[test]
fn a_gate_is_opened_and_shut() {
    let stage = Stage::open();
    let tasks = json!([shell(1, &[], "touch ran; echo one")]);
    stage.case("gate").plan(tasks);
    let http = stage.http();
    let request =
        json!({ "objective": "Do what case gate is about.", "plan": "auto", "autonomy": 1 });
    let asking = http.post("/v1/sessions?wait=600", &request).expect(200);
    let id = asking["id"].as_str().unwrap();
    assert_eq!(
        asking["human_context"]["options"],
        json!(["approve", "reject"])
    );
    let detail = refused(&http, id, "answer", json!({ "answer": "perhaps" }), 422);
    assert!(detail.contains("approve"), "{detail}");

    let paused = act(&http, id, "reject", json!({ "reason": "not on a Friday" }));
    assert_eq!(paused["status"], "paused", "{paused}");
    let shown = http.get(&format!("/v1/sessions/{id}")).expect(200);
    assert_eq!(shown["questions"][0]["status"], "rejected");
    assert_eq!(shown["questions"][0]["answer"], "not on a Friday");
    refused(&http, id, "approve", json!({}), 409);
    refused(&http, id, "reject", json!({}), 409);

    act(&http, id, "resume", json!({}));
    stage.in_state(id, "awaiting_human");
    act(&http, id, "approve", json!({}));
    let session = stage.ended(id);
    assert_eq!(session.status, "completed");
    assert!(session.workspace.join("ran").exists());
}

#[test]
fn what_is_told_is_in_the_next_prompt() {
    let script = r#"if grep -q 'Use tabs'; then echo TASK_COMPLETE; else
        touch "$HERE/began"; until [ -e "$HERE/go" ]; do sleep 0.02; done; echo more; fi"#;
    let daemon = Daemon::start(Site::with_worker(script));
    let http = daemon.http();
    let id = submit(&http, &json!({ "objective": "Paint the door." }));
    wait_for("the agent", || daemon.file("began").exists().then_some(()));
    refused(&http, &id, "tell", json!({ "text": " " }), 422);
    let long = "so many words ".repeat(5_000);
    let detail = refused(&http, &id, "tell", json!({ "text": long }), 422);
    assert!(detail.contains("at most 65536 bytes"), "{detail}");
    let stands = act(&http, &id, "tell", json!({ "text": "Use tabs." }));
    assert_eq!(stands["status"], "executing");
    std::fs::write(daemon.file("go"), "").unwrap();
    let session = daemon.ended(&id);
    assert_eq!(
        (session.status.as_str(), session.iteration_count),
        ("completed", 2)
    );
    let detail = refused(&http, &id, "tell", json!({ "text": "Too late." }), 409);
    assert!(detail.contains("completed"), "{detail}");
}

#[test]
fn a_session_is_paused_resumed_and_cancelled() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    let http = daemon.http();
    let id = submit(&http, &json!({ "objective": "Paint the door." }));
    wait_for("the agent", || (daemon.runs("worker") == 1).then_some(()));
    // What runs may finish; then it stands still.
    let stands = act(&http, &id, "pause", json!({}));
    assert_eq!(
        (&stands["status"], &stands["control"]),
        (&json!("executing"), &json!("pause"))
    );
    act(&http, &id, "pause", json!({ "now": true }));
    daemon.in_state(&id, "paused");
    daemon.assert_nothing_runs();
    refused(&http, &id, "pause", json!({ "now": "yes" }), 422);
    let stands = act(&http, &id, "resume", json!({}));
    assert_ne!(stands["status"], "paused");
    wait_for("the agent again", || {
        (daemon.runs("worker") == 2).then_some(())
    });
    let detail = refused(&http, &id, "resume", json!({}), 409);
    assert!(detail.contains("executing"), "{detail}");
    act(&http, &id, "cancel", json!({}));
    assert_eq!(daemon.ended(&id).ending(), ("cancelled", "cancelled"));
    for verb in ["cancel", "pause", "resume", "approve", "reject"] {
        let detail = refused(&http, &id, verb, json!({}), 409);
        assert!(detail.contains("cancelled"), "{verb}: {detail}");
    }
    wait_for("nothing to run", || {
        daemon.turn_processes().is_empty().then_some(())
    });
    // No body at all says as much as an empty one.
    let other = submit(&http, &for_later("Another."));
    http.call("POST", &format!("/v1/sessions/{other}/cancel"), b"")
        .expect(200);
    assert_eq!(daemon.ended(&other).status, "cancelled");
}

#[test]
fn an_ended_session_begins_again_afresh_or_where_it_was() {
    let script = r#"echo "turn $TURNS" >>notes; echo "turn $TURNS"; [ "$TURNS" -lt 3 ] || echo TASK_COMPLETE"#;
    let daemon = Daemon::start(Site::with_worker(script));
    let http = daemon.http();
    let request = json!({ "objective": "Paint.", "max_iterations": 1, "idempotency_key": "first" });
    let failed = http.post("/v1/sessions?wait=600", &request).expect(200);
    assert_eq!(failed["end_reason"], "max_iterations");
    let id = failed["id"].as_str().unwrap();
    let again = |verb: &str, body: Json| {
        let answer = http.post(&format!("/v1/sessions/{id}/{verb}"), &body);
        let submitted = answer.expect(202);
        assert_eq!(submitted["new"], true);
        daemon.ended(submitted["session_id"].as_str().unwrap())
    };
    let gone_on = again("continue", json!({ "max_iterations": 1 }));
    assert_eq!(gone_on.follows.as_deref(), Some(id));
    assert_eq!(gone_on.workspace, daemon.session(id).unwrap().workspace);
    assert_eq!(gone_on.ending(), ("failed", "max_iterations"));
    let afresh = again("retry", json!({}));
    assert_eq!(afresh.follows.as_deref(), Some(id));
    assert_ne!(afresh.workspace, gone_on.workspace);
    assert_eq!(afresh.status, "completed");

    let caller = http.with("idempotency-key", "again");
    let path = format!("/v1/sessions/{id}/retry");
    let once = caller.post(&path, &json!({})).expect(202);
    let twice = caller.post(&path, &json!({})).expect(202);
    assert_eq!(once["session_id"], twice["session_id"]);
    assert_eq!(twice["new"], false);

    let detail = refused(&http, id, "continue", json!({ "max_iteration": 3 }), 422);
    assert!(detail.contains("max_iterations"), "{detail}");
    let open = submit(&http, &for_later("Not begun."));
    for verb in ["retry", "continue"] {
        let detail = refused(&http, &open, verb, json!({}), 409);
        assert!(detail.contains("not ended"), "{detail}");
    }
}

#[test]
fn bodies_that_are_none() {
    let daemon = done_at_once();
    let http = daemon.http();
    let id = submit(&http, &for_later("Paint."));
    let path = format!("/v1/sessions/{id}/cancel");
    let sent = |kind: &str, bytes: &[u8]| {
        let caller = http.with("content-type", kind);
        caller.call("POST", &path, bytes)
    };
    sent("application/json", b"{").refused(400);
    sent("application/json", b"\xff").refused(400);
    sent("application/json", b"[]").refused(422);
    sent("application/json", br#"{"why": "so"}"#).refused(422);
    sent("text/plain", b"{}").refused(415);
    assert_eq!(daemon.session(&id).unwrap().status, "created");
}
