//! Steps of a plan that another agent takes: a session of its own, linked, paid for, retried once, and gone with its parent.

use super::family::{answers, children, ended, field, head, of_task, workflow};
use crate::support::{Daemon, Session, Site, wait_for};
use std::fs;

/// What the session's own agent says, whatever it is asked: it sums up.
const MAIN: &str = "cat >/dev/null; echo 'summed up'";
const WAITS: &str =
    "until [ -e \"$HERE/go\" ]; do sleep 0.02; done; echo found; echo TASK_COMPLETE";
const STEP: &str = "type = 'agent'\nagent = 'scout'\ndescription = 'Look for the key'";
/// It keeps its prompts.
const KEEPS: &str = "cat >\"$HERE/scout.$TURNS.prompt\"";

fn site(scout: &str, tasks: &[&str]) -> Site {
    let site = Site::new().agent("main", MAIN).agent("scout", scout);
    workflow(site, "plan", tasks)
}

fn submit(site: &Site, front: &str) {
    site.drop_file(
        "job.md",
        &format!("---\nplan: plan\n{front}\n---\nFind the key."),
    );
}

fn begun(site: &Site, runs: usize) {
    wait_for("the sub-agent", || {
        (site.runs("scout") >= runs).then_some(())
    });
}

fn let_go(site: &Site) {
    fs::write(site.file("go"), "").unwrap();
}

fn only_child(site: &Site, parent: &Session) -> Session {
    let all = children(site, parent);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

#[test]
fn a_step_of_another_agent_is_a_session_of_its_own() {
    let scout = format!("{KEEPS}; echo 'under the mat'; echo TASK_COMPLETE");
    let second =
        "type = 'transform'\ndescription = 'Pick'\ndepends_on = 1\nfilter = '.[\"1\"].answer'";
    let daemon = Daemon::start(site(&scout, &[STEP, second]));
    submit(&daemon, "");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!(parent.answer(), "summed up");
    let child = only_child(&daemon, &parent);
    assert_eq!(child.ending(), ("completed", "completed"));
    assert_eq!(child.answer(), "under the mat");
    for (column, expected) in [("depth", "1"), ("trigger", "sub_agent"), ("agent", "scout")] {
        assert_eq!(field(&daemon, &child, column), expected);
    }
    assert_eq!(
        field(&daemon, &child, "workspace"),
        field(&daemon, &parent, "workspace")
    );
    let result = of_task(&daemon, &parent, 1, "result").unwrap();
    assert!(
        result.contains("under the mat") && result.contains(&child.id),
        "{result}"
    );
    assert_eq!(
        of_task(&daemon, &parent, 2, "result").unwrap(),
        "\"under the mat\""
    );
    let prompt = daemon.read("scout.1.prompt");
    assert!(prompt.starts_with("Look for the key"), "{prompt}");
    assert!(prompt.contains("> Find the key."), "{prompt}");
    assert_eq!(daemon.events(&parent, "sub_agent.spawned"), 1);
    assert_eq!(daemon.events(&parent, "sub_agent.ended"), 1);
    assert_eq!(answers(&daemon), [format!("job.{}.md", parent.short_id())]);
}

#[test]
fn what_it_costs_is_in_its_parents_sums_and_budget() {
    let costs = |scout: &str| {
        let site = Site::new()
            .agent("main", MAIN)
            .configure("cost_per_iteration = 0.1\n")
            .agent("scout", scout)
            .configure("cost_per_iteration = 0.5\n");
        Daemon::start(workflow(site, "plan", &[STEP]))
    };
    let daemon = costs("echo found; echo TASK_COMPLETE");
    submit(&daemon, "budget: { usd: 2.0 }");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    let child = only_child(&daemon, &parent);
    let cost = |session: &Session| field(&daemon, session, "round(cost_usd, 6)");
    assert_eq!((&*cost(&child), &*cost(&parent)), ("0.5", "0.6"));

    let daemon = costs("echo \"still looking, $TURNS\"");
    submit(&daemon, "budget: { usd: 1.2 }");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("failed", "budget_usd"), "{parent:?}");
    assert_eq!(daemon.runs("scout"), 2);
    assert_eq!(
        only_child(&daemon, &parent).ending(),
        ("failed", "budget_usd")
    );

    let daemon = costs("echo found; echo TASK_COMPLETE");
    submit(&daemon, "budget: { usd: 0.3 }");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.status, "failed");
    assert_eq!(daemon.runs("scout"), 0);
    let why = of_task(&daemon, &parent, 1, "error_message").unwrap();
    assert!(
        why.contains("costs 0.50 USD, and 0.30 USD are left"),
        "{why}"
    );
}

