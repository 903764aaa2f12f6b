//! Who waits for a place in the workspace gets it, whatever becomes of the others; and a budget is kept by all of a tree together.

use super::family::{children, ended, field, head, of_task, workflow};
use crate::support::{Daemon, Session, Site, wait_for};
use std::fs;

/// Works in the loop until the test's word; sums up at once.
const MAIN: &str = "if grep -q '## House rules'; then until [ -e \"$HERE/go\" ]; do sleep 0.02; done; fi; echo done; echo TASK_COMPLETE";
const QUICK: &str = "echo found; echo TASK_COMPLETE";
const OWN: &str = "type = 'agent'\ndescription = 'Dig'";
const SCOUT: &str = "type = 'agent'\nagent = 'scout'\non_failure = 'skip'\ndescription = 'Look'";

fn wait_until(site: &Site, file: &str) -> String {
    let file = site.file(file);
    format!(
        "type = 'shell'\ndescription = 'Wait'\ncommand = 'until [ -e {} ]; do sleep 0.02; done'",
        file.display()
    )
}

fn touch(site: &Site, file: &str) {
    fs::write(site.file(file), "").unwrap();
}

fn submit(site: &Site, front: &str) {
    site.drop_file(
        "job.md",
        &format!("---\nplan: plan\n{front}\n---\nFind the key."),
    );
}

/// A session whose own agent works, whose sub-agent waits for its place, and behind that another task of its own.
fn crowded() -> (Daemon, Session, Session) {
    let site = Site::new().agent("main", MAIN).agent("scout", QUICK);
    let (gate, after) = (wait_until(&site, "more"), format!("{OWN}\ndepends_on = 3"));
    let daemon = Daemon::start(workflow(site, "plan", &[OWN, SCOUT, &gate, &after]));
    submit(&daemon, "");
    wait_for("the own agent", || (daemon.runs("main") == 1).then_some(()));
    let parent = head(&daemon, "job");
    let child = wait_for("the sub-agent's task to wait", || {
        let child = children(&daemon, &parent).pop()?;
        of_task(&daemon, &child, 1, "waits_for").map(|_| child)
    });
    touch(&daemon, "more");
    wait_for("the last task to wait", || {
        of_task(&daemon, &parent, 4, "waits_for")
    });
    (daemon, parent, child)
}

#[test]
fn one_that_was_cancelled_while_it_waited_takes_nobodys_turn() {
    let (daemon, parent, child) = crowded();
    daemon.ralphd(&["cancel", &child.id]).done();
    touch(&daemon, "go");
    let parent = daemon.ended(&parent.id);
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!(of_task(&daemon, &parent, 2, "status").unwrap(), "skipped");
    assert_eq!(of_task(&daemon, &parent, 4, "status").unwrap(), "completed");
}

#[test]
fn one_that_was_paused_while_it_waited_takes_nobodys_turn() {
    let (daemon, parent, child) = crowded();
    daemon.ralphd(&["pause", &child.id]).done();
    touch(&daemon, "go");
    wait_for("the last task", || {
        (of_task(&daemon, &parent, 4, "status")? == "completed").then_some(())
    });
    daemon.ralphd(&["resume", &child.id]).done();
    let parent = daemon.ended(&parent.id);
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!(daemon.runs("scout"), 1);
}

#[test]
fn what_a_sub_agent_came_to_is_taken_in_while_another_agent_works() {
    let site = Site::new().agent("main", MAIN).agent("scout", QUICK);
    let own = format!("{OWN}\ndepends_on = 2");
    let gate = wait_until(&site, "more");
    let after = "type = 'shell'\ndescription = 'Go on'\ndepends_on = 1\ncommand = 'echo on'";
    let scout = format!(
        "mkdir \"$HERE/began\"; until [ -e \"$HERE/found\" ]; do sleep 0.02; done; {QUICK}"
    );
    let site = site.agent("slow", &scout);
    let slow = SCOUT.replace("scout", "slow");
    let daemon = Daemon::start(workflow(site, "plan", &[&slow, &gate, &own, after]));
    submit(&daemon, "");
    wait_for("the sub-agent", || {
        daemon.file("began").exists().then_some(())
    });
    let parent = head(&daemon, "job");
    touch(&daemon, "more");
    wait_for("the own task to wait", || {
        of_task(&daemon, &parent, 3, "waits_for")
    });
    touch(&daemon, "found");
    wait_for("what follows upon the sub-agent", || {
        (of_task(&daemon, &parent, 4, "status")? == "completed").then_some(())
    });
    assert_ne!(of_task(&daemon, &parent, 3, "status").unwrap(), "completed");
    touch(&daemon, "go");
    assert_eq!(
        daemon.ended(&parent.id).ending(),
        ("completed", "completed")
    );
}

