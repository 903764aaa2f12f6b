//! What follows a failed task: by its own policy, or by the kind of error. One scripted session a row.

use super::rows::{Row, play};
use super::stage::{Stage, plan, shell, with};
use serde_json::{Value as Json, json};

const FAILS: &str = "echo it is sour; exit 1";
const FAILS_ONCE: &str =
    "[ -e once ] && { echo sweet; exit; }; touch once; echo it is sour; exit 1";

/// A first task that fails in this way under this policy, and one that builds on it.
fn two(command: &str, policy: Json) -> Json {
    json!([
        with(shell(1, &[], command), json!({"on_failure": policy})),
        shell(2, &[1], "cat"),
    ])
}

fn advice(decision: &str) -> String {
    json!({"decision": decision, "reasoning": "it smells", "fix": "use sugar", "question": null, "options": []}).to_string()
}

fn another_way() -> String {
    plan(json!([shell(3, &[], "echo another way")]))
}

#[test]
fn every_policy() {
    let (stage, sessions) = play(vec![
        Row::new("retry_helps", two(FAILS_ONCE, json!("retry"))).decides("retry", 1),
        Row::new("retry_in_vain", two(FAILS, json!("retry")))
            .decides("retry retry fail", 2)
            .fails("failed blocked"),
        Row::new("retry_asks", two(FAILS, json!("retry")))
            .front("autonomy: 3")
            .decides("retry retry human", 2)
            .asks("human_required waiting_dependency"),
        Row::new("skip", two(FAILS, json!("skip")))
            .decides("skip", 0)
            .comes_to("skipped completed"),
        Row::new(
            "stop",
            json!([
                with(
                    shell(
                        1,
                        &[],
                        &format!("until [ -e began ]; do sleep 0.01; done; {FAILS}")
                    ),
                    json!({"on_failure": "stop"})
                ),
                shell(2, &[1], "true"),
                shell(3, &[], "touch began; sleep 600"),
                shell(4, &[3], "true")
            ]),
        )
        .decides("stop", 0)
        .fails("failed blocked cancelled cancelled"),
        Row::new("human", two(FAILS, json!("human")))
            .decides("human", 0)
            .asks("human_required waiting_dependency"),
        Row::new("replan", two(FAILS, json!("replan")))
            .says("planner.2", another_way())
            .decides("replan", 0)
            .comes_to("failed cancelled completed"),
        Row::new(
            "replan_for_ever",
            json!([with(shell(1, &[], FAILS), json!({"on_failure": "replan"}))]),
        )
        .says(
            "planner.2",
            plan(json!([with(
                shell(2, &[], FAILS),
                json!({"on_failure": "replan"})
            )])),
        )
        .says(
            "planner.3",
            plan(json!([with(
                shell(3, &[], FAILS),
                json!({"on_failure": "replan"})
            )])),
        )
        .decides("replan replan fail", 0)
        .fails("failed failed failed"),
    ]);
    let [helps, in_vain, asks, skip, stop, human, replan, _] = &sessions[..] else {
        panic!("eight")
    };
    assert_eq!(stage.task(helps, 1)["result"]["output"], "sweet\n");
    assert_eq!(
        stage.task(helps, 1)["error"],
        Json::Null,
        "it went well in the end"
    );
    let failed = stage.task(in_vain, 1);
    assert_eq!(
        (&failed["error_type"], &failed["error"]),
        (
            &json!("other"),
            &json!("the command ended with exit code 1\nit is sour")
        )
    );
    assert_eq!(
        failed["result"],
        json!({"exit_code": 1, "output": "it is sour"})
    );
    assert_eq!(
        in_vain.end_detail.as_deref(),
        Some(
            "task 1 (Run 1) failed: the command ended with exit code 1; 1 that depend on it were not run"
        )
    );
    for waiting in [asks, human] {
        let context: Json = waiting.human_context.as_deref().unwrap().parse().unwrap();
        assert_eq!(
            context["options"],
            json!(["retry", "skip", "replan", "stop"])
        );
        assert!(
            context["error"].as_str().unwrap().contains("sour"),
            "{context}"
        );
        assert!(
            context["question"].as_str().unwrap().contains("Run 1"),
            "{context}"
        );
        assert_eq!(context["task"], stage.task(waiting, 1)["id"]);
    }
    // What builds on a skipped task has nothing of it.
    assert_eq!(stage.task(skip, 2)["result"]["json"], json!({}));
    assert!(
        stage.task(skip, 1)["error"]
            .as_str()
            .unwrap()
            .contains("sour")
    );
    assert!(
        stop.end_detail.as_deref().unwrap().contains("Run 1"),
        "{stop:?}"
    );
    let prompt = stage.left("replan", "planner.2.prompt");
    assert!(
        prompt.contains("it is sour") && prompt.contains("Begin with 3"),
        "{prompt}"
    );
    assert_eq!(stage.told(replan, "plan.called_back")[0]["call"], "replan");
    assert_eq!(stage.events(replan, "plan.saved"), 2);
    stage.assert_nothing_runs();
}