#[test]
fn a_failed_one_is_tried_once_more_and_told_why() {
    let scout = format!(
        "{KEEPS}; if [ $TURNS = 1 ]; then echo 'the lamp is broken'; else echo found; echo TASK_COMPLETE; fi"
    );
    let daemon = Daemon::start(site(&scout, &[STEP]));
    submit(&daemon, "max_iterations: 1");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    let all = children(&daemon, &parent);
    let ends: Vec<_> = all.iter().map(Session::ending).collect();
    assert_eq!(
        ends,
        [("failed", "max_iterations"), ("completed", "completed")]
    );
    assert!(!daemon.read("scout.1.prompt").contains("attempt before"));
    let second = daemon.read("scout.2.prompt");
    for wanted in [
        "The attempt before this one failed:\n> the sub-agent 'scout' failed (max_iterations)",
        "> Its last words: the lamp is broken",
    ] {
        assert!(second.contains(wanted), "{second}");
    }
    assert_eq!(daemon.events(&parent, "task.setback"), 0);
}

#[test]
fn after_two_failures_the_steps_policy_speaks() {
    let skipped = format!("{STEP}\non_failure = 'skip'");
    let other = "type = 'shell'\ndescription = 'Go on'\ncommand = 'echo on'";
    let daemon = Daemon::start(site("echo no", &[&skipped, other]));
    submit(&daemon, "max_iterations: 1");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!(of_task(&daemon, &parent, 1, "status").unwrap(), "skipped");
    assert_eq!(daemon.runs("scout"), 2);
    assert_eq!(children(&daemon, &parent).len(), 2);
}

#[test]
fn each_try_of_a_retried_step_has_its_own_two() {
    let site = site("echo no", &[STEP]).variable("RALPHD_DEFAULTS__MAX_RETRIES", "1");
    let daemon = Daemon::start(site);
    submit(&daemon, "max_iterations: 1\nautonomy: 5");
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("failed", "task_failed"));
    assert_eq!(children(&daemon, &parent).len(), 4);
    assert_eq!(daemon.events(&parent, "task.setback"), 2);
}

#[test]
fn a_cancelled_one_is_a_failure_of_its_step_and_the_next_try_has_another() {
    let scout = "if [ $TURNS = 1 ]; then exec sleep 600; fi; echo found; echo TASK_COMPLETE";
    let daemon = Daemon::start(site(scout, &[STEP]));
    submit(&daemon, "");
    begun(&daemon, 1);
    let parent = head(&daemon, "job");
    let child = only_child(&daemon, &parent);
    daemon.ralphd(&["cancel", &child.id]).done();
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    let all = children(&daemon, &parent);
    let ends: Vec<_> = all.iter().map(Session::ending).collect();
    assert_eq!(
        ends,
        [("cancelled", "cancelled"), ("completed", "completed")]
    );
}

#[test]
fn a_cancelled_parent_takes_it_along() {
    let daemon = Daemon::start(site("(sleep 600 & wait)", &[STEP]));
    submit(&daemon, "");
    begun(&daemon, 1);
    let parent = head(&daemon, "job");
    daemon.ralphd(&["cancel", &parent.id]).done();
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("cancelled", "cancelled"));
    assert_eq!(
        only_child(&daemon, &parent).ending(),
        ("cancelled", "cancelled")
    );
    daemon.assert_nothing_runs();
    let open = "SELECT count(*) FROM tasks WHERE status NOT IN ('cancelled', 'completed')";
    assert_eq!(daemon.count(open), 0);
    let held = "SELECT count(*) FROM workspaces WHERE holder_session_id IS NOT NULL";
    assert_eq!(daemon.count(held), 0);
}

