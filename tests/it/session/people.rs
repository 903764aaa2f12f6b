//! Questions to people and their answers.

use crate::support::{Daemon, Site, wait_for};
use serde_json::Value as Json;

/// Asks until it is told about the blue one.
const ASKS: &str = r#"if grep -q 'Answer: the blue one'; then echo painted; echo TASK_COMPLETE
else mkdir -p state
    echo '{"question": "Which pot of paint?", "options": ["the red one", "the blue one"]}' >state/question.json
    echo 'I have to ask.'
fi"#;

#[test]
fn a_question_waits_and_its_answer_is_in_the_next_prompt() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    daemon.drop_file("paint.md", "Paint the door.");
    let waiting = daemon.in_state("paint", "awaiting_human");
    let context: Json = serde_json::from_str(waiting.human_context.as_deref().unwrap()).unwrap();
    assert_eq!(context["question"], "Which pot of paint?");
    assert_eq!(context["options"][1], "the blue one");
    let view = "SELECT question FROM v_awaiting_human WHERE session_id = ?1";
    let asked: Vec<String> = daemon.column(view, [&waiting.id]);
    assert_eq!(asked, ["Which pot of paint?"]);

    daemon
        .ralphd(&["answer", waiting.short_id(), "the blue one"])
        .done();
    let session = daemon.ended("paint");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.answer(), "painted");
    let second = daemon.iterations(&session)[1].prompt();
    for expected in ["Question: Which pot of paint?", "Answer: the blue one"] {
        assert!(second.contains(expected), "{second}");
    }
    assert_eq!(session.human_context, None);
    assert_eq!(daemon.count("SELECT count(*) FROM v_awaiting_human"), 0);
}

#[test]
fn a_number_picks_an_option() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    daemon.drop_file("paint.md", "Paint the door.");
    let waiting = daemon.in_state("paint", "awaiting_human");
    daemon.ralphd(&["answer", &waiting.id, "2"]).done();
    assert_eq!(daemon.ended("paint").status, "completed");
}

#[test]
fn an_answer_may_come_as_a_file() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    daemon.drop_file("one.md", "Paint the door.");
    daemon.drop_file("two.md", "Paint the gate.");
    let one = daemon.in_state("one", "awaiting_human");
    let two = daemon.in_state("two", "awaiting_human");
    daemon.drop_file(
        "first.answer.md",
        &format!("session: {}\n\nthe blue one\n", one.id),
    );
    let json = format!(r#"{{"session": "{}", "answer": "2"}}"#, two.short_id());
    daemon.drop_file("second.answer.json", &json);
    assert_eq!(daemon.ended("one").status, "completed");
    assert_eq!(daemon.ended("two").status, "completed");
    let kept = format!("{}.first.answer.md", one.id);
    assert!(daemon.inbox().join("accepted").join(kept).is_file());
}

#[test]
fn a_file_that_has_answered_does_not_answer_again_after_a_crash() {
    let asks_twice = r#"prompt=$(cat); mkdir -p state
        ask() { echo "{\"question\": \"$1\"}" >state/question.json; echo 'I have to ask.'; }
        case "$prompt" in
        *'Answer: the brush'*) echo TASK_COMPLETE;;
        *'Answer: the blue one'*) ask 'Which tool?';;
        *) ask 'Which pot of paint?';;
        esac"#;
    let mut daemon = Daemon::start(Site::with_worker(asks_twice));
    daemon.drop_file("paint.md", "Paint the door.");
    let waiting = daemon.in_state("paint", "awaiting_human");
    // The answer counts, but its file cannot be put away.
    let accepted = daemon.inbox().join("accepted");
    let aside = daemon.file("aside");
    std::fs::rename(&accepted, &aside).unwrap();
    std::fs::write(&accepted, "").unwrap();
    let answer = format!("session: {}\nthe blue one", waiting.id);
    daemon.drop_file("first.answer.md", &answer);
    let open = "SELECT question FROM v_awaiting_human";
    wait_for("the second question", || {
        let question: Option<String> = daemon.cell(open, []);
        question.filter(|question| question == "Which tool?")
    });
    daemon.kill9();
    std::fs::remove_file(&accepted).unwrap();
    std::fs::rename(&aside, &accepted).unwrap();
    daemon.restart();
    let kept = accepted.join(format!("{}.first.answer.md", waiting.id));
    wait_for("the file to be put away", || kept.is_file().then_some(()));
    assert_eq!(daemon.cell(open, []), Some("Which tool?".to_owned()));
    daemon.ralphd(&["answer", &waiting.id, "the brush"]).done();
    assert_eq!(daemon.ended("paint").status, "completed");
}

