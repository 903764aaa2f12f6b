//! How much runs at once: turns of one agent, and sessions. What has no room waits, and what has room does not wait behind it.

use crate::support::{Daemon, Site, wait_for};

/// Notes when two turns of this agent overlap, and goes on when it is told.
const ALONE: &str = "mkdir \"$HERE/alone\" || touch \"$HERE/overlap\"
    while [ ! -e \"$HERE/go\" ]; do sleep 0.02; done
    rmdir \"$HERE/alone\"; echo TASK_COMPLETE";

fn running(daemon: &Daemon) -> i64 {
    daemon.count("SELECT count(*) FROM tasks WHERE status = 'running'")
}

#[test]
fn an_agent_takes_as_many_turns_at_once_as_it_may_and_others_pass_it() {
    let site = Site::with_worker(ALONE)
        .configure("max_parallel = 1\n")
        .agent("other", "echo TASK_COMPLETE");
    let mut daemon = Daemon::start(site);
    for name in ["first", "second", "third"] {
        daemon.drop_file(&format!("{name}.md"), "---\npriority: 5\n---\nGo.");
    }
    wait_for("all of them", || {
        (daemon.count("SELECT count(*) FROM sessions") == 3).then_some(())
    });
    daemon.drop_file("passes.md", "---\nagent: other\n---\nGo.");
    assert_eq!(daemon.ended("passes").ending(), ("completed", "completed"));
    assert_eq!((daemon.runs("worker"), running(&daemon)), (1, 1));
    let listed = daemon.ralphd(&["list"]).done();
    assert_eq!(listed.matches("queued").count(), 2, "{listed}");
    // The rows say how much runs: a new daemon holds to it too.
    daemon.kill9();
    daemon.restart();
    wait_for("the running turn to be adopted", || {
        (running(&daemon) == 1).then_some(())
    });
    std::fs::write(daemon.file("go"), "").unwrap();
    for name in ["first", "second", "third"] {
        assert_eq!(daemon.ended(name).ending(), ("completed", "completed"));
    }
    assert_eq!(daemon.runs("worker"), 3);
    assert!(!daemon.file("overlap").exists());
}

#[test]
fn no_more_sessions_at_once_than_may_be() {
    let site = Site::with_worker(ALONE).configure("[queue]\nmax_sessions = 1\n");
    let daemon = Daemon::start(site);
    for name in ["first", "second", "third"] {
        daemon.drop_file(&format!("{name}.md"), "Go.");
    }
    wait_for("all of them, and one at work", || {
        let all = daemon.count("SELECT count(*) FROM sessions") == 3;
        (all && daemon.runs("worker") == 1).then_some(())
    });
    std::fs::write(daemon.file("go"), "").unwrap();
    for name in ["first", "second", "third"] {
        assert_eq!(daemon.ended(name).ending(), ("completed", "completed"));
    }
    assert!(!daemon.file("overlap").exists());
}
