//! Pause, resume, cancel: what people may want of a session.

use crate::support::{Daemon, Site, is_alive, wait_for};

/// Waits for the test's word before it is done, and leaves its process id.
const WAITS: &str = "echo $$ >\"$HERE/pid\"; until [ -e \"$HERE/go\" ]; do sleep 0.02; done
    [ $TURNS -ge 2 ] && echo TASK_COMPLETE || echo \"turn $TURNS\"";

fn agent_pid(daemon: &Daemon) -> i32 {
    wait_for("the agent to run", || {
        daemon.read("pid").trim().parse().ok()
    })
}

fn let_go(daemon: &Daemon) {
    std::fs::write(daemon.file("go"), "").unwrap();
}

#[test]
fn pausing_what_has_not_begun_changes_nothing_else() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    daemon.drop_file(
        "later.md",
        "---\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.",
    );
    let session = daemon.in_state("later", "created");
    let rest = "SELECT json_array(objective, iteration_count, cost_usd, workspace, started_at_ms, ended_at_ms, control,
        (SELECT json_array(status, held, due, run_at_ms, not_before_ms) FROM tasks WHERE session_id = sessions.id)) FROM sessions";
    let before: String = daemon.cell(rest, []).unwrap();
    daemon.ralphd(&["pause", &session.id]).done();
    assert_eq!(daemon.session("later").unwrap().status, "paused");
    daemon.ralphd(&["resume", &session.id]).done();
    assert_eq!(daemon.session("later").unwrap().status, "created");
    assert_eq!(daemon.cell::<String>(rest, []).unwrap(), before);
}

#[test]
fn a_running_iteration_may_finish_before_the_pause() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("work.md", "Go.");
    agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    let said = daemon.ralphd(&["pause", &session.id]).done();
    assert!(
        said.contains("will pause after its running iteration"),
        "{said}"
    );
    assert_eq!(daemon.session("work").unwrap().status, "executing");
    let_go(&daemon);
    let paused = daemon.in_state("work", "paused");
    assert_eq!(paused.iteration_count, 1);
    daemon.ralphd(&["resume", &session.id]).done();
    let ended = daemon.ended("work");
    assert_eq!(ended.ending(), ("completed", "completed"));
    assert_eq!(ended.iteration_count, 2);
}

#[test]
fn pause_now_ends_the_running_iteration_and_does_not_count_it() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("work.md", "Go.");
    let pid = agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    let said = daemon.ralphd(&["pause", "--now", &session.id]).done();
    assert!(!said.contains("after its running iteration"), "{said}");
    let paused = daemon.in_state("work", "paused");
    assert!(!is_alive(pid));
    assert_eq!(paused.iteration_count, 0);
    assert_eq!(daemon.verdicts(&paused), [("cancelled".to_owned(), false)]);
    let_go(&daemon);
    daemon.ralphd(&["resume", &session.id]).done();
    let ended = daemon.ended("work");
    assert_eq!(ended.ending(), ("completed", "completed"));
    assert_eq!(ended.iteration_count, 1);
}

#[test]
fn a_pause_survives_a_restart() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("work.md", "Go.");
    agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    daemon.kill9();
    daemon.ralphd(&["pause", &session.id]).done();
    let_go(&daemon);
    daemon.restart();
    assert_eq!(daemon.in_state("work", "paused").iteration_count, 1);
}

#[test]
fn cancelling_what_has_not_begun() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    daemon.drop_file(
        "later.md",
        "---\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.",
    );
    let session = daemon.in_state("later", "created");
    daemon.ralphd(&["cancel", &session.id]).done();
    let ended = daemon.ended("later");
    assert_eq!(ended.ending(), ("cancelled", "cancelled"));
    let task: String = daemon.cell("SELECT status FROM tasks", []).unwrap();
    assert_eq!(task, "cancelled");
    let (text, _) = daemon.outbox("later", &ended);
    assert!(text.contains("# Cancelled"), "{text}");
    let ran = daemon.ralphd(&["cancel", &session.id]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cancelled"), "{ran:?}");
    assert_eq!(daemon.runs("worker"), 0);
}

#[test]
fn cancelling_a_running_session_ends_its_agent() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("work.md", "Go.");
    let pid = agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    daemon.ralphd(&["cancel", &session.id]).done();
    let ended = daemon.ended("work");
    assert_eq!(ended.ending(), ("cancelled", "cancelled"));
    assert!(!is_alive(pid));
    daemon.assert_nothing_runs();
    assert_eq!(daemon.verdicts(&ended), [("cancelled".to_owned(), false)]);
}