#[test]
fn an_analyzer_chooses() {
    let critical = |command: &str| {
        json!([
            with(
                shell(1, &[], command),
                json!({"on_failure": "auto", "critical": true})
            ),
            shell(2, &[1], "true")
        ])
    };
    let auto = json!("auto");
    let (stage, sessions) = play(vec![
        Row::new("auto_retry", two(FAILS_ONCE, auto.clone())).says("error_analyzer", advice("retry")).decides("retry", 1),
        Row::new("auto_skip", two(FAILS, auto.clone())).says("error_analyzer", advice("skip")).decides("skip", 0).comes_to("skipped completed"),
        Row::new("auto_stop", two(FAILS, auto.clone())).says("error_analyzer", advice("stop")).decides("stop", 0).fails("failed blocked"),
        Row::new("auto_replan", two(FAILS, auto.clone())).says("error_analyzer", advice("replan")).says("planner.2", another_way())
            .decides("replan", 0).comes_to("failed cancelled completed"),
        Row::new("auto_human", two(FAILS, auto.clone()))
            .says("error_analyzer", r#"{"decision": "human", "reasoning": "taste", "question": "Sweet or sour?", "options": ["sweet", "sour"]}"#)
            .decides("human", 0).asks("human_required waiting_dependency"),
        Row::new("auto_three", two(FAILS, auto.clone())).says("error_analyzer", advice("retry"))
            .decides("retry retry human", 2).asks("human_required waiting_dependency"),
        Row::new("auto_critical", critical(FAILS)).says("error_analyzer", advice("skip")).decides("fail", 0).fails("failed blocked"),
        // Whoever was to choose talks nonsense: the kind of error decides.
        Row::new("auto_nonsense", two(FAILS_ONCE, auto)).says("error_analyzer", "hm").decides("retry", 1),
    ]);
    let told = |name: usize| stage.told(&sessions[name], "task.setback");
    assert_eq!(told(0)[0]["reasoning"], "it smells");
    assert_eq!(told(0)[0]["policy"], "auto");
    let context: Json = sessions[4]
        .human_context
        .as_deref()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(
        (&context["question"], &context["options"]),
        (&json!("Sweet or sour?"), &json!(["sweet", "sour"]))
    );
    assert_eq!(
        stage.turns("auto_three", "error_analyzer"),
        2,
        "the third failure is no accident"
    );
    let prompt = stage.left("auto_skip", "error_analyzer.1.prompt");
    assert!(
        prompt.contains("it is sour") && prompt.contains("needed by task 2"),
        "{prompt}"
    );
    assert_eq!(stage.turns("auto_nonsense", "error_analyzer"), 3);
}

#[test]
fn every_kind_of_error_has_its_habit() {
    let select = |sql: &str, more: Json| {
        json!([
            with(
                json!({"order": 1, "type": "sql_query", "description": "Ask", "sql": sql}),
                more
            ),
            shell(2, &[1], "true")
        ])
    };
    let nothing = "SELECT id FROM customers WHERE region = 'North'";
    let (stage, sessions) = play(vec![
        Row::new("sql_error", select("SELECT id FROM customers WHERE", json!({})))
            .says("query", r#"{"sql": "SELECT id FROM customers WHERE region = 'West'", "reasoning": "it broke off"}"#).decides("retry", 1),
        Row::new("timeout", two("sleep 600", Json::Null)).front("iteration_timeout: 1s").decides("retry skip", 1).comes_to("skipped completed"),
        Row::new("no_data", select(nothing, json!({}))).decides("skip", 0).comes_to("skipped completed"),
        Row::new("no_data_critical", select(nothing, json!({"critical": true}))).decides("fail", 0).fails("failed blocked"),
        Row::new("ambiguous", json!([{"order": 1, "type": "analysis", "description": "Which?"}, shell(2, &[1], "true")]))
            .says("analyst", r#"{"decision": null, "reasoning": "both fit", "confidence": "low", "options": ["a", "b"], "question": "a or b?"}"#)
            .decides("human", 0).asks("human_required waiting_dependency"),
        Row::new("permission", two("exit 126", Json::Null)).decides("stop", 0).fails("failed blocked"),
        Row::new("schema_mismatch", select("SELECT wealth FROM customers", json!({}))).says("planner.2", another_way())
            .decides("replan", 0).comes_to("failed cancelled completed"),
        Row::new("format", json!([{"order": 1, "type": "validation", "description": "Check"}, shell(2, &[1], "true")]))
            .says("validator", r#"{"is_valid": false, "message": "minus three customers"}"#)
            .decides("human", 0).asks("human_required waiting_dependency"),
        Row::new("other", two(FAILS, Json::Null)).decides("retry retry fail", 2).fails("failed blocked"),
    ]);
    for (session, class) in sessions.iter().zip([
        "sql_error",
        "timeout",
        "no_data",
        "no_data",
        "ambiguous",
        "permission",
        "schema_mismatch",
        "format",
        "other",
    ]) {
        assert_eq!(stage.told(session, "task.setback")[0]["error_type"], class);
    }
    let mended = stage.task(&sessions[0], 1);
    assert_eq!(
        mended["result"]["rows"],
        json!([{"id": 2}]),
        "the mended text was run"
    );
    assert_eq!(
        mended["result"]["sql"],
        "SELECT id FROM customers WHERE region = 'West'"
    );
    let prompt = stage.left("sql_error", "query.1.prompt");
    assert!(
        prompt.contains("ERROR OF THE ATTEMPT BEFORE") && prompt.contains("incomplete input"),
        "{prompt}"
    );
    assert!(
        prompt.contains("SELECT id FROM customers WHERE\n"),
        "the text that failed: {prompt}"
    );
    assert!(
        stage.task(&sessions[7], 1)["error"]
            .as_str()
            .unwrap()
            .contains("minus three customers")
    );
    stage.assert_nothing_runs();
}

#[test]
fn the_error_of_an_attempt_is_in_the_next_prompt() {
    let stage = Stage::open();
    let analysis =
        json!([{"order": 1, "type": "analysis", "description": "Which?", "on_failure": "retry"}]);
    // Three answers that cannot be used are one failed attempt.
    stage
        .case("analysis")
        .plan(analysis)
        .says("analyst.1", "hm")
        .says("analyst.2", "hm")
        .says(
            "analyst.3",
            r#"{"decision": "b", "reasoning": "b", "confidence": "gigantic"}"#,
        )
        .says(
            "analyst",
            r#"{"decision": "b", "reasoning": "b", "confidence": "high"}"#,
        )
        .submit();
    let step =
        json!([{"order": 1, "type": "agent", "description": "Paint", "on_failure": "retry"}]);
    stage
        .case("agent")
        .front("stagnation_threshold: 1")
        .plan(step)
        .says("step.1", "No idea.")
        .says("step.2", "No idea.")
        .says("step", "Painted.\nTASK_COMPLETE")
        .submit();
    // The analyzer's words about the failure are not taken for the work.
    let step = json!([{"order": 1, "type": "agent", "description": "Paint", "on_failure": "auto"}]);
    stage
        .case("agent_auto")
        .front("stagnation_threshold: 1")
        .plan(step)
        .says("error_analyzer", &advice("retry"))
        .says("step.1", "No idea.")
        .says("step.2", "No idea.")
        .says("step", "Painted.\nTASK_COMPLETE")
        .submit();
    for name in ["analysis", "agent", "agent_auto"] {
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {session:?}"
        );
        assert_eq!(stage.decisions(&session), "retry", "{name}");
    }
    assert_eq!(stage.turns("analysis", "analyst"), 4);
    let prompt = stage.left("analysis", "analyst.4.prompt");
    assert!(prompt.contains("gigantic"), "{prompt}");
    for name in ["agent", "agent_auto"] {
        let session = stage.session(name).unwrap();
        assert_eq!(
            stage.task(&session, 1)["result"]["answer"],
            "Painted.",
            "{name}"
        );
        assert_eq!(
            (stage.turns(name, "step"), session.iteration_count),
            (3, 3),
            "{name}"
        );
        let error = stage.told(&session, "task.setback")[0]["error"].clone();
        let prompt = stage.left(name, "step.3.prompt");
        assert!(
            prompt.contains(error.as_str().unwrap())
                && prompt.contains("The attempt before this one failed"),
            "{error}: {prompt}"
        );
    }
    let prompt = stage.left("agent_auto", "step.3.prompt");
    assert!(
        prompt.contains("What to do differently: use sugar"),
        "{prompt}"
    );
}
