//! The two older contracts, word for word as their documents have them: a question with its answer, the form that waits for a person,
//! the two ways to answer it, and how far a session is.

use crate::plans::stage::{Stage, shell, with};
use crate::support::http::Http;
use crate::support::{Site, wait_for};
use serde_json::{Value as Json, json};

const HARNESS: &str = "/webhook/agent-harness";
const RESUME: &str = "/webhook/agent-harness-resume";
const RESPONSE: &str = "/webhook/agent-human-response";
const ANSWER: &str =
    "The total revenue from East region customers is **$125,000**, from 3 customers.";

/// The request of S0, as it stands there.
fn question() -> Json {
    json!({
        "question": "Total revenue from East region customers",
        "notebook_id": "166d1752-3e3b-4164-a406-17ecac24424f",
        "user_id": "user_abc",
        "conversation_id": "conv_123",
        "inference_config": { "provider": "openai", "model": "gpt-4o-mini", "temperature": 0 },
        "system_prompts": { "dataset": "...", "retrieval": "..." },
    })
}

/// Four tasks, of which the first chooses between two files and the third waits for the test.
fn stage(first_says: &str) -> Stage {
    let site = Site::new();
    let go = site.file("go").display().to_string();
    let wait = format!("until [ -e '{go}' ]; do sleep 0.02; done; echo 125000");
    let stage = Stage::on(site, "");
    // The question names no case: its scripts are those of the case without a name.
    stage
        .case("")
        .plan(json!([
            {"order": 1, "type": "discovery", "description": "Identify correct revenue source", "depends_on": null},
            shell(2, &[1], "echo 3"),
            with(shell(3, &[2], &wait), json!({"description": "Sum revenue from filtered customers"})),
            {"order": 4, "type": "validation", "description": "Verify sum is reasonable", "depends_on": 3},
        ]))
        .says("analyst", first_says)
        .says("summarizer", ANSWER);
    stage
}

const CERTAIN: &str = r#"{"decision": "customers.xlsx", "reasoning": "It has the column.", "confidence": "high", "options": [], "question": null}"#;
const UNCERTAIN: &str = r#"{"decision": null, "reasoning": "Multiple datasets contain revenue-like columns", "confidence": "low",
    "options": ["customers.xlsx - has customer-level revenue", "orders.xlsx - has order-level amounts"],
    "question": "I found 2 datasets with revenue data. Which one should I use?"}"#;

/// The names of an object's fields, sorted.
fn fields(object: &Json) -> Vec<&str> {
    let mut names: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names
}

/// The answer to a question that was answered; S0's fields and S1's are both in it.
fn assert_completed(outcome: &Json) {
    let expected = [
        "answer",
        "duration_ms",
        "session_id",
        "status",
        "success",
        "summary",
        "tasks_completed",
        "tasks_failed",
    ];
    assert_eq!(fields(outcome), expected, "{outcome}");
    assert_eq!(outcome["success"], true);
    assert_eq!(outcome["status"], "completed");
    assert_eq!(outcome["answer"], ANSWER);
    assert_eq!(outcome["summary"], "Step by step.");
    assert_eq!(outcome["tasks_completed"], 4);
    assert_eq!(outcome["tasks_failed"], 0);
    assert!(outcome["duration_ms"].as_i64().unwrap() >= 0);
}

fn status(http: &Http, id: &str) -> Json {
    let path = format!("/webhook/agent-harness-status?session_id={id}");
    http.get(&path).expect(200)
}

