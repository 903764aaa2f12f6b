//! A daemon with something of everything, for whoever looks at all pages.

use super::{ASKS, ENDLESS, SCHEDULES, TOOL_USER, counter};
use crate::plans::stage::{Stage, shell, with};
use crate::support::tools::usage_limit;
use crate::support::{Session, Site, wait_for};
use serde_json::json;

/// A stage with sessions in every state, and the paths of all pages, with commas between them.
pub fn open() -> (Stage, String) {
    let site = Site::new()
        .agent("first", &counter("first"))
        .configure("cost_per_iteration = 0.25\n")
        .agent("asker", ASKS)
        .agent("endless", ENDLESS)
        .agent("tools", TOOL_USER)
        .configure("output = \"claude\"\n")
        .agent("limited", &usage_limit("3600"))
        .configure("output = \"claude\"\n");
    let stage = Stage::on(site, SCHEDULES);
    let unbroken = "unbroken".repeat(30);
    let requests = [
        (
            "counted",
            "agent: first\nverify: test -e run3.txt\nbudget: { usd: 5, wall: 8h }\nworkspace: { session: counted }",
            "Count to three, one run after the other, and leave a file for each.\n\nNothing else.",
        ),
        (
            "asks",
            "agent: asker",
            "Paint the fence in a colour that somebody likes.",
        ),
        ("works", "agent: endless", "Work until told to stop."),
        ("tools", "agent: tools", "Look around with a tool."),
        ("limited", "agent: limited", "Go on when the limit is over."),
        (
            "short",
            "agent: first\nmax_iterations: 1",
            "Count to three in one run, which cannot be done.",
        ),
        ("cancelled", "agent: endless", "Work until cancelled."),
        (
            "unbroken",
            "agent: tools",
            &format!("Read {unbroken} and tell."),
        ),
    ];
    for (name, front, objective) in requests {
        stage.drop_file(
            &format!("{name}.md"),
            &format!("---\n{front}\n---\n{objective}"),
        );
    }
    let gated = stage.case("gated").front("agent: worker\nautonomy: 1");
    gated.plan(json!([shell(1, &[], "echo one")])).submit();
    let cancelled = stage.in_state("cancelled", "executing");
    stage.ralphd(&["cancel", &cancelled.id]).done();
    let ended =
        ["counted", "tools", "short", "cancelled", "unbroken"].map(|name| stage.ended(name));
    let waiting = ["asks", "gated"].map(|name| stage.in_state(name, "awaiting_human"));
    let works = stage.in_state("works", "executing");
    wait_for("the limit", || {
        let parked = "SELECT count(*) FROM tasks WHERE parked_until_ms IS NOT NULL";
        (stage.count(parked) > 0).then_some(())
    });
    let house = house(&stage);
    let mut pages: Vec<String> = ["/", "/new", "/schedules", "/agents", "/costs"]
        .map(str::to_owned)
        .to_vec();
    let sessions = ended.iter().chain(&waiting).chain([&works, &house]);
    pages.extend(sessions.map(|session| format!("/sessions/{}", session.id)));
    let counted = &ended[0].id;
    pages.push(format!("/sessions/{counted}/changes?iteration=1"));
    pages.push(format!("/sessions/{counted}/log?iteration=1"));
    (stage, pages.join(","))
}

/// A plan of four tasks, of which the first is done and two wait to be let.
pub fn house(stage: &Stage) -> Session {
    let waits = |name: &str| {
        let file = stage.file(name).display().to_string();
        format!("until [ -e '{file}' ]; do sleep 0.02; done; echo {name}")
    };
    let named = |task, name: &str| with(task, json!({ "description": name }));
    let tasks = json!([
        named(shell(1, &[], "echo red"), "Collect the colours"),
        named(shell(2, &[1], &waits("front")), "Paint the front"),
        named(shell(3, &[1], &waits("back")), "Paint the back"),
        named(shell(4, &[2, 3], "echo hung"), "Hang the picture"),
    ]);
    let house = stage.case("house").front("agent: worker");
    house.plan(tasks).submit();
    let session = stage.in_state("house", "executing");
    wait_for("both sides to be painted", || {
        let states = stage.states(&session);
        (states == "completed running running waiting_dependency").then_some(())
    });
    session
}
