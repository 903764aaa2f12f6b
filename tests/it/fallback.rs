//! While a limit shuts one agent out, another goes on: over restarts, within the session's limits, and back again.

use crate::support::tools::{codex, usage_limit};
use crate::support::{Daemon, Site, wait_for};

/// An agent whose output is read as claude's, with this list of fallbacks.
fn claude(site: Site, script: &str, fallback: &str) -> Site {
    site.agent("claude", script)
        .configure(&format!("output = \"claude\"\nfallback = {fallback}\n"))
}

/// Which agent took each iteration.
fn takers(daemon: &Daemon) -> Vec<String> {
    daemon.column("SELECT agent FROM iterations ORDER BY number", [])
}

#[test]
fn another_agent_goes_on_and_a_killed_daemon_remembers_who() {
    let waits = format!(
        "touch \"$HERE/began\"; while [ ! -e \"$HERE/go\" ]; do sleep 0.02; done; {}",
        codex("It is done.\\nTASK_COMPLETE")
    );
    let site = claude(Site::new(), &usage_limit("3600"), "\"codex\"")
        .agent("codex", &waits)
        .configure("output = \"codex\"\nmodel = \"gpt-5\"\n");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("night.md", "---\nbudget: { usd: 5 }\n---\nGo.");
    wait_for("the second agent", || {
        daemon.file("began").exists().then_some(())
    });
    daemon.kill9();
    let agents: Vec<String> = daemon.column(
        "SELECT agent FROM sessions UNION ALL SELECT agent FROM tasks",
        [],
    );
    assert_eq!(agents, ["claude", "codex"], "asked for, and working now");
    let listed = daemon.ralphd(&["list"]).done();
    assert!(listed.contains("codex for claude"), "{listed}");
    let session = daemon.session("night").unwrap();
    let shown = daemon.ralphd(&["show", session.short_id()]).done();
    assert!(
        shown.contains("codex for claude, usage limit of claude until "),
        "{shown}"
    );
    daemon.restart();
    std::fs::write(daemon.file("go"), "").unwrap();
    let session = daemon.ended("night");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(
        session.iteration_count, 1,
        "the refused turn is not counted"
    );
    assert_eq!(takers(&daemon), ["claude", "codex"]);
    assert_eq!((daemon.runs("claude"), daemon.runs("codex")), (1, 1));
    assert_eq!(daemon.events(&session, "agent.changed"), 1);
    let (text, json) = daemon.outbox("night", &session);
    assert!(
        text.contains("- Agent: claude; codex in iteration 2"),
        "{text}"
    );
    assert!(text.contains("limit of claude until ") && text.contains(", by codex"));
    assert_eq!(json["agent"], "claude");
    assert_eq!(json["iterations"][1]["agent"], "codex");
    let told = daemon.ralphd(&["watch", session.short_id()]).done();
    let line = told
        .lines()
        .find(|line| line.contains("going on with"))
        .unwrap();
    assert!(line.contains("usage limit of claude until "), "{line}");
    assert!(line.ends_with("; going on with codex"), "{line}");
}

#[test]
fn the_next_iteration_is_its_own_again_once_the_limit_is_lifted() {
    let done = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"TASK_COMPLETE","total_cost_usd":0.5}'"#;
    let limited = format!(
        "[ $TURNS = 1 ] && {{ echo $(($(date +%s) + 6)) >\"$HERE/lifted\"; {}; }}; {done}",
        usage_limit("5")
    );
    // Works until the limit of the other is over for certain.
    let works = format!(
        "while [ $(date +%s) -le $(cat \"$HERE/lifted\") ]; do sleep 0.1; done; {}",
        codex("not yet")
    );
    let site = claude(Site::new(), &limited, "[\"codex\"]")
        .agent("codex", &works)
        .configure("output = \"codex\"\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("night.md", "Go.");
    let session = daemon.ended("night");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(takers(&daemon), ["claude", "codex", "claude"]);
    assert_eq!(session.iteration_count, 2);
    assert_eq!(daemon.events(&session, "agent.changed"), 2);
}

