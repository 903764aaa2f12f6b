//! How the tasks of a plan are run: side by side, within limits, with the results of those before them.

use super::example::CUSTOMERS;
use super::stage::{Stage, shell, with};
use crate::support::Site;
use serde_json::json;

#[test]
fn independent_tasks_run_at_the_same_time() {
    let stage = Stage::open();
    let meets = |own: &str, other: &str| {
        format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo met {other}")
    };
    stage
        .case("meet")
        .plan(json!([
            shell(1, &[], &meets("a", "b")),
            shell(2, &[], &meets("b", "a"))
        ]))
        .submit();
    let session = stage.ended("meet");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.task(&session, 1)["summary"], "met b");
}

#[test]
fn a_request_may_want_fewer_at_once() {
    let stage = Stage::open();
    let alone = "mkdir taken || exit 9; sleep 0.05; rmdir taken";
    let task = |order| with(shell(order, &[], alone), json!({"on_failure": "stop"}));
    stage
        .case("alone")
        .front("max_parallel: 1")
        .plan((1..=5).map(task).collect())
        .submit();
    let session = stage.ended("alone");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
}

#[test]
fn a_failure_blocks_all_that_builds_on_it_and_nothing_else() {
    let stage = Stage::with("[defaults]\nmax_retries = 0\n");
    stage
        .case("block")
        .plan(json!([
            shell(1, &[], "exit 1"),
            shell(2, &[1], "true"),
            shell(3, &[2, 4], "true"),
            shell(4, &[], "echo four"),
            shell(5, &[4], "echo five"),
        ]))
        .submit();
    let session = stage.ended("block");
    assert_eq!(session.ending(), ("failed", "task_failed"), "{session:?}");
    assert_eq!(
        stage.states(&session),
        "failed blocked blocked completed completed"
    );
    let counts = "SELECT task_count || ' ' || completed_task_count || ' ' || failed_task_count FROM sessions WHERE id = ?1";
    assert_eq!(
        stage.cell::<String>(counts, [&session.id]).unwrap(),
        "5 2 1"
    );
    assert!(
        session.answer().contains("five"),
        "what was done is not lost: {session:?}"
    );
}

#[test]
fn results_are_handed_on() {
    let stage = Stage::open();
    stage.case("hand").says("summarizer", "All of it.").plan(json!([
        shell(1, &[], "echo '{\"n\": 20}'"),
        shell(2, &[], "echo '{\"n\": 22}'"),
        {"order": 3, "type": "transform", "description": "Add", "depends_on": [1, 2], "filter": ".\"1\".json.n + .\"2\".json.n"},
        with(shell(4, &[1, 3], "cat"), json!({"description": "Read"})),
        {"order": 5, "type": "agent", "description": "Paint the number", "depends_on": [3]},
        {"order": 6, "type": "analysis", "description": "Think", "depends_on": [3, 5]},
    ])).says("step", "It is painted in blue.\nTASK_COMPLETE").says("analyst", r#"{"decision": 42, "reasoning": "as it says", "confidence": "high"}"#).submit();
    let session = stage.ended("hand");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.task(&session, 3)["result"], 42);
    let read = &stage.task(&session, 4)["result"]["json"];
    assert_eq!(
        (&read["1"]["json"]["n"], &read["3"]),
        (&json!(20), &json!(42))
    );
    let step = stage.left("hand", "step.1.prompt");
    assert!(
        step.contains("step 5 of a larger plan") && step.contains("\n42\n"),
        "{step}"
    );
    let analyst = stage.left("hand", "analyst.1.prompt");
    assert!(
        analyst.contains("painted in blue") && analyst.contains("\n42\n"),
        "{analyst}"
    );
    assert!(
        !analyst.contains("\"n\": 20"),
        "only what it depends on: {analyst}"
    );
    let summarizer = stage.left("hand", "summarizer.1.prompt");
    assert!(
        summarizer.contains("painted in blue") && summarizer.contains("20"),
        "{summarizer}"
    );
    assert_eq!(session.answer(), "All of it.");
}