#[test]
fn a_question_is_asked_followed_and_answered() {
    let stage = stage(CERTAIN);
    let http = stage.http();
    let outcome = std::thread::scope(|scope| {
        let asking = scope.spawn(|| http.post(HARNESS, &question()));
        let sessions = "SELECT id FROM sessions";
        let id: String = wait_for("the session", || stage.cell(sessions, []));
        let running = wait_for("its third task", || {
            let status = status(&http, &id);
            (status["progress"]["completed"] == 2).then_some(status)
        });
        let running = match running["progress"]["current_task"].is_string() {
            true => running,
            false => wait_for("a current task", || {
                let status = status(&http, &id);
                status["progress"]["current_task"]
                    .is_string()
                    .then_some(status)
            }),
        };
        assert_eq!(
            fields(&running),
            ["created_at", "progress", "session_id", "status"]
        );
        assert_eq!(running["session_id"], id.as_str());
        assert_eq!(running["status"], "executing");
        let progress = json!({
            "total_tasks": 4, "completed": 2, "failed": 0,
            "current_task": "Sum revenue from filtered customers",
        });
        assert_eq!(running["progress"], progress);
        let created = running["created_at"].as_str().unwrap();
        assert!(created.parse::<jiff::Timestamp>().is_ok(), "{created}");
        std::fs::write(stage.file("go"), "").unwrap();
        asking.join().unwrap().expect(200)
    });
    assert_completed(&outcome);
    let id = outcome["session_id"].as_str().unwrap();
    let shown = http.get(&format!("/v1/sessions/{id}")).expect(200);
    assert_eq!(
        shown["objective"],
        "Total revenue from East region customers"
    );
    assert_eq!(shown["request"]["plan"], "auto");
    let labels = json!({
        "notebook_id": "166d1752-3e3b-4164-a406-17ecac24424f", "user_id": "user_abc", "conversation_id": "conv_123",
    });
    assert_eq!(shown["request"]["labels"], labels);
    let listed = http.get("/v1/sessions?label=user_id=user_abc").expect(200);
    assert_eq!(listed["sessions"][0]["id"], id);
    let ended = status(&http, id);
    assert_eq!(
        (&ended["status"], &ended["progress"]["current_task"]),
        (&json!("completed"), &Json::Null)
    );
}

#[test]
fn a_question_back_waits_for_a_person_and_goes_on_with_the_answer() {
    let stage = stage(UNCERTAIN);
    std::fs::write(stage.file("go"), "").unwrap();
    let http = stage.http();
    let ask = || {
        let asking = http.post(HARNESS, &question()).expect(200);
        assert_eq!(
            fields(&asking),
            ["context", "options", "question", "session_id", "status"]
        );
        assert_eq!(asking["status"], "awaiting_human");
        assert_eq!(
            asking["question"],
            "I found 2 datasets with revenue data. Which one should I use?"
        );
        let options = [
            "customers.xlsx - has customer-level revenue",
            "orders.xlsx - has order-level amounts",
        ];
        assert_eq!(asking["options"], json!(options));
        assert_eq!(
            asking["context"]["task_failed"],
            "Identify correct revenue source"
        );
        assert_eq!(
            asking["context"]["error"],
            "Multiple datasets contain revenue-like columns"
        );
        asking
    };
    // S0's way: the answer is waited for.
    let asking = ask();
    let id = asking["session_id"].as_str().unwrap();
    let waiting = status(&http, id);
    assert_eq!(waiting["status"], "awaiting_human");
    assert_eq!(
        waiting["progress"]["current_task"],
        "Identify correct revenue source"
    );
    let response = json!({ "session_id": id, "human_response": "customers.xlsx - has customer-level revenue" });
    assert_completed(&http.post(RESUME, &response).expect(200));
    let result = "SELECT result FROM tasks WHERE session_id = ?1 AND task_order = 1";
    let result: String = stage.cell(result, [id]).unwrap();
    assert!(result.contains("customers.xlsx"), "{result}");

    // S1's way: the answer is taken, and the session goes on.
    let asking = ask();
    let id = asking["session_id"].as_str().unwrap();
    let answer = |task: &Json, response: Json| {
        http.post(
            RESPONSE,
            &json!({ "session_id": id, "task_id": task, "response": response }),
        )
    };
    let task = &asking["context"]["task_id"];
    assert!(task.is_string());
    let selected = json!({ "selected_option": "orders.xlsx - has order-level amounts" });
    answer(&json!("another"), selected.clone()).refused(409);
    answer(task, json!({ "selected": "x" })).refused(422);
    answer(task, json!({ "selected_option": " " })).refused(422);
    answer(task, json!(7)).refused(422);
    let taken = answer(task, selected.clone()).expect(200);
    assert_eq!(fields(&taken), ["session_id", "status", "success"]);
    assert_eq!(
        (&taken["success"], &taken["session_id"]),
        (&json!(true), &json!(id))
    );
    assert_ne!(taken["status"], "awaiting_human");
    assert_eq!(stage.ended(id).answer(), ANSWER);
    let detail = answer(task, selected).refused(409);
    assert!(detail.contains("completed"), "{detail}");
}

