//! Agents that say nothing, fail, hang or are not there.

use crate::support::{Daemon, Site};

fn judged(list: &[(&str, bool)]) -> Vec<(String, bool)> {
    let owned = |(verdict, counted): &(&str, bool)| ((*verdict).to_owned(), *counted);
    list.iter().map(owned).collect()
}

#[test]
fn turns_without_words_count_from_the_third() {
    let script = "[ $TURNS -le 3 ] || echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("mute.md", "Go.");
    let session = daemon.ended("mute");
    let expected = [
        ("empty", false),
        ("empty", false),
        ("empty", true),
        ("promised", true),
    ];
    assert_eq!(daemon.verdicts(&session), judged(&expected));
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 2);
}

#[test]
fn an_agent_that_says_nothing_at_all_is_ended() {
    let daemon = Daemon::start(Site::with_worker("true"));
    daemon.drop_file("mute.md", "---\nmax_iterations: 2\n---\nGo.");
    let session = daemon.ended("mute");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    assert_eq!(daemon.runs("worker"), 4);
}

#[test]
fn a_passing_failure_is_tried_again_and_not_counted() {
    let script = "[ $TURNS -le 2 ] && { echo overloaded >&2; exit 7; }; echo TASK_COMPLETE";
    let site = Site::with_worker(script).variable("RALPHD_DEFAULTS__TRANSIENT_BACKOFF", "10ms");
    let daemon = Daemon::start(site);
    daemon.drop_file("shaky.md", "Go.");
    let session = daemon.ended("shaky");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 1);
    let expected = [("failed", false), ("failed", false), ("promised", true)];
    assert_eq!(daemon.verdicts(&session), judged(&expected));
    assert_eq!(daemon.iterations(&session)[0].exit_code, Some(7));
}

#[test]
fn a_lasting_failure_ends_after_one_run_and_three_more() {
    let site = Site::with_worker("echo 'no licence today' >&2; exit 7")
        .variable("RALPHD_DEFAULTS__TRANSIENT_BACKOFF", "10ms");
    let daemon = Daemon::start(site);
    daemon.drop_file("broken.md", "Go.");
    let session = daemon.ended("broken");
    assert_eq!(session.ending(), ("failed", "agent_failed"));
    assert_eq!(session.iteration_count, 0);
    assert_eq!(daemon.verdicts(&session), judged(&[("failed", false); 4]));
    assert_eq!(daemon.runs("worker"), 4);
    let (text, _) = daemon.outbox("broken", &session);
    assert!(text.contains("exit code 7: no licence today"), "{text}");
}

#[test]
fn the_wait_before_the_next_try_at_least_doubles() {
    let site = Site::with_worker("exit 7").variable("RALPHD_DEFAULTS__TRANSIENT_BACKOFF", "50ms");
    let daemon = Daemon::start(site);
    daemon.drop_file("broken.md", "Go.");
    daemon.ended("broken");
    let waits: Vec<i64> = daemon.column(
        "SELECT later.started_at_ms - earlier.ended_at_ms FROM iterations later
         JOIN iterations earlier ON earlier.number = later.number - 1 ORDER BY later.number",
        [],
    );
    assert_eq!(waits.len(), 3);
    for (wait, least) in waits.iter().zip([50, 100, 200]) {
        assert!(*wait >= least, "{waits:?}");
    }
}

#[test]
fn a_missing_program_fails_at_once() {
    let site = Site::new().configure("[agents.ghost]\ncommand = [\"/nonexistent/agent\"]\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("ghost.md", "Go.");
    let session = daemon.ended("ghost");
    assert_eq!(session.ending(), ("failed", "agent_failed"));
    assert_eq!(daemon.verdicts(&session), judged(&[("failed", false)]));
    let detail = session.end_detail.unwrap();
    assert!(
        detail.contains("ghost") && detail.contains("/nonexistent/agent"),
        "{detail}"
    );
}

#[test]
fn a_promise_before_the_timeout_counts() {
    let site = Site::with_worker("echo 'All done.'; echo TASK_COMPLETE; exec sleep 600");
    let daemon = Daemon::start(site);
    daemon.drop_file("slow.md", "---\niteration_timeout: 1s\n---\nGo.");
    let session = daemon.ended("slow");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.answer(), "All done.");
    daemon.assert_nothing_runs();
}

#[test]
fn a_turn_that_hangs_is_ended_and_counted() {
    let daemon = Daemon::start(Site::with_worker("echo thinking; sleep 600 & wait"));
    let front = "iteration_timeout: 1s\nmax_iterations: 1";
    daemon.drop_file("hang.md", &format!("---\n{front}\n---\nGo."));
    let session = daemon.ended("hang");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    assert_eq!(daemon.verdicts(&session), judged(&[("timed_out", true)]));
    daemon.assert_nothing_runs();
}

#[test]
fn a_silent_turn_is_ended() {
    let daemon = Daemon::start(Site::with_worker("echo thinking; exec sleep 600"));
    let front = "silence_timeout: 1s\nmax_iterations: 1";
    daemon.drop_file("silent.md", &format!("---\n{front}\n---\nGo."));
    let session = daemon.ended("silent");
    assert_eq!(daemon.verdicts(&session), judged(&[("timed_out", true)]));
}

#[test]
fn strange_output_is_kept_and_judged() {
    let site = Site::new()
        .agent(
            "binary",
            "printf 'caf\\351 \\000 \\377\\n'; echo TASK_COMPLETE",
        )
        .agent(
            "wordy",
            "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo TASK_COMPLETE",
        )
        .agent("closes", "echo TASK_COMPLETE; exec >&- 2>&-; sleep 0.1")
        .agent("deaf", "exec <&-; echo TASK_COMPLETE")
        .agent(
            "homeless",
            "rm -rf \"$RALPHD_WORKSPACE\"; echo TASK_COMPLETE",
        );
    let daemon = Daemon::start(site);
    let agents = ["binary", "wordy", "closes", "deaf", "homeless"];
    for agent in agents {
        daemon.drop_file(
            &format!("{agent}.md"),
            &format!("---\nagent: {agent}\n---\nGo."),
        );
    }
    for agent in agents {
        let session = daemon.ended(agent);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{agent}: {session:?}"
        );
    }
}

#[test]
fn a_workspace_that_an_agent_removed_is_made_again() {
    let script =
        "cd /; rm -rf \"$RALPHD_WORKSPACE\"; [ $TURNS -ge 2 ] && echo TASK_COMPLETE || echo oops";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("homeless.md", "Go.");
    let session = daemon.ended("homeless");
    assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
}