#[test]
fn every_kind_of_task_and_its_other_names() {
    let site = Site::new();
    std::fs::write(site.file("customers.csv"), CUSTOMERS).unwrap();
    let path = site.file("customers.csv").display().to_string();
    let stage = Stage::on(site, "[planner]\nmax_tasks = 8\n");
    stage.case("kinds").front(&format!("datasets: [{path}]")).says("analyst", r#"{"decision": "East", "reasoning": "r", "confidence": "high"}"#)
        .plan(json!([
            {"order": 1, "type": "discovery", "description": "Which region"},
            {"order": 2, "type": "query", "description": "Who", "depends_on": 1, "sql": "SELECT name FROM customers WHERE region = {{value}} ORDER BY id"},
            {"order": 3, "type": "aggregation", "description": "How many", "depends_on": [1], "sql": "SELECT count(*) AS n FROM customers WHERE region = {{dep.1.decision}}"},
            {"order": 4, "type": "validation", "description": "Is it right", "depends_on": [2, 3]},
            {"order": 5, "type": "transform", "description": "The first", "depends_on": 2, "filter": ".\"2\".rows[0].name"},
            shell(6, &[5], "cat"),
            {"order": 7, "type": "agent", "description": "Write", "depends_on": 6},
            {"order": 8, "type": "merge", "description": "Bring together", "depends_on": 7},
        ])).submit();
    let session = stage.ended("kinds");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    let kinds: Vec<String> = stage.column(
        "SELECT task_type FROM v_session_tasks ORDER BY task_order",
        [],
    );
    assert_eq!(
        kinds,
        [
            "analysis",
            "sql_query",
            "sql_aggregate",
            "validation",
            "transform",
            "shell",
            "agent",
            "merge"
        ]
    );
    assert_eq!(stage.task(&session, 2)["result"]["row_count"], 3);
    assert_eq!(stage.task(&session, 3)["result"], json!({"n": 3}));
    assert_eq!(stage.task(&session, 5)["result"], "Ada");
    assert_eq!(
        stage.task(&session, 6)["result"]["json"],
        json!({"5": "Ada"})
    );
}

#[test]
fn without_a_summarizer_a_digest_is_made() {
    let stage = Stage::with("[defaults]\ntransient_backoff = \"10ms\"\n");
    stage
        .case("digest")
        .plan(json!([
            shell(1, &[], "echo forty-two"),
            with(shell(2, &[], "exit 1"), json!({"on_failure": "skip"}))
        ]))
        .plays("summarizer", "cat >/dev/null")
        .submit();
    let session = stage.ended("digest");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(
        stage.turns("digest", "summarizer"),
        4,
        "silence is borne as often as any failure that may pass"
    );
    assert!(
        session.answer().contains("forty-two") && session.answer().contains("skipped"),
        "{}",
        session.answer()
    );
}

#[test]
fn a_plan_of_which_nothing_is_done_has_failed() {
    let stage = Stage::open();
    stage
        .case("nothing")
        .plan(json!([with(
            shell(1, &[], "exit 1"),
            json!({"on_failure": "skip"})
        )]))
        .submit();
    let session = stage.ended("nothing");
    assert_eq!(session.ending(), ("failed", "task_failed"));
    assert!(
        session.end_detail.as_deref().unwrap().contains("skipped"),
        "{session:?}"
    );
}

#[test]
fn never_two_agents_in_one_workspace() {
    let stage = Stage::open();
    let agent = |order: u32| json!({"order": order, "type": "agent", "description": format!("Paint {order}")});
    stage.case("seat").plan((1..=3).map(agent).collect())
        .plays("step", "mkdir taken || { touch \"$D/met\"; exit 1; }; sleep 0.1; rmdir taken; echo TASK_COMPLETE").submit();
    let session = stage.ended("seat");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.turns("seat", "step"), 3);
    assert!(!stage.file("cases/seat/met").exists());
}

#[test]
fn an_agent_that_may_not_is_not_tried_again() {
    let stage = Stage::open();
    stage
        .case("locked")
        .plan(json!([{"order": 1, "type": "agent", "description": "Paint"}]))
        .plays(
            "step",
            "echo 'Error: 401 Unauthorized: invalid API key' >&2; exit 1",
        )
        .submit();
    let session = stage.ended("locked");
    assert_eq!(session.ending(), ("failed", "task_failed"), "{session:?}");
    assert_eq!(
        (
            stage.decisions(&session).as_str(),
            stage.turns("locked", "step")
        ),
        ("stop", 1)
    );
    assert_eq!(
        stage.told(&session, "task.setback")[0]["error_type"],
        "permission"
    );
}

#[test]
fn a_failed_plan_can_be_run_again_and_gone_on_with() {
    let stage = Stage::with("[defaults]\nmax_retries = 0\n");
    stage
        .case("again")
        .plan(json!([shell(
            1,
            &[],
            "echo x >>tries; [ -e \"$HOME/sugar\" ]"
        )]))
        .submit();
    let failed = stage.ended("again");
    assert_eq!(failed.ending(), ("failed", "task_failed"), "{failed:?}");
    std::fs::write(stage.file("sugar"), "").unwrap();
    for (verb, tries) in [("retry", 1), ("continue", 2)] {
        let ran = stage.ralphd(&[verb, &failed.id, "--json"]);
        let told: serde_json::Value = ran.done().parse().unwrap();
        let id = told["id"]
            .as_str()
            .or(told["session"].as_str())
            .or(told["session_id"].as_str());
        let session = stage.ended(id.unwrap_or_else(|| panic!("{told}")));
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{verb}: {session:?}"
        );
        let lines = std::fs::read_to_string(session.workspace.join("tries")).unwrap();
        assert_eq!(lines.lines().count(), tries, "{verb}");
    }
}
