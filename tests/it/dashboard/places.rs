//! The pages beside the list: a plan, what a session did, forks, schedules, costs, agents.

use super::browser::browser;
use super::{DONE, SCHEDULES, TOOL_USER, counter, showcase};
use crate::plans::stage::Stage;
use crate::support::tools::usage_limit;
use crate::support::{Daemon, Session, Site, wait_for};

/// Three iterations in a directory of its own.
fn counted(daemon: &Daemon, name: &str, front: &str) -> Session {
    let text = format!("---\nworkspace: {{ session: {name} }}\n{front}---\nCount.");
    daemon.drop_file(&format!("{name}.md"), &text);
    daemon.ended(name)
}

#[test]
fn a_plan_is_drawn_and_told_and_follows_its_tasks() {
    let Some(browser) = browser() else { return };
    let stage = Stage::open();
    let session = showcase::house(&stage);
    browser.play("plan", &stage, &[("session", &session.id)]);
}

#[test]
fn what_a_session_did_can_be_read() {
    let Some(browser) = browser() else { return };
    let site = Site::new()
        .agent("first", &counter("first"))
        .configure("cost_per_iteration = 0.25\n")
        .agent("tools", TOOL_USER)
        .configure("output = \"claude\"\n")
        .agent(
            "long",
            &format!("seq -f 'line %.0f of a log that nobody reads to its end' 20000; {DONE}"),
        );
    let daemon = Daemon::start(site);
    let front = "verify: test -e run3.txt\nbudget: { usd: 5 }\n";
    let session = counted(&daemon, "counted", front);
    daemon.drop_file("tools.md", "---\nagent: tools\n---\nLook.");
    daemon.drop_file("long.md", "---\nagent: long\n---\nTalk.");
    let (tools, long) = (daemon.ended("tools"), daemon.ended("long"));
    let given = [
        ("session", session.id.as_str()),
        ("tools", &tools.id),
        ("long", &long.id),
    ];
    browser.play("history", &daemon, &given);
}

#[test]
fn a_session_is_forked_from_one_of_its_iterations() {
    let Some(browser) = browser() else { return };
    let site = Site::new()
        .agent("first", &counter("first"))
        .agent("second", &counter("second"));
    let daemon = Daemon::start(site);
    let session = counted(&daemon, "counted", "");
    browser.play("fork", &daemon, &[("session", &session.id)]);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 2);
}

#[test]
fn schedules_are_paused_resumed_and_run() {
    let Some(browser) = browser() else { return };
    let daemon = Daemon::start(Site::with_worker(DONE).configure(SCHEDULES));
    browser.play("schedules", &daemon, &[]);
}

#[test]
fn costs_are_drawn_and_told_and_agents_say_until_when_they_rest() {
    let Some(browser) = browser() else { return };
    let site = Site::new()
        .agent("first", &counter("first"))
        .configure("cost_per_iteration = 0.25\n")
        .agent("limited", &usage_limit("3600"))
        .configure("output = \"claude\"\n");
    let daemon = Daemon::start(site);
    for name in ["one", "two"] {
        counted(&daemon, name, "");
    }
    daemon.drop_file("limited.md", "---\nagent: limited\n---\nGo.");
    wait_for("the limit", || {
        let parked = "SELECT count(*) FROM tasks WHERE parked_until_ms IS NOT NULL";
        (daemon.count(parked) > 0).then_some(())
    });
    browser.play("costs", &daemon, &[]);
}