#[test]
fn who_cannot_keep_the_limits_or_is_not_there_does_not_stand_in() {
    let site = claude(
        Site::new(),
        &usage_limit("3600"),
        "[\"blind\", \"missing\", \"locked_out\", \"limited\"]",
    )
    .agent("blind", "echo TASK_COMPLETE")
    .configure("[agents.missing]\npreset = \"claude\"\ncommand = [\"/nowhere/claude\"]\n")
    .agent(
        "locked_out",
        r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key"}'; exit 1"#,
    )
    .configure("output = \"claude\"\n")
    .agent("limited", &usage_limit("600"))
    .configure("output = \"claude\"\n");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("night.md", "---\nbudget: { usd: 5 }\n---\nGo.");
    let parked = || {
        daemon.cell::<String>(
            "SELECT parked_reason FROM tasks WHERE parked_until_ms IS NOT NULL",
            [],
        )
    };
    // All are shut out: parked until the first comes back.
    assert_eq!(wait_for("a parked task", parked), "usage limit of limited");
    assert_eq!(takers(&daemon), ["claude", "locked_out", "limited"]);
    assert_eq!((daemon.runs("blind"), daemon.runs("locked_out")), (0, 1));
    let ahead: i64 = daemon
        .cell("SELECT parked_until_ms / 1000 - unixepoch() FROM tasks", [])
        .unwrap();
    assert!((400..700).contains(&ahead), "{ahead}");
    daemon.kill9();
    daemon.restart();
    let listed = daemon.ralphd(&["list"]).done();
    assert!(listed.contains("usage limit of limited"), "{listed}");
    // A limit that one session ran into is known to the others: nobody asks that agent again.
    daemon.drop_file("second.md", "Go on.");
    let second = wait_for("the end of the second", || {
        daemon
            .session("second")
            .filter(|session| session.status == "completed")
    });
    assert_eq!(daemon.runs("blind"), 1, "without a limit in USD it may");
    assert_eq!(daemon.runs("limited"), 1);
    assert_eq!(second.iteration_count, 1);
}

#[test]
fn a_parked_session_reads_the_same_everywhere() {
    let daemon = Daemon::start(claude(Site::new(), &usage_limit("3600"), "[]"));
    daemon.drop_file("night.md", "Go.");
    let until_ms: i64 = wait_for("a parked task", || {
        daemon.cell(
            "SELECT parked_until_ms FROM tasks WHERE parked_until_ms IS NOT NULL",
            [],
        )
    });
    let until = jiff::Timestamp::from_millisecond(until_ms).unwrap();
    let until = until.to_zoned(jiff::tz::TimeZone::system());
    let form = |form: &str| {
        format!(
            "parked until {}, usage limit of claude",
            until.strftime(form)
        )
    };
    let either = [form("%H:%M"), form("%Y-%m-%d %H:%M")];
    let session = daemon.session("night").unwrap();
    for arguments in [&["list"][..], &["show", session.short_id()]] {
        let said = daemon.ralphd(arguments).done();
        assert!(either.iter().any(|words| said.contains(words)), "{said}");
    }
    let listed = daemon.ralphd(&["list", "--json"]).done();
    let json: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(json[0]["parked_until_ms"], until_ms);
    assert_eq!(json[0]["parked_reason"], "usage limit of claude");
    assert_eq!(json[0]["current_agent"], "claude");
}

#[test]
fn one_that_costs_more_than_is_left_does_not_stand_in() {
    for (cost, runs) in [("9.0", 0), ("3.0", 1)] {
        let site = claude(Site::new(), &usage_limit("3600"), "\"dear\"")
            .agent("dear", "echo \"turn $TURNS\"")
            .configure(&format!("cost_per_iteration = {cost}\n"));
        let daemon = Daemon::start(site);
        daemon.drop_file("night.md", "---\nbudget: { usd: 5 }\n---\nGo.");
        let parked = wait_for("a parked task", || {
            let ended = daemon.session("night")?.end_reason;
            assert_eq!(ended, None, "it can go on once the limit is lifted");
            daemon.cell::<String>(
                "SELECT parked_reason FROM tasks WHERE parked_until_ms IS NOT NULL",
                [],
            )
        });
        assert_eq!(parked, "usage limit of claude");
        assert_eq!(daemon.runs("dear"), runs);
    }
}

