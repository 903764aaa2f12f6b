//! Limits are real: standstill, time and money.

use crate::support::{Daemon, Site};

#[test]
fn a_loop_that_changes_nothing_ends_as_stagnated() {
    let daemon = Daemon::start(Site::with_worker("echo 'still thinking'"));
    daemon.drop_file("idle.md", "Go.");
    let session = daemon.ended("idle");
    assert_eq!(session.ending(), ("failed", "stagnated"));
    // The first has nothing to be compared with; the three after it are the same again.
    assert_eq!(session.iteration_count, 4);
}

#[test]
fn one_sign_of_progress_is_enough_to_go_on() {
    let site = Site::new()
        .agent("writes", "echo x >>file; echo same")
        .agent(
            "deletes",
            "[ -e f6 ] || touch f1 f2 f3 f4 f5 f6; rm f$TURNS; echo same",
        )
        .agent(
            "notes",
            "mkdir -p state; echo \"{\\\"phase\\\": $TURNS}\" >state/handoff.json; echo same",
        )
        .agent("speaks", "echo \"turn $TURNS\"");
    let daemon = Daemon::start(site);
    let agents = ["writes", "deletes", "notes", "speaks"];
    for agent in agents {
        let text = format!("---\nagent: {agent}\nmax_iterations: 5\n---\nGo.");
        daemon.drop_file(&format!("{agent}.md"), &text);
    }
    for agent in agents {
        let session = daemon.ended(agent);
        assert_eq!(session.ending(), ("failed", "max_iterations"), "{agent}");
        assert_eq!(session.iteration_count, 5, "{agent}");
    }
}

#[test]
fn the_time_budget_ends_the_loop() {
    let daemon = Daemon::start(Site::with_worker("sleep 0.2; echo \"turn $TURNS\""));
    let front = "max_iterations: 1000\nbudget: { wall: 1s }";
    daemon.drop_file("clock.md", &format!("---\n{front}\n---\nGo."));
    let session = daemon.ended("clock");
    assert_eq!(session.ending(), ("failed", "budget_wall"));
    let (text, _) = daemon.outbox("clock", &session);
    assert!(text.contains("the time budget of 1s is used up"), "{text}");
    assert!(text.contains("ralphd continue"), "{text}");
}

#[test]
fn the_time_budget_ends_a_turn_that_hangs() {
    let daemon = Daemon::start(Site::with_worker("echo begun; exec sleep 600"));
    let front = "max_iterations: 1000\nbudget: { wall: 1s }";
    daemon.drop_file("clock.md", &format!("---\n{front}\n---\nGo."));
    assert_eq!(daemon.ended("clock").ending(), ("failed", "budget_wall"));
    daemon.assert_nothing_runs();
}

#[test]
fn a_money_limit_needs_an_agent_that_can_be_counted() {
    let site = Site::with_worker("echo \"turn $TURNS\"").configure("cost_per_iteration = 0.5\n");
    let daemon = Daemon::start(site.agent("unknown", "echo TASK_COMPLETE"));
    let money = "budget: { usd: 1.2 }";
    daemon.drop_file(
        "refused.md",
        &format!("---\nagent: unknown\n{money}\n---\nGo."),
    );
    daemon.drop_file(
        "counted.md",
        &format!("---\nagent: worker\n{money}\n---\nGo."),
    );
    let session = daemon.ended("counted");
    assert_eq!(session.ending(), ("failed", "budget_usd"));
    // A third would have gone over the limit.
    assert_eq!(session.iteration_count, 2);
    let cost: f64 = daemon.cell("SELECT cost_usd FROM sessions", []).unwrap();
    assert!((cost - 1.0).abs() < 1e-9, "{cost}");
    let reason = crate::support::wait_for("the rejection", || {
        Some(daemon.read("state/inbox/rejected/refused.md.error.txt"))
            .filter(|text| !text.is_empty())
    });
    assert!(reason.contains("budget.usd"), "{reason}");
    assert!(reason.contains("cost_per_iteration"), "{reason}");
    assert_eq!(daemon.runs("unknown"), 0);
}
