//! Gates: before which tasks a person is asked, and what approval and rejection do.

use super::stage::{Stage, shell, with};
use crate::support::{Session, wait_for};
use serde_json::{Value as Json, json};

/// Two tasks one after the other, the second of them critical; each leaves a file when it runs.
fn tasks() -> Json {
    json!([
        shell(1, &[], "touch first; echo one"),
        with(
            shell(2, &[1], "touch second; echo two"),
            json!({"critical": true})
        ),
    ])
}

/// Approves whatever a session asks until it has ended, and says which tasks it asked about, in order.
fn approve_all(stage: &Stage, name: &str) -> (Session, Vec<i64>) {
    let mut asked = Vec::new();
    loop {
        let session = wait_for("the end or a gate", || {
            let reported =
                "SELECT count(*) FROM sessions WHERE origin = ?1 AND reported_at_ms IS NOT NULL";
            let over = stage.cell::<i64>(reported, [name])? > 0;
            // After that: what is read before its report may be older than its end.
            let session = stage.session(name)?;
            (over || session.status == "awaiting_human").then_some(session)
        });
        if session.status != "awaiting_human" {
            return (session, asked);
        }
        let context: Json = session.human_context.as_deref().unwrap().parse().unwrap();
        let order = "SELECT task_order FROM tasks WHERE id = ?1";
        let order = stage
            .cell::<i64>(order, [context["task"].as_str().unwrap()])
            .unwrap();
        let file = ["", "first", "second"][order as usize];
        assert!(
            !session.workspace.join(file).exists(),
            "nothing of it has run"
        );
        assert_eq!(context["options"], json!(["approve", "reject"]));
        assert!(
            context["question"]
                .as_str()
                .unwrap()
                .contains(&format!("touch {file}")),
            "{context}"
        );
        asked.push(order);
        stage.ralphd(&["answer", &session.id, "approve"]).done();
    }
}

#[test]
fn who_is_asked_about_what() {
    let stage = Stage::open();
    let expected: [&[i64]; 5] = [&[1, 2], &[1, 2], &[2], &[], &[]];
    for (autonomy, expected) in (1..).zip(expected) {
        let name = format!("level{autonomy}");
        stage
            .case(&name)
            .front(&format!("autonomy: {autonomy}"))
            .plan(tasks())
            .submit();
        let (session, asked) = approve_all(&stage, &name);
        assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
        assert_eq!(asked, expected, "autonomy {autonomy}");
        let events = ["human.asked", "human.approved"].map(|kind| stage.events(&session, kind));
        assert_eq!(events, [expected.len() as i64; 2]);
        assert_eq!(stage.states(&session), "completed completed");
    }
}

#[test]
fn a_rejection_pauses_and_a_resumed_session_asks_anew() {
    let stage = Stage::open();
    stage.case("no").front("autonomy: 3").plan(tasks()).submit();
    let waiting = stage.in_state("no", "awaiting_human");
    let nonsense = stage.ralphd(&["answer", &waiting.id, "perhaps"]);
    assert_eq!(nonsense.code, Some(1), "{nonsense:?}");
    assert_eq!(stage.session("no").unwrap().status, "awaiting_human");
    stage.ralphd(&["answer", &waiting.id, "reject"]).done();
    let paused = stage.in_state("no", "paused");
    let context: Json = paused.human_context.as_deref().unwrap().parse().unwrap();
    assert!(
        context["question"].as_str().unwrap().contains("task 2"),
        "{context}"
    );
    assert!(
        context.as_object().unwrap().contains_key("rejected"),
        "{context}"
    );
    assert_eq!(stage.states(&paused), "completed human_required");
    stage.ralphd(&["resume", &paused.id]).done();
    let again = stage.in_state("no", "awaiting_human");
    assert!(!again.workspace.join("second").exists());
    assert_eq!(stage.events(&again, "human.asked"), 2);
    stage.ralphd(&["answer", &again.id, "yes"]).done();
    let session = stage.ended("no");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.events(&session, "human.rejected"), 1);
}