#[test]
fn a_pause_that_was_withdrawn_holds_no_task_back() {
    let site = Site::new().agent("main", MAIN);
    let (one, two) = (wait_until(&site, "one"), wait_until(&site, "two"));
    let after = "type = 'shell'\ndescription = 'Go on'\ndepends_on = 2\ncommand = 'echo on'";
    let daemon = Daemon::start(workflow(site, "plan", &[&one, &two, after]));
    submit(&daemon, "");
    let parent = head(&daemon, "job");
    wait_for("both to run", || {
        let running = "SELECT count(*) FROM tasks WHERE status = 'running' AND task_type = 'shell'";
        (daemon.count(running) == 2).then_some(())
    });
    daemon.ralphd(&["pause", &parent.id]).done();
    touch(&daemon, "two");
    wait_for("the third to be put aside", || {
        (of_task(&daemon, &parent, 3, "parked_reason")? == "paused").then_some(())
    });
    daemon.ralphd(&["resume", &parent.id]).done();
    touch(&daemon, "one");
    assert_eq!(ended(&daemon, "job").ending(), ("completed", "completed"));
}

#[test]
fn a_workspace_is_given_back_when_the_last_agent_has_left_it() {
    let stubborn = "trap '' TERM; echo $$ >\"$HERE/pid\"; while :; do sleep 0.05; done";
    let next =
        "kill -0 $(cat \"$HERE/pid\") 2>/dev/null && touch \"$HERE/clash\"; echo TASK_COMPLETE";
    let site = Site::new()
        .agent("main", "cat >/dev/null; echo done")
        .agent("scout", stubborn)
        .agent("next", next)
        .variable("RALPHD_PROCESS__KILL_GRACE", "1s");
    let gate = wait_until(&site, "more").replace("done'", "done; exit 3'");
    let stop = format!("{gate}\non_failure = 'stop'");
    let daemon = Daemon::start(workflow(site, "plan", &[SCOUT, &stop]));
    submit(&daemon, "workspace: { session: shared }");
    wait_for("the sub-agent", || {
        daemon.file("pid").exists().then_some(())
    });
    daemon.drop_file(
        "next.md",
        "---\nagent: next\nworkspace: { session: shared }\n---\nGo.",
    );
    wait_for("the next to wait", || {
        of_task(&daemon, &head(&daemon, "next"), 1, "waits_for")
    });
    touch(&daemon, "more");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("failed", "task_failed"));
    assert_eq!(ended(&daemon, "next").ending(), ("completed", "completed"));
    assert!(
        !daemon.file("clash").exists(),
        "the next began beside the last"
    );
    assert_eq!(
        children(&daemon, &parent)[0].ending(),
        ("cancelled", "cancelled")
    );
}

#[test]
fn sub_agents_side_by_side_share_one_budget() {
    let site = Site::new()
        .agent("main", "echo done")
        .configure("cost_per_iteration = 0.1\n")
        .agent("scout", "echo \"still looking, $TURNS\"")
        .configure("cost_per_iteration = 0.5\n");
    let daemon = Daemon::start(workflow(site, "plan", &[SCOUT, SCOUT, SCOUT]));
    submit(&daemon, "budget: { usd: 1.2 }");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("failed", "budget_usd"), "{parent:?}");
    assert_eq!(daemon.runs("scout"), 2);
    let cost: f64 = field(&daemon, &parent, "cost_usd").parse().unwrap();
    assert!(cost <= 1.2, "{cost}");
}

#[test]
fn a_retried_step_has_turns_of_its_own() {
    let main = "if grep -q '## House rules'; then echo same; if [ $TURNS = 4 ]; then echo TASK_COMPLETE; fi; else echo done; fi";
    let site = Site::new().agent("main", main);
    let daemon = Daemon::start(workflow(site, "plan", &[OWN]));
    submit(&daemon, "stagnation_threshold: 2\nautonomy: 5");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"), "{parent:?}");
    assert_eq!(daemon.events(&parent, "task.setback"), 1);
}
