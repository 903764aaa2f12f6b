//! People and planned sessions: the choice between two datasets, answers to failures, and what waits meanwhile.

use super::example::CUSTOMERS;
use super::stage::{Stage, plan, shell, with};
use crate::support::{Session, Site, wait_for};
use serde_json::{Value as Json, json};

const TWO_FIT: &str = r#"{"decision": null, "reasoning": "Both have the column region.", "confidence": "low",
    "options": ["customers", "clients"], "question": "Which dataset is meant?"}"#;

/// A stage with two datasets that both have regions.
fn ambiguous() -> Stage {
    let site = Site::new();
    std::fs::write(site.file("customers.csv"), CUSTOMERS).unwrap();
    std::fs::write(site.file("clients.csv"), "id,name,region\n7,Eve,East\n").unwrap();
    Stage::on(site, "")
}

fn submit(stage: &Stage, name: &str, front: &str) {
    let path = |file: &str| stage.file(file).display().to_string();
    let sql = "SELECT {{dep.1.decision}} AS chosen, {{file_id}} AS file, CASE {{value}} WHEN 'clients' THEN (SELECT count(*) FROM clients) \
               ELSE (SELECT count(*) FROM customers) END AS people";
    stage
        .case(name)
        .front(&format!("datasets: [{}, {}]", path("customers.csv"), path("clients.csv")))
        .front(front)
        .plan(json!([
            {"order": 1, "type": "analysis", "description": "Find the dataset"},
            {"order": 2, "type": "sql_aggregate", "description": "Count", "depends_on": 1, "sql": sql},
        ]))
        .says("analyst", TWO_FIT)
        .submit();
}

fn context(session: &Session) -> Json {
    session.human_context.as_deref().unwrap().parse().unwrap()
}

#[test]
fn a_person_chooses_between_two_datasets() {
    let stage = ambiguous();
    for name in ["by_command", "by_number", "by_file"] {
        submit(&stage, name, "");
    }
    let waiting = stage.in_state("by_command", "awaiting_human");
    let asked = context(&waiting);
    assert_eq!(asked["question"], "Which dataset is meant?");
    assert_eq!(asked["options"], json!(["customers", "clients"]));
    assert_eq!(asked["error"], "Both have the column region.");
    assert_eq!(asked["task"], stage.task(&waiting, 1)["id"]);
    let view = "SELECT json_array(kind, question, json(options), error) FROM v_awaiting_human WHERE session_id = ?1";
    let seen: String = stage.cell(view, [&waiting.id]).unwrap();
    assert_eq!(
        seen.parse::<Json>().unwrap(),
        json!([
            "question",
            "Which dataset is meant?",
            ["customers", "clients"],
            "Both have the column region."
        ])
    );
    let required = "SELECT human_input_required FROM v_session_progress WHERE session_id = ?1";
    assert_eq!(stage.cell::<i64>(required, [&waiting.id]), Some(1));
    assert_eq!(stage.states(&waiting), "human_required waiting_dependency");
    stage.ralphd(&["answer", &waiting.id, "clients"]).done();
    let second = stage.in_state("by_number", "awaiting_human");
    stage.ralphd(&["answer", &second.id, "1"]).done();
    let third = stage.in_state("by_file", "awaiting_human");
    stage.drop_file(
        "x.answer.md",
        &format!("session: {}\n\nclients\n", third.id),
    );
    for (name, chosen, people) in [
        ("by_command", "clients", 1),
        ("by_number", "customers", 4),
        ("by_file", "clients", 1),
    ] {
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {session:?}"
        );
        assert_eq!(
            stage.task(&session, 2)["result"],
            json!({"chosen": chosen, "file": chosen, "people": people}),
            "{name}"
        );
        let decided = stage.task(&session, 1)["result"].clone();
        assert_eq!(
            (&decided["decision"], &decided["human_decision"]),
            (&json!(chosen), &json!(chosen))
        );
        assert_eq!(
            stage.turns(name, "analyst"),
            1,
            "what a person chose is not asked again"
        );
        assert_eq!(session.human_context, None);
        assert_eq!(stage.told(&session, "human.answered")[0]["answer"], chosen);
    }
}

#[test]
fn nobody_chooses() {
    let stage = ambiguous();
    submit(&stage, "late", "human_timeout: 1s");
    let session = stage.ended("late");
    assert_eq!(session.ending(), ("failed", "human_timeout"));
    assert_eq!(stage.states(&session), "cancelled cancelled");
    assert_eq!(stage.events(&session, "human.expired"), 1);
    assert_eq!(stage.count("SELECT count(*) FROM v_awaiting_human"), 0);
    let (text, _) = stage.outbox("late", &session);
    assert!(text.contains("human_timeout"), "{text}");
}