#[test]
fn a_stand_in_without_its_key_is_passed_over_and_the_session_goes_on() {
    let site = claude(
        Site::new(),
        &usage_limit("3600"),
        "[\"keyless\", \"other\"]",
    )
    .agent("keyless", "echo TASK_COMPLETE")
    .configure("api_key_env = \"KEYLESS\"\napi_key_file = \"/nowhere/key\"\n")
    .agent("other", "echo TASK_COMPLETE");
    let daemon = Daemon::start(site);
    daemon.drop_file("night.md", "Go.");
    let session = daemon.ended("night");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(takers(&daemon), ["claude", "keyless", "other"]);
    assert_eq!((session.iteration_count, daemon.runs("keyless")), (1, 0));
    let (text, _) = daemon.outbox("night", &session);
    assert!(text.contains("/nowhere/key: it is not there"), "{text}");
}

#[test]
fn a_parked_session_can_be_paused_and_cancelled() {
    let mut daemon = Daemon::start(claude(Site::new(), &usage_limit("3600"), "[]"));
    daemon.drop_file("night.md", "Go.");
    let parked = "SELECT parked_until_ms FROM tasks WHERE parked_until_ms IS NOT NULL";
    let until: i64 = wait_for("a parked task", || daemon.cell(parked, []));
    let id = daemon.session("night").unwrap().id;
    daemon.ralphd(&["pause", "--now", &id]).done();
    assert_eq!(daemon.session("night").unwrap().status, "paused");
    daemon.kill9();
    daemon.restart();
    daemon.ralphd(&["resume", &id]).done();
    assert_eq!(daemon.cell(parked, []), Some(until), "parked as before");
    daemon.ralphd(&["cancel", &id]).done();
    assert_eq!(daemon.ended("night").ending(), ("cancelled", "cancelled"));
    assert_eq!(daemon.cell::<i64>(parked, []), None, "it waits for nothing");
    assert_eq!(daemon.runs("claude"), 1);
}

#[test]
fn who_goes_on_with_an_ended_session_begins_with_the_agent_that_was_asked_for() {
    let site = claude(Site::new(), &usage_limit("3600"), "\"other\"")
        .agent("other", "echo \"turn $TURNS\"");
    let daemon = Daemon::start(site);
    daemon.drop_file("night.md", "---\nmax_iterations: 1\n---\nGo.");
    let session = daemon.ended("night");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    for verb in ["continue", "retry"] {
        let next = daemon.ralphd(&[verb, &session.id]).done();
        let next = daemon.ended(next.trim());
        assert_eq!(next.ending(), ("failed", "max_iterations"), "{verb}");
        let sql = "SELECT agent FROM sessions WHERE id = ?1";
        assert_eq!(daemon.cell(sql, [&next.id]), Some("claude".to_owned()));
    }
}

#[test]
fn a_stand_in_at_work_can_be_cancelled_and_its_claim_is_kept() {
    let waits = "echo $$ >\"$HERE/pid\"; while :; do sleep 0.02; done";
    let site = claude(Site::new(), &usage_limit("3600"), "\"other\"")
        .agent("other", waits)
        .configure("[queue]\nlease = \"2s\"\nheartbeat = \"200ms\"\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("night.md", "Go.");
    let lease = "SELECT lease_until_ms FROM tasks WHERE agent = 'other' AND status = 'running'";
    wait_for("the stand-in", || (daemon.runs("other") == 1).then_some(()));
    let first: i64 = daemon.cell(lease, []).unwrap();
    wait_for("the claim to be renewed", || {
        (daemon.cell::<i64>(lease, [])? > first).then_some(())
    });
    let id = daemon.session("night").unwrap().id;
    daemon.ralphd(&["cancel", &id]).done();
    let session = daemon.ended("night");
    assert_eq!(session.ending(), ("cancelled", "cancelled"));
    assert_eq!(daemon.events(&session, "task.rescued"), 0);
    daemon.assert_nothing_runs();
}