#[test]
fn pause_and_resume_go_down_the_tree() {
    let scout = format!(
        "if [ $TURNS = 1 ]; then until [ -e \"$HERE/half\" ]; do sleep 0.02; done; echo half; exit; fi; {WAITS}"
    );
    let daemon = Daemon::start(site(&scout, &[STEP]));
    submit(&daemon, "");
    begun(&daemon, 1);
    let parent = head(&daemon, "job");
    let child = only_child(&daemon, &parent);
    daemon.ralphd(&["pause", &parent.id]).done();
    fs::write(daemon.file("half"), "").unwrap();
    daemon.in_state(&child.id, "paused");
    daemon.in_state(&parent.id, "paused");
    daemon.assert_nothing_runs();
    daemon.ralphd(&["resume", &parent.id]).done();
    begun(&daemon, 2);
    assert_eq!(daemon.session(&parent.id).unwrap().status, "executing");
    let_go(&daemon);
    assert_eq!(ended(&daemon, "job").ending(), ("completed", "completed"));
    assert_eq!(daemon.session(&child.id).unwrap().iteration_count, 2);
}

#[test]
fn a_paused_tree_can_be_cancelled_while_its_agent_still_works() {
    let daemon = Daemon::start(site("exec sleep 600", &[STEP]));
    submit(&daemon, "");
    begun(&daemon, 1);
    let parent = head(&daemon, "job");
    daemon.ralphd(&["pause", &parent.id]).done();
    daemon.in_state(&parent.id, "paused");
    daemon.ralphd(&["cancel", &parent.id]).done();
    assert_eq!(ended(&daemon, "job").ending(), ("cancelled", "cancelled"));
    daemon.assert_nothing_runs();
}

#[test]
fn a_killed_daemon_loses_nothing_of_it() {
    let mut daemon = Daemon::start(site(WAITS, &[STEP]));
    submit(&daemon, "");
    begun(&daemon, 1);
    daemon.kill9();
    daemon.restart();
    let_go(&daemon);
    let parent = ended(&daemon, "job");
    assert_eq!(parent.ending(), ("completed", "completed"));
    assert_eq!(only_child(&daemon, &parent).iteration_count, 1);
    assert_eq!(daemon.runs("scout"), 1);
    assert_eq!(answers(&daemon).len(), 1);
}

/// Says when it begins and ends; and whether anybody else was there.
fn marks(name: &str) -> String {
    format!(
        "if grep -q '## House rules'; then mkdir \"$HERE/seat\" || echo clash >>\"$HERE/clashes\"; sleep 0.2; rmdir \"$HERE/seat\"; echo {name} >>\"$HERE/order\"; fi; echo done; echo TASK_COMPLETE"
    )
}

#[test]
fn never_two_agents_in_one_workspace() {
    let site = Site::new()
        .agent("main", &marks("main"))
        .agent("scout", &marks("scout"));
    let own = "type = 'agent'\ndescription = 'Dig'";
    let daemon = Daemon::start(workflow(site, "plan", &[STEP, own, own, STEP]));
    submit(&daemon, "");
    assert_eq!(ended(&daemon, "job").ending(), ("completed", "completed"));
    assert_eq!(daemon.read("clashes"), "");
    assert_eq!(daemon.read("order").lines().count(), 4);
}

#[test]
fn a_run_in_the_foreground_needs_no_daemon_for_it() {
    let site = site("echo found; echo TASK_COMPLETE", &[STEP]);
    let said = site
        .ralphd(&["run", "Find the key.", "--plan", "plan"])
        .done();
    assert_eq!(said.trim(), "summed up");
    assert_eq!(site.runs("scout"), 1);
    let parents = "SELECT count(*) FROM sessions WHERE parent_session_id IS NOT NULL AND status = 'completed'";
    assert_eq!(site.count(parents), 1);
    assert_eq!(answers(&site).len(), 1);
    site.assert_nothing_runs();
}