#[test]
fn a_session_that_waits_survives_a_restart() {
    let mut daemon = Daemon::start(Site::with_worker(ASKS));
    daemon.drop_file("paint.md", "Paint the door.");
    let waiting = daemon.in_state("paint", "awaiting_human");
    daemon.kill9();
    let ran = daemon.ralphd(&["answer", &waiting.id, "the blue one"]);
    assert!(ran.stderr.contains("no daemon is running"), "{ran:?}");
    daemon.restart();
    assert_eq!(daemon.ended("paint").status, "completed");
}

#[test]
fn nobody_answers() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    daemon.drop_file("paint.md", "---\nhuman_timeout: 1s\n---\nPaint the door.");
    let session = daemon.ended("paint");
    assert_eq!(session.ending(), ("failed", "human_timeout"));
    let ran = daemon.ralphd(&["answer", &session.id, "the blue one"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("failed"), "{ran:?}");
    assert_eq!(daemon.session("paint").unwrap().status, "failed");
}

#[test]
fn an_answer_that_nobody_asked_for_is_refused() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    daemon.drop_file(
        "later.md",
        "---\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.",
    );
    let session = daemon.in_state("later", "created");
    let ran = daemon.ralphd(&["answer", &session.id, "blue"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("created"), "{ran:?}");
}

#[test]
fn a_question_can_be_paused_resumed_answered_and_cancelled() {
    let daemon = Daemon::start(Site::with_worker(ASKS));
    daemon.drop_file("one.md", "Paint the door.");
    daemon.drop_file("two.md", "Paint the gate.");
    let one = daemon.in_state("one", "awaiting_human");
    daemon.ralphd(&["pause", &one.id]).done();
    assert_eq!(daemon.session("one").unwrap().status, "paused");
    daemon.ralphd(&["resume", &one.id]).done();
    let again = daemon.session("one").unwrap();
    assert_eq!(again.status, "awaiting_human");
    assert_eq!(again.human_context, one.human_context);
    daemon.ralphd(&["answer", &one.id, "2"]).done();
    assert_eq!(daemon.ended("one").status, "completed");
    let two = daemon.in_state("two", "awaiting_human");
    daemon.ralphd(&["cancel", &two.id]).done();
    assert_eq!(daemon.ended("two").ending(), ("cancelled", "cancelled"));
    assert_eq!(daemon.count("SELECT count(*) FROM v_awaiting_human"), 0);
}

#[test]
fn a_question_that_is_no_json_is_shown_as_it_is() {
    let script = "mkdir -p state; echo 'red or blue?' >state/question.json; echo hm";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("paint.md", "Paint the door.");
    let waiting = daemon.in_state("paint", "awaiting_human");
    assert!(waiting.human_context.unwrap().contains("red or blue?"));
}

#[test]
fn a_pause_is_not_forgotten_over_a_question() {
    let waits =
        format!("touch \"$HERE/began\"; until [ -e \"$HERE/go\" ]; do sleep 0.02; done\n{ASKS}");
    let daemon = Daemon::start(Site::with_worker(&waits));
    daemon.drop_file("paint.md", "Paint the door.");
    wait_for("the agent", || daemon.file("began").exists().then_some(()));
    let id = daemon.session("paint").unwrap().id;
    daemon.ralphd(&["pause", &id]).done();
    std::fs::write(daemon.file("go"), "").unwrap();
    let paused = daemon.in_state("paint", "paused");
    assert!(paused.human_context.is_some(), "the question is put too");
    daemon.ralphd(&["resume", &id]).done();
    assert_eq!(daemon.session("paint").unwrap().status, "awaiting_human");
    daemon.ralphd(&["answer", &id, "the blue one"]).done();
    assert_eq!(daemon.ended("paint").status, "completed");
}