#[test]
fn two_gates_at_once_are_answered_one_after_the_other() {
    let stage = Stage::open();
    let both = json!([
        shell(1, &[], "touch first; echo one"),
        shell(2, &[], "touch second; echo two")
    ]);
    stage.case("both").front("autonomy: 2").plan(both).submit();
    let (session, mut asked) = approve_all(&stage, "both");
    asked.sort_unstable();
    assert_eq!(asked, [1, 2]);
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
}

#[test]
fn a_gate_that_nobody_answers_ends_the_session() {
    let stage = Stage::open();
    stage
        .case("late")
        .front("autonomy: 1\nhuman_timeout: 1s")
        .plan(tasks())
        .submit();
    let session = stage.ended("late");
    assert_eq!(session.ending(), ("failed", "human_timeout"));
    assert!(!session.workspace.join("first").exists());
}

#[test]
fn a_task_that_was_approved_and_fails_is_not_gated_again() {
    let stage = Stage::open();
    let fails_once = "[ -e once ] || { touch once; exit 1; }; echo done";
    stage
        .case("again")
        .front("autonomy: 2")
        .plan(json!([with(
            shell(1, &[], fails_once),
            json!({"critical": true})
        )]))
        .submit();
    let waiting = stage.in_state("again", "awaiting_human");
    stage.ralphd(&["answer", &waiting.id, "approve"]).done();
    let session = stage.ended("again");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    assert_eq!(stage.events(&session, "human.asked"), 1);
    assert_eq!(stage.decisions(&session), "retry");
}

/// A task that runs until it may finish, and beside it one at a gate.
fn beside() -> Json {
    json!([
        shell(1, &[], "touch began; until [ -e go ]; do sleep 0.01; done"),
        with(shell(2, &[], "echo two"), json!({"critical": true})),
    ])
}

#[test]
fn a_rejection_lets_what_runs_beside_it_finish() {
    let stage = Stage::open();
    for early in [false, true] {
        let name = if early { "early" } else { "later" };
        stage
            .case(name)
            .front("autonomy: 3")
            .plan(beside())
            .submit();
        let session = stage.in_state(name, "awaiting_human");
        wait_for("the task beside it", || {
            session.workspace.join("began").exists().then_some(())
        });
        stage.ralphd(&["answer", &session.id, "reject"]).done();
        if early {
            // The pause has not even begun when it is withdrawn.
            stage.ralphd(&["resume", &session.id]).done();
        }
        std::fs::write(session.workspace.join("go"), "").unwrap();
        if !early {
            let paused = stage.in_state(name, "paused");
            assert_eq!(stage.states(&paused), "completed human_required");
            stage.ralphd(&["resume", &session.id]).done();
        }
        wait_for("the second question", || {
            (stage.events(&session, "human.asked") == 2).then_some(())
        });
        stage.ralphd(&["answer", &session.id, "approve"]).done();
        let session = stage.ended(name);
        assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
    }
}

#[test]
fn a_gate_that_cannot_be_asked_about_leaves_no_half_of_it_behind() {
    let mut stage = Stage::open();
    stage
        .case("torn")
        .front("autonomy: 1")
        .plan(tasks())
        .submit();
    let session = stage.in_state("torn", "awaiting_human");
    stage.terminate();
    // Rows such as no verb leaves them: ready to be claimed in a session that nobody can be asked about.
    let rows = rusqlite::Connection::open(stage.state().join("ralphd.db")).unwrap();
    rows.execute_batch(
        "DELETE FROM human_requests;
         UPDATE sessions SET status = 'paused', human_context = NULL;
         UPDATE tasks SET status = 'pending', held = 0 WHERE status = 'human_required';
         UPDATE tasks SET held = 0;",
    )
    .unwrap();
    stage.restart();
    stage
        .case("beside")
        .front("autonomy: 4")
        .plan(tasks())
        .submit();
    assert_eq!(stage.ended("beside").ending(), ("completed", "completed"));
    let session = wait_for("its end", || {
        stage
            .session("torn")
            .filter(|torn| torn.id == session.id && torn.status == "failed")
    });
    assert!(
        session
            .end_detail
            .as_deref()
            .unwrap_or("")
            .contains("paused"),
        "{session:?}"
    );
    assert_eq!(stage.states(&session), "failed blocked");
    assert_eq!(stage.count("SELECT count(*) FROM human_requests"), 0);
}