#[test]
fn a_refused_step_is_not_waited_for() {
    let stage = Stage::open();
    stage.case("").plan(json!([shell(1, &[], "echo one")]));
    let http = stage.http();
    let mut careful = question();
    careful["autonomy"] = 1.into();
    let asking = http.post(HARNESS, &careful).expect(200);
    assert_eq!(asking["options"], json!(["approve", "reject"]));
    let id = asking["session_id"].as_str().unwrap();
    let response = json!({ "session_id": id, "human_response": "reject: not on a Friday" });
    let paused = http.post(RESUME, &response).expect(200);
    assert_eq!(
        (&paused["status"], &paused["success"]),
        (&json!("paused"), &json!(false))
    );
}

#[test]
fn a_session_that_fails_says_why() {
    let stage = Stage::open();
    stage.case("").plan(json!([with(
        shell(1, &[], "echo no such table >&2; exit 1"),
        json!({"on_failure": "stop"})
    )]));
    let failed = stage.http().post(HARNESS, &question()).expect(200);
    assert_eq!(failed["success"], false, "{failed}");
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["tasks_failed"], 1);
    assert!(
        failed["error"]
            .as_str()
            .is_some_and(|error| !error.is_empty()),
        "{failed}"
    );
}

#[test]
fn a_wait_that_is_over_says_how_far_it_is() {
    let stage = stage(CERTAIN);
    let under_way = stage
        .http()
        .post(&format!("{HARNESS}?wait=1"), &question())
        .expect(202);
    assert_eq!(under_way["success"], false);
    assert_eq!(under_way["answer"], Json::Null);
    let id = under_way["session_id"].as_str().unwrap();
    std::fs::write(stage.file("go"), "").unwrap();
    assert_eq!(stage.ended(id).status, "completed");
}

#[test]
fn what_is_wrong_is_said() {
    let stage = Stage::open();
    let http = stage.http();
    let asked = |body: Json| http.post(HARNESS, &body);
    for (body, word) in [
        (json!({ "user_id": "x" }), "question"),
        (json!({ "question": 7 }), "question"),
        (json!({ "question": "" }), "question"),
        (json!({ "question": "x", "questoin": "y" }), "questoin"),
        (json!({ "question": "x", "labels": "y" }), "labels"),
        (
            json!({ "question": "x", "user_id": "y", "labels": "z" }),
            "labels",
        ),
        (json!({ "question": "x", "labels": { "a": 2 } }), "labels"),
        (json!(["question"]), "is a list"),
    ] {
        let detail = asked(body.clone()).refused(422);
        assert!(detail.contains(word), "{body}: {detail}");
    }
    for path in ["", "?session_id=", "?session=x"] {
        let path = format!("/webhook/agent-harness-status{path}");
        http.get(&path).refused(422);
    }
    http.get("/webhook/agent-harness-status?session_id=nobody")
        .refused(404);
    let nobody = json!({ "session_id": "ffff0000", "human_response": "x", "response": "x" });
    http.post(RESUME, &nobody).refused(404);
    http.post(RESPONSE, &nobody).refused(404);
    http.post(RESUME, &json!({ "session_id": "x" }))
        .refused(422);
    assert_eq!(stage.count("SELECT count(*) FROM sessions"), 0);
}