#[test]
fn while_a_person_is_asked_nothing_of_the_session_is_begun_and_others_go_on() {
    let stage = Stage::open();
    let tasks = json!([
        with(shell(1, &[], "exit 1"), json!({"on_failure": "human"})),
        // It runs when the question is put, and may finish; what builds on it must wait.
        shell(
            2,
            &[],
            "touch began; until [ -e \"$PWD/finish\" ]; do sleep 0.01; done; echo finished"
        ),
        shell(3, &[2], "touch begun_too_early; echo third"),
    ]);
    stage.case("asks").plan(tasks).submit();
    let waiting = stage.in_state("asks", "awaiting_human");
    wait_for("the second task", || {
        waiting.workspace.join("began").exists().then_some(())
    });
    std::fs::write(waiting.workspace.join("finish"), "").unwrap();
    wait_for("the second task's end", || {
        (stage.task(&waiting, 2)["status"] == "completed").then_some(())
    });
    stage
        .case("other")
        .plan(json!([shell(1, &[], "echo other")]))
        .submit();
    assert_eq!(stage.ended("other").ending(), ("completed", "completed"));
    assert_eq!(stage.states(&waiting), "human_required completed pending");
    assert!(!waiting.workspace.join("begun_too_early").exists());
    assert_eq!(stage.session("asks").unwrap().status, "awaiting_human");
    stage.ralphd(&["answer", &waiting.id, "skip"]).done();
    let session = stage.ended("asks");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.states(&session), "skipped completed completed");
}

/// A task that fails until it finds sugar, and one that builds on it; then how a person answers.
fn sour(stage: &Stage, name: &str, critical: bool) -> Session {
    let policy = json!({"on_failure": "human", "critical": critical});
    let command = format!(
        "[ -e '{}' ] || {{ echo it is sour; exit 1; }}; echo sweet",
        stage.file(name).display()
    );
    stage
        .case(name)
        .front("autonomy: 4")
        .says(
            "planner.1",
            &plan(json!([
                with(shell(1, &[], &command), policy),
                shell(2, &[1], "cat")
            ])),
        )
        .says(
            "planner.2",
            &plan(json!([shell(3, &[], "echo another way")])),
        )
        .submit();
    stage.in_state(name, "awaiting_human")
}

#[test]
fn answers_to_a_failure() {
    let stage = Stage::open();
    for (name, answer, ending, states) in [
        ("skip", "skip", "completed", "skipped completed"),
        ("skip_loudly", " SKIP ", "completed", "skipped completed"),
        (
            "replan",
            "replan",
            "completed",
            "failed cancelled completed",
        ),
        ("stop", "stop", "failed", "failed blocked"),
    ] {
        let waiting = sour(&stage, name, false);
        stage.ralphd(&["answer", &waiting.id, answer]).done();
        let session = stage.ended(name);
        assert_eq!(session.status, ending, "{name}: {session:?}");
        assert_eq!(stage.states(&session), states, "{name}");
    }
    assert_eq!(
        stage.session("stop").unwrap().end_reason.as_deref(),
        Some("task_failed")
    );
    let prompt = stage.left("replan", "planner.2.prompt");
    assert!(prompt.contains("it is sour"), "{prompt}");
}

#[test]
fn retry_is_tried_once_more_for_each_answer() {
    let stage = Stage::open();
    let waiting = sour(&stage, "sugar", false);
    stage.ralphd(&["answer", &waiting.id, "retry"]).done();
    wait_for("the second failure", || {
        (stage.events(&waiting, "task.setback") == 2).then_some(())
    });
    stage.in_state("sugar", "awaiting_human");
    std::fs::write(stage.file("sugar"), "").unwrap();
    stage.ralphd(&["answer", &waiting.id, "retry"]).done();
    let session = stage.ended("sugar");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(
        stage.task(&session, 2)["result"]["json"]["1"]["output"],
        "sweet\n"
    );
}

#[test]
fn a_critical_task_cannot_be_skipped_by_a_person_either() {
    let stage = Stage::open();
    let waiting = sour(&stage, "needed", true);
    assert_eq!(
        context(&waiting)["options"],
        json!(["retry", "replan", "stop"])
    );
    stage.ralphd(&["answer", &waiting.id, "skip"]).done();
    // Words that cannot be obeyed are words of their own: it is tried again, and asks again.
    wait_for("the second failure", || {
        (stage.events(&waiting, "task.setback") == 2).then_some(())
    });
    let again = stage.in_state("needed", "awaiting_human");
    assert_eq!(stage.states(&again), "human_required waiting_dependency");
}

