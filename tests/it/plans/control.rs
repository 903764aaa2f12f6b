//! Planned sessions that are paused, resumed and cancelled in the middle, and daemons that stop meanwhile.

use super::stage::{Stage, shell};
use crate::support::{Session, wait_for};
use serde_json::{Value as Json, json};

/// Says that it has begun and waits until it may go on; a second task builds on it.
fn waits() -> Json {
    json!([
        shell(
            1,
            &[],
            "echo x >>began; until [ -e go ]; do sleep 0.01; done; echo one"
        ),
        shell(2, &[1], "echo x >>second; echo two"),
    ])
}

fn begun(stage: &Stage, name: &str) -> Session {
    wait_for("the first task", || {
        stage
            .session(name)
            .filter(|session| session.workspace.join("began").exists())
    })
}

fn lines(session: &Session, file: &str) -> usize {
    std::fs::read_to_string(session.workspace.join(file))
        .unwrap_or_default()
        .lines()
        .count()
}

fn let_go(session: &Session) {
    std::fs::write(session.workspace.join("go"), "").unwrap();
}

#[test]
fn a_pause_lets_what_runs_finish_and_begins_nothing() {
    let stage = Stage::open();
    stage.case("pause").plan(waits()).submit();
    let session = begun(&stage, "pause");
    stage.ralphd(&["pause", &session.id]).done();
    let_go(&session);
    let paused = stage.in_state("pause", "paused");
    assert_eq!(stage.states(&paused), "completed pending");
    assert_eq!(lines(&paused, "second"), 0);
    stage.ralphd(&["resume", &session.id]).done();
    let session = stage.ended("pause");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(
        (lines(&session, "began"), lines(&session, "second")),
        (1, 1)
    );
}

#[test]
fn a_pause_at_once_ends_what_runs_and_begins_it_anew() {
    let stage = Stage::open();
    stage.case("now").plan(waits()).submit();
    let session = begun(&stage, "now");
    stage.ralphd(&["pause", "--now", &session.id]).done();
    let paused = stage.in_state("now", "paused");
    stage.assert_nothing_runs();
    assert_eq!(stage.states(&paused), "pending waiting_dependency");
    let_go(&session);
    stage.ralphd(&["resume", &session.id]).done();
    let session = stage.ended("now");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.decisions(&session), "", "a pause is no failure");
    assert_eq!(lines(&session, "second"), 1);
}

#[test]
fn a_command_that_a_dead_daemon_left_is_ended_before_its_session_is() {
    let mut stage = Stage::open();
    let tasks = json!([shell(1, &[], "sleep 600")]);
    stage.case("left").plan(tasks).submit();
    let id = stage.in_state("left", "executing").id;
    wait_for("the command", || {
        let running = "SELECT 1 FROM tasks WHERE task_type = 'shell' AND status = 'running'";
        stage.cell::<i64>(running, [])?;
        (!stage.turn_processes().is_empty()).then_some(())
    });
    stage.kill9();
    stage.ralphd(&["cancel", &id]).done();
    stage.restart();
    stage.in_state("left", "cancelled");
    stage.assert_nothing_runs();
}

#[test]
fn a_cancelled_plan_leaves_nothing_running() {
    let stage = Stage::open();
    let long = "echo x >>began; sleep 600 & sleep 600";
    stage
        .case("tasks")
        .plan(json!([
            shell(1, &[], long),
            shell(2, &[], long),
            shell(3, &[1], "true")
        ]))
        .submit();
    stage
        .case("planning")
        .plays("planner", "touch \"$D/began\"; sleep 600")
        .submit();
    let thinks = json!([{"order": 1, "type": "analysis", "description": "Think"}]);
    stage
        .case("thinking")
        .plan(thinks)
        .plays("analyst", "touch \"$D/began\"; sleep 600")
        .submit();
    let asks = super::stage::with(shell(1, &[], "exit 1"), json!({"on_failure": "human"}));
    stage
        .case("asking")
        .plan(json!([asks, shell(2, &[1], "true")]))
        .submit();
    stage.in_state("asking", "awaiting_human");
    begun(&stage, "tasks");
    wait_for("both tasks", || {
        (lines(&stage.session("tasks")?, "began") == 2).then_some(())
    });
    for name in ["planning", "thinking"] {
        wait_for(name, || {
            stage
                .file(&format!("cases/{name}/began"))
                .exists()
                .then_some(())
        });
    }
    for (name, states) in [
        ("tasks", "cancelled cancelled cancelled"),
        ("planning", ""),
        ("thinking", "cancelled"),
        ("asking", "cancelled cancelled"),
    ] {
        let id = stage.session(name).unwrap().id;
        stage.ralphd(&["cancel", &id]).done();
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("cancelled", "cancelled"),
            "{name}: {session:?}"
        );
        assert_eq!(stage.states(&session), states, "{name}");
    }
    stage.assert_nothing_runs();
    assert_eq!(
        stage.count("SELECT count(*) FROM tasks WHERE status NOT IN ('cancelled')"),
        0
    );
}

#[test]
fn a_stopped_daemon_leaves_nothing_running_and_the_next_goes_on() {
    let mut stage = Stage::open();
    stage.case("stop").plan(waits()).submit();
    let thinks = json!([{"order": 1, "type": "analysis", "description": "Think"}]);
    let decision = r#"{"decision": 1, "reasoning": "r", "confidence": "high"}"#;
    stage
        .case("think")
        .plan(thinks)
        .plays("analyst.1", "touch \"$D/began\"; sleep 600")
        .says("analyst", decision)
        .submit();
    let session = begun(&stage, "stop");
    wait_for("the analyst", || {
        stage.file("cases/think/began").exists().then_some(())
    });
    assert_eq!(stage.terminate().code(), Some(0));
    stage.assert_nothing_runs();
    let_go(&session);
    stage.restart();
    for name in ["stop", "think"] {
        let session = stage.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {session:?}"
        );
        assert_eq!(
            stage.decisions(&session),
            "",
            "{name}: a stop is no failure"
        );
    }
    assert_eq!(lines(&session, "second"), 1);
}

#[test]
fn a_killed_daemon_finds_its_tasks_again() {
    let mut stage = Stage::open();
    stage.case("kill").plan(waits()).submit();
    let session = begun(&stage, "kill");
    stage.kill9();
    let_go(&session);
    stage.restart();
    let session = stage.ended("kill");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(
        (lines(&session, "began"), lines(&session, "second")),
        (1, 1),
        "the command that ran was not run again"
    );
}
