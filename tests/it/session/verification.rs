//! The promise checked against reality: `verify` and `protect`.

use crate::support::{Daemon, Session, Site};
use std::fs;

#[test]
fn a_failed_check_is_told_and_a_passed_one_completes() {
    let script = "[ $TURNS -ge 2 ] && touch done.txt; echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    let check = "test -f done.txt || { echo 'done.txt is missing' >&2; exit 3; }";
    daemon.drop_file("check.md", &format!("---\nverify: \"{check}\"\n---\nGo."));
    let session = daemon.ended("check");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.verified.as_deref(), Some("verified"));
    assert_eq!(session.iteration_count, 2);
    let iterations = daemon.iterations(&session);
    let second = iterations[1].prompt();
    assert!(second.contains("[VERIFICATION FAILED]"), "{second}");
    assert!(second.contains("done.txt is missing"), "{second}");
    assert!(second.contains("verification failed"), "{second}");
    let (text, _) = daemon.outbox("check", &session);
    assert!(text.contains("# Completed, and verified"), "{text}");
}

#[test]
fn a_check_that_never_passes_ends_at_the_cap_with_its_last_lines() {
    let daemon = Daemon::start(Site::with_worker("echo \"try $TURNS\"; echo TASK_COMPLETE"));
    let front = "max_iterations: 2\nverify: \"echo red is not green; exit 1\"";
    daemon.drop_file("never.md", &format!("---\n{front}\n---\nGo."));
    let session = daemon.ended("never");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    let (text, _) = daemon.outbox("never", &session);
    assert!(text.contains("red is not green"), "{text}");
}

/// A session whose agent rewrites the check in order to pass it.
fn tampering(daemon: &Daemon, stem: &str, autonomy: u8) {
    let workspace = daemon.state().join("workspaces/session").join(stem);
    fs::create_dir_all(workspace.join("tests")).unwrap();
    fs::write(workspace.join("tests/check.sh"), "exit 1\n").unwrap();
    let front = format!(
        "autonomy: {autonomy}\nverify: sh tests/check.sh\nprotect: [ 'tests/**' ]\nworkspace: {{ session: {stem} }}"
    );
    daemon.drop_file(&format!("{stem}.md"), &format!("---\n{front}\n---\nGo."));
}

const TAMPERER: &str = "echo 'exit 0' >tests/check.sh; echo TASK_COMPLETE";

fn assert_tampered(daemon: &Daemon, stem: &str, session: &Session) {
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.verified.as_deref(), Some("tampered"));
    let (text, json) = daemon.outbox(stem, session);
    assert!(text.contains("TAMPERED"), "{text}");
    assert!(text.contains("tests/check.sh"), "{text}");
    assert_eq!(json["verified"], "tampered");
}

#[test]
fn changed_protected_files_are_said() {
    let daemon = Daemon::start(Site::with_worker(TAMPERER));
    tampering(&daemon, "free", 4);
    let session = daemon.ended("free");
    assert_tampered(&daemon, "free", &session);
}

#[test]
fn a_person_may_accept_changed_protected_files() {
    let daemon = Daemon::start(Site::with_worker(TAMPERER));
    tampering(&daemon, "asked", 3);
    let waiting = daemon.in_state("asked", "awaiting_human");
    let context = waiting.human_context.clone().unwrap();
    assert!(context.contains("tests/check.sh"), "{context}");
    daemon.ralphd(&["answer", &waiting.id, "accept"]).done();
    let session = daemon.ended("asked");
    assert_tampered(&daemon, "asked", &session);
    assert_eq!(session.iteration_count, 1);
}

#[test]
fn a_person_may_send_the_agent_back() {
    let script =
        "[ $TURNS -eq 1 ] && echo 'exit 0' >tests/check.sh || echo 'exit 1' >tests/check.sh
        echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    tampering(&daemon, "back", 3);
    let waiting = daemon.in_state("back", "awaiting_human");
    daemon
        .ralphd(&["answer", &waiting.id, "put it back"])
        .done();
    let session = daemon.ended("back");
    assert_ne!(session.status, "completed", "the restored check fails");
    let second = daemon.iterations(&session)[1].prompt();
    assert!(second.contains("Answer: put it back"), "{second}");
}
