//! The planner: what is wrong with its plans goes back to it, limits are waited out, budgets end it.

use super::stage::{Stage, plan, shell, with};
use crate::support::tools::usage_limit;
use crate::support::{Site, wait_for};
use serde_json::json;

#[test]
fn what_is_wrong_with_a_plan_goes_back_to_the_planner() {
    let stage = Stage::open();
    let many = (1..=7).map(|order| shell(order, &[], "true")).collect();
    let rows = [
        (
            "no_json",
            "I would begin by looking around.".to_owned(),
            "JSON",
        ),
        ("broken", "{\"tasks\": [".to_owned(), "JSON"),
        (
            "cycle",
            plan(json!([shell(1, &[2], "true"), shell(2, &[1], "true")])),
            "circle",
        ),
        (
            "kind",
            plan(json!([with(
                shell(1, &[], "true"),
                json!({"type": "dance"})
            )])),
            "dance",
        ),
        ("many", plan(many), "at most 6 tasks"),
        (
            "stranger",
            plan(json!([{"order": 1, "type": "agent", "description": "x", "agent": "nobody"}])),
            "nobody",
        ),
        (
            "dangling",
            plan(json!([shell(1, &[5], "true")])),
            "there is no task 5",
        ),
        ("empty", plan(json!([])), "at least one task"),
    ];
    for (name, bad, _) in &rows {
        stage
            .case(name)
            .says("planner.1", bad)
            .says("planner", &plan(json!([shell(1, &[], "echo fine")])))
            .submit();
    }
    for (name, _, words) in rows {
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {session:?}"
        );
        assert_eq!(stage.turns(name, "planner"), 2, "{name}");
        let prompt = stage.left(name, "planner.2.prompt");
        let (_, error) = prompt
            .split_once("[ERROR OF THE ATTEMPT BEFORE")
            .unwrap_or_else(|| panic!("{name}: {prompt}"));
        assert!(error.contains(words), "{name}: {error}");
        assert_eq!(
            session.iteration_count, 0,
            "planning is no iteration of the work"
        );
    }
}

#[test]
fn a_planner_that_does_not_learn_fails_the_session() {
    let stage = Stage::open();
    stage.case("deaf").says("planner", "hm").submit();
    let session = stage.ended("deaf");
    assert_eq!(session.ending(), ("failed", "plan_invalid"));
    assert_eq!(stage.turns("deaf", "planner"), 3);
    assert!(
        session.end_detail.as_deref().unwrap().contains("planner"),
        "{session:?}"
    );
    assert_eq!(stage.states(&session), "");
    let (text, _) = stage.outbox("deaf", &session);
    assert!(text.contains("plan_invalid"), "{text}");
}

#[test]
fn a_limit_of_the_planner_is_waited_out() {
    let words = plan(json!([shell(1, &[], "echo fine")]));
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": words, "total_cost_usd": 0.5, "num_turns": 1,
        "usage": {"input_tokens": 100, "output_tokens": 20}});
    let script = format!(
        "[ $TURNS = 1 ] && {{ {}; }}\ncat <<'END'\n{result}\nEND\n",
        usage_limit("2")
    );
    let site = Site::new()
        .agent("thinker", &script)
        .configure("output = \"claude\"\n");
    let stage = Stage::on(
        site,
        "[roles]\nplanner = \"thinker\"\n[defaults]\nagent = \"worker\"\n",
    );
    stage.case("limited").submit();
    let parked = "SELECT parked_until_ms FROM tasks WHERE task_type = 'plan' AND parked_until_ms IS NOT NULL";
    let until: i64 = wait_for("the planner to be parked", || stage.cell(parked, []));
    assert_eq!(stage.session("limited").unwrap().status, "planning");
    let session = stage.ended("limited");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    let again = "SELECT max(started_at_ms) FROM iterations WHERE agent = 'thinker'";
    assert!(
        stage.cell::<i64>(again, []).unwrap() >= until,
        "not before the reset"
    );
    assert_eq!(stage.runs("thinker"), 2);
    let verdicts: Vec<String> = stage.column(
        "SELECT verdict FROM iterations WHERE agent = 'thinker' ORDER BY number",
        [],
    );
    assert_eq!(verdicts, ["rate_limited", "promised"]);
}

#[test]
fn a_budget_that_planning_uses_up_ends_the_session() {
    let script = "cat >/dev/null; echo hm";
    let site = Site::new()
        .agent("dear", script)
        .configure("cost_per_iteration = 1.0\n");
    let stage = Stage::on(site, "[defaults]\nagent = \"dear\"\n");
    stage.case("spent").front("budget: { usd: 1.5 }").submit();
    let session = stage.ended("spent");
    assert_eq!(session.ending(), ("failed", "budget_usd"), "{session:?}");
    let cost = "SELECT cost_usd FROM sessions WHERE id = ?1";
    assert_eq!(
        stage.cell(cost, [&session.id]),
        Some(1.0),
        "a turn that would pass the limit is not begun"
    );
    assert_eq!(stage.runs("dear"), 1);
}

#[test]
fn a_silent_planner_is_not_asked_for_ever() {
    let stage = Stage::with("[defaults]\ntransient_retries = 1\ntransient_backoff = \"10ms\"\n");
    stage
        .case("silent")
        .plays("planner", "cat >/dev/null")
        .submit();
    let session = stage.ended("silent");
    assert_eq!(session.ending(), ("failed", "agent_failed"), "{session:?}");
    assert_eq!(stage.turns("silent", "planner"), 2);
}

#[test]
fn a_planner_that_may_not_is_not_asked_again() {
    let stage = Stage::with("[defaults]\ntransient_retries = 1\ntransient_backoff = \"10ms\"\n");
    stage
        .case("broken")
        .plays("planner", "echo no >&2; exit 1")
        .submit();
    let session = stage.ended("broken");
    assert_eq!(session.ending(), ("failed", "agent_failed"), "{session:?}");
    assert_eq!(
        stage.turns("broken", "planner"),
        2,
        "the first try and one more"
    );
}