#[test]
fn words_of_a_person_reach_whoever_tries_again() {
    let stage = Stage::open();
    let human = |task: Json| json!([with(task, json!({"on_failure": "human"}))]);
    stage
        .case("validation")
        .plan(human(
            json!({"order": 1, "type": "validation", "description": "Check"}),
        ))
        .says(
            "validator.1",
            r#"{"is_valid": false, "message": "minus three customers"}"#,
        )
        .submit();
    stage
        .case("agent")
        .front("stagnation_threshold: 1")
        .plan(human(
            json!({"order": 1, "type": "agent", "description": "Paint"}),
        ))
        .plays(
            "step",
            "if grep -q 'the blue one'; then echo blue; echo TASK_COMPLETE; else echo hm; fi",
        )
        .submit();
    for (name, words) in [
        ("validation", "minus means returned goods"),
        ("agent", "take the blue one"),
    ] {
        let waiting = stage.in_state(name, "awaiting_human");
        stage.ralphd(&["answer", &waiting.id, words]).done();
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {session:?}"
        );
    }
    let prompt = stage.left("validation", "validator.2.prompt");
    assert!(
        prompt.contains("Answer: minus means returned goods"),
        "{prompt}"
    );
}

#[test]
fn a_query_that_a_person_lets_try_again_is_mended_from_where_it_stood() {
    let stage = ambiguous();
    let path = stage.file("customers.csv").display().to_string();
    stage
        .case("query")
        .front(&format!("datasets: [{path}]\nautonomy: 3"))
        .plan(json!([{"order": 1, "type": "sql_query", "description": "Ask", "sql": "SELECT first FROM"}]))
        .says("query.1", r#"{"sql": "SELECT second FROM", "reasoning": "?"}"#)
        .says("query.2", r#"{"sql": "SELECT third FROM", "reasoning": "?"}"#)
        .says("query.3", r#"{"sql": "SELECT name FROM customers WHERE id = 2", "reasoning": "!"}"#)
        .submit();
    let waiting = stage.in_state("query", "awaiting_human");
    stage
        .ralphd(&["answer", &waiting.id, "there is a table of customers"])
        .done();
    let session = stage.ended("query");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(
        stage.task(&session, 1)["result"]["rows"],
        json!([{"name": "Ben"}])
    );
    let prompt = stage.left("query", "query.3.prompt");
    assert!(prompt.contains("there is a table of customers"), "{prompt}");
    assert!(
        prompt.contains("SELECT third FROM"),
        "the text that failed last: {prompt}"
    );
}

#[test]
fn an_unanswered_question_ends_what_else_runs() {
    let stage = Stage::open();
    let tasks = json!([
        with(shell(1, &[], "exit 1"), json!({"on_failure": "human"})),
        shell(2, &[], "sleep 600"),
        shell(3, &[2], "true")
    ]);
    stage
        .case("late")
        .front("human_timeout: 1s")
        .plan(tasks)
        .submit();
    let session = stage.ended("late");
    assert_eq!(session.ending(), ("failed", "human_timeout"), "{session:?}");
    assert_eq!(stage.states(&session), "cancelled cancelled cancelled");
    stage.assert_nothing_runs();
}

#[test]
fn two_questions_of_one_session_are_answered_one_after_the_other() {
    let stage = Stage::open();
    let human = |order: u32| {
        with(
            shell(
                order,
                &[],
                "until [ -e both ]; do touch b$RALPHD_TASK_ID; [ $(ls b* | wc -l) = 2 ] && touch both; done; exit 1",
            ),
            json!({"on_failure": "human"}),
        )
    };
    stage
        .case("two")
        .plan(json!([human(1), human(2), shell(3, &[1, 2], "echo three")]))
        .submit();
    let waiting = stage.in_state("two", "awaiting_human");
    wait_for("both questions", || {
        (stage.count("SELECT count(*) FROM v_awaiting_human") == 2).then_some(())
    });
    stage.ralphd(&["answer", &waiting.id, "skip"]).done();
    let still = stage.session("two").unwrap();
    assert_eq!(still.status, "awaiting_human");
    assert_ne!(
        context(&still)["task"],
        context(&waiting)["task"],
        "the other one is asked about now"
    );
    stage.ralphd(&["answer", &waiting.id, "skip"]).done();
    let session = stage.ended("two");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.states(&session), "skipped skipped completed");
}

#[test]
fn an_agent_may_ask_in_the_middle_of_its_step() {
    let mut stage = Stage::open();
    let asks = r#"if grep -q 'Answer: the blue one'; then echo painted; echo TASK_COMPLETE
        else mkdir -p state; echo '{"question": "Which pot?", "options": ["the red one", "the blue one"]}' >state/question.json; echo hm; fi"#;
    let tasks =
        json!([{"order": 1, "type": "agent", "description": "Paint"}, shell(2, &[1], "cat")]);
    stage.case("pot").plan(tasks).plays("step", asks).submit();
    let waiting = stage.in_state("pot", "awaiting_human");
    assert_eq!(context(&waiting)["question"], "Which pot?");
    stage.kill9();
    stage.ralphd(&["answer", &waiting.id, "2"]).done();
    stage.restart();
    let session = stage.ended("pot");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(
        stage.task(&session, 2)["result"]["json"]["1"]["answer"],
        "painted"
    );
    assert_eq!(stage.decisions(&session), "", "a question is no failure");
}