#[test]
fn cancelling_ends_a_running_check() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let check = format!(
        "echo $$ >{}; sleep 600 & wait",
        daemon.file("pid").display()
    );
    daemon.drop_file("work.md", &format!("---\nverify: \"{check}\"\n---\nGo."));
    let pid = agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    daemon.ralphd(&["cancel", &session.id]).done();
    assert_eq!(daemon.ended("work").ending(), ("cancelled", "cancelled"));
    assert!(!is_alive(pid));
    daemon.assert_nothing_runs();
}

#[test]
fn a_wish_while_no_daemon_runs_is_obeyed_by_the_next() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("work.md", "Go.");
    let pid = agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    daemon.kill9();
    let ran = daemon.ralphd(&["cancel", &session.id]);
    assert!(ran.stderr.contains("no daemon is running"), "{ran:?}");
    assert!(is_alive(pid), "only a daemon ends turns");
    daemon.restart();
    assert_eq!(daemon.ended("work").ending(), ("cancelled", "cancelled"));
    assert!(!is_alive(pid));
    daemon.assert_nothing_runs();
}

#[test]
fn a_session_that_waits_for_a_workspace_can_be_cancelled() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    let text = "---\nworkspace: { session: shared }\n---\nGo.";
    daemon.drop_file("a.md", text);
    agent_pid(&daemon);
    daemon.drop_file("b.md", text);
    daemon.drop_file("c.md", text);
    wait_for("both to wait", || {
        let waiting = "SELECT count(*) FROM tasks WHERE waits_for IS NOT NULL";
        (daemon.count(waiting) == 2).then_some(())
    });
    let waiting = daemon.session("b").unwrap();
    daemon.ralphd(&["cancel", &waiting.id]).done();
    assert_eq!(daemon.ended("b").ending(), ("cancelled", "cancelled"));
    let running = daemon.session("a").unwrap();
    daemon.ralphd(&["cancel", &running.id]).done();
    assert_eq!(daemon.ended("a").ending(), ("cancelled", "cancelled"));
    let_go(&daemon);
    assert_eq!(daemon.ended("c").ending(), ("completed", "completed"));
}

#[test]
fn a_paused_session_that_waits_for_a_workspace_stays_paused() {
    let daemon = Daemon::start(Site::with_worker(WAITS));
    let text = "---\nworkspace: { session: shared }\n---\nGo.";
    daemon.drop_file("a.md", text);
    agent_pid(&daemon);
    daemon.drop_file("b.md", text);
    wait_for("it to wait", || {
        let waiting = "SELECT count(*) FROM tasks WHERE waits_for IS NOT NULL";
        (daemon.count(waiting) == 1).then_some(())
    });
    let waiting = daemon.session("b").unwrap();
    daemon.ralphd(&["pause", &waiting.id]).done();
    let_go(&daemon);
    daemon.ended("a");
    daemon.drop_file("witness.md", "Go.");
    daemon.ended("witness");
    assert_eq!(daemon.session("b").unwrap().status, "paused");
    daemon.ralphd(&["resume", &waiting.id]).done();
    assert_eq!(daemon.ended("b").ending(), ("completed", "completed"));
}

#[test]
fn a_pause_now_that_is_withdrawn_costs_one_turn_and_no_more() {
    // The first turn takes its time to end, so that the word comes back while it does.
    let script = "if [ $TURNS = 1 ]; then
            trap 'touch \"$HERE/asked\"; until [ -e \"$HERE/back\" ]; do sleep 0.02; done; exit 1' TERM
        fi
        echo $$ >\"$HERE/pid\"; until [ -e \"$HERE/go\" ]; do sleep 0.02; done; echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("work.md", "Go.");
    agent_pid(&daemon);
    let session = daemon.in_state("work", "executing");
    daemon.ralphd(&["pause", "--now", &session.id]).done();
    wait_for("the turn to be asked", || {
        daemon.file("asked").exists().then_some(())
    });
    daemon.ralphd(&["resume", &session.id]).done();
    std::fs::write(daemon.file("back"), "").unwrap();
    wait_for("the next turn", || {
        (daemon.runs("worker") > 1).then_some(())
    });
    let_go(&daemon);
    let ended = daemon.ended("work");
    assert_eq!(ended.ending(), ("completed", "completed"));
    let expected = [
        ("cancelled".to_owned(), false),
        ("promised".to_owned(), true),
    ];
    assert_eq!(daemon.verdicts(&ended), expected);
    assert_eq!(daemon.runs("worker"), 2);
}
