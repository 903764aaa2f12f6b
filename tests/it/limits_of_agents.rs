//! What the streams of real tools do to a session: limits are waited out, failures are told apart, spending is stopped.

use crate::support::tools::usage_limit;
use crate::support::{Daemon, Site, kill, wait_for};

/// An agent that speaks like Claude Code; `$HERE`, `$TURNS` as in every script, `say` prints a final result.
fn claude(script: &str) -> Site {
    let say = r#"say() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","total_cost_usd":%s,"num_turns":1,"usage":{"input_tokens":100,"output_tokens":20}}\n' "$1" "${2:-0.5}"; }"#;
    Site::with_worker(&format!("{say}\n{script}")).configure("output = \"claude\"\n")
}

#[test]
fn a_usage_limit_is_waited_out_over_a_restart_and_not_counted() {
    let limit = usage_limit("3");
    let site = claude(&format!(
        "[ $TURNS = 1 ] && {{ {limit}; }}; say 'It is done.\\nTASK_COMPLETE'"
    ))
    .agent("other", "echo TASK_COMPLETE");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("night.md", "Go.");
    let reason = wait_for("the task to be parked", || {
        daemon.cell::<String>(
            "SELECT parked_reason FROM tasks WHERE parked_reason IS NOT NULL",
            [],
        )
    });
    assert_eq!(reason, "usage limit of worker");
    daemon.kill9();
    daemon.restart();
    daemon.drop_file("meanwhile.md", "---\nagent: other\n---\nGo.");
    assert_eq!(
        daemon.ended("meanwhile").ending(),
        ("completed", "completed")
    );
    let session = daemon.ended("night");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 1);
    assert_eq!(
        daemon.verdicts(&session),
        [
            ("rate_limited".to_owned(), false),
            ("promised".to_owned(), true)
        ]
    );
}

#[test]
fn who_has_no_time_until_a_limit_is_lifted_hears_so_when_the_time_is_over() {
    let daemon = Daemon::start(claude(&usage_limit("36000")));
    daemon.drop_file("short.md", "---\nbudget: { wall: 30m }\n---\nGo.");
    let reason: String = wait_for("the task to be parked", || {
        daemon.cell(
            "SELECT parked_reason FROM tasks WHERE parked_reason IS NOT NULL",
            [],
        )
    });
    assert_eq!(
        reason,
        "usage limit of worker; its time budget of 30m is used up before that is over"
    );
    let until = "SELECT t.parked_until_ms - s.started_at_ms FROM tasks t JOIN sessions s ON s.id = t.session_id";
    assert_eq!(daemon.cell(until, []), Some(30 * 60 * 1000i64));
    // As if it were half an hour later.
    rusqlite::Connection::open(daemon.state().join("ralphd.db"))
        .and_then(|sql| {
            sql.execute_batch(
                "BEGIN IMMEDIATE; UPDATE sessions SET started_at_ms = started_at_ms - 1800000;
                UPDATE tasks SET run_at_ms = 0, parked_until_ms = 0; COMMIT",
            )
        })
        .unwrap();
    let session = daemon.ended("short");
    assert_eq!(session.ending(), ("failed", "budget_wall"));
    assert_eq!(session.iteration_count, 0);
}

#[test]
fn usage_and_cost_of_the_stream_are_in_the_rows() {
    let site = claude("say 'It is done.\\nTASK_COMPLETE' 0.25");
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", "---\nbudget: { usd: 3, tokens: 5000 }\n---\nGo.");
    let session = daemon.ended("job");
    assert_eq!(session.answer(), "It is done.");
    let sums: Vec<f64> = daemon.column(
        "SELECT cost_usd FROM sessions UNION ALL SELECT input_tokens FROM sessions UNION ALL SELECT output_tokens FROM sessions",
        [],
    );
    assert_eq!(sums, [0.25, 100.0, 20.0]);
}

#[test]
fn an_agent_that_burns_money_is_stopped_in_the_middle_of_its_turn() {
    // opencode reports each step with its cost.
    let step = r#"{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","reason":"tool-calls","tokens":{"input":10,"output":1},"cost":1.0}}"#;
    let script = format!("while :; do echo '{step}'; sleep 0.3; done");
    let site = Site::with_worker(&script).configure("output = \"opencode\"\n");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("burn.md", "---\nbudget: { usd: 3 }\n---\nGo.");
    let session = daemon.ended("burn");
    assert_eq!(session.ending(), ("failed", "budget_usd"));
    daemon.assert_nothing_runs();
    let spent: f64 = daemon.cell("SELECT cost_usd FROM sessions", []).unwrap();
    assert!((3.0..8.0).contains(&spent), "{spent}");
    daemon.kill9();
    daemon.restart();
    assert_eq!(
        daemon.cell::<f64>("SELECT cost_usd FROM sessions", []),
        Some(spent)
    );
}

#[test]
fn tool_calls_become_rows_once_even_if_the_turn_is_read_twice() {
    let call = r#"{"type":"assistant","message":{"id":"m%s","role":"assistant","content":[{"type":"tool_use","id":"t%s","name":"Bash","input":{"command":"ls"}}]}}\n{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%s","type":"tool_result","content":"a.txt","is_error":false}]}}\n"#;
    let script = format!(
        "for i in 1 2 3; do printf '{call}' $i $i $i; done; touch \"$HERE/said\"
         while [ ! -e \"$HERE/go\" ]; do sleep 0.02; done; say TASK_COMPLETE"
    );
    let mut daemon = Daemon::start(claude(&script));
    daemon.drop_file("tools.md", "Go.");
    wait_for("the calls", || {
        (daemon.count("SELECT count(*) FROM tool_calls") == 3).then_some(())
    });
    daemon.kill9();
    daemon.restart();
    std::fs::write(daemon.file("go"), "").unwrap();
    let session = daemon.ended("tools");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(daemon.count("SELECT count(*) FROM tool_calls"), 3);
    assert_eq!(daemon.events(&session, "tool.called"), 3);
}

#[test]
fn tool_calls_of_a_turn_that_is_over_at_once_become_rows_too() {
    let call = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}\n{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"a.txt","is_error":false}]}}\n"#;
    let script = format!("printf '{call}'; say TASK_COMPLETE");
    let daemon = Daemon::start(claude(&script));
    daemon.drop_file("quick.md", "Go.");
    let session = daemon.ended("quick");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(daemon.count("SELECT count(*) FROM tool_calls WHERE ok"), 1);
    assert_eq!(daemon.events(&session, "tool.called"), 1);
}

#[test]
fn a_refused_login_stops_at_once_and_says_so() {
    let refused = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}"#;
    let daemon = Daemon::start(claude(&format!("echo '{refused}'; exit 1")));
    daemon.drop_file("login.md", "Go.");
    let session = daemon.ended("login");
    assert_eq!(session.ending(), ("failed", "agent_failed"));
    assert_eq!(daemon.iterations(&session).len(), 1);
    let (text, _) = daemon.outbox("login", &session);
    assert!(text.contains("Invalid API key"), "{text}");
    let class: String = daemon
        .cell("SELECT failure_class FROM iterations", [])
        .unwrap();
    assert_eq!(class, "auth");
}

#[test]
fn what_a_lost_turn_has_cost_stays_in_the_ledger() {
    let spends = r#"printf '%s\n' '{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","reason":"stop","cost":0.75,"tokens":{"input":700,"output":30,"reasoning":0,"cache":{"read":0,"write":0}}}}'
        touch "$HERE/spent"; until [ -e "$HERE/go" ]; do sleep 0.02; done
        printf '%s\n' '{"type":"text","sessionID":"s","part":{"type":"text","text":"TASK_COMPLETE"}}'"#;
    let daemon = Daemon::start(Site::with_worker(spends).configure("output = \"opencode\"\n"));
    daemon.drop_file("job.md", "Go.");
    wait_for("the spending", || {
        (daemon.cell("SELECT cost_usd FROM sessions", []) == Some(0.75)).then_some(())
    });
    daemon.shims().into_iter().for_each(kill);
    wait_for("the next turn", || {
        (daemon.runs("worker") == 2).then_some(())
    });
    std::fs::write(daemon.file("go"), "").unwrap();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"));
    let costs: Vec<f64> = daemon.column("SELECT cost_usd FROM iterations ORDER BY number", []);
    assert_eq!(costs, [0.75, 0.75]);
    let sums = "SELECT cost_usd || ' ' || input_tokens FROM sessions";
    assert_eq!(daemon.cell(sums, []), Some("1.5 1400".to_owned()));
}

#[test]
fn what_a_turn_has_cost_that_nobody_wants_any_more_is_spent_all_the_same() {
    let waits = "until [ -e \"$HERE/go\" ]; do sleep 0.02; done; say 'Half of it.' 0.25";
    let site = claude(waits);
    let workflow = "description = \"One step\"\n[[tasks]]\norder = 1\ntype = \"agent\"\ndescription = \"Go.\"\n";
    std::fs::create_dir(site.file("workflows")).unwrap();
    std::fs::write(site.file("workflows/w.toml"), workflow).unwrap();
    let mut daemon = Daemon::start(site);
    daemon.drop_file("job.md", "---\nplan: w\n---\nGo.");
    wait_for("the agent", || (daemon.runs("worker") == 1).then_some(()));
    daemon.kill9();
    std::fs::write(daemon.file("go"), "").unwrap();
    wait_for("the end of the turn", || {
        daemon.turn_processes().is_empty().then_some(())
    });
    let id = daemon.session("job").unwrap().id;
    daemon.ralphd(&["cancel", &id]).done();
    daemon.restart();
    daemon.in_state("job", "cancelled");
    let spent = "SELECT s.cost_usd FROM sessions s JOIN iterations i ON i.session_id = s.id
        WHERE s.cost_usd = i.cost_usd AND i.input_tokens = 100";
    assert_eq!(daemon.cell::<f64>(spent, []), Some(0.25));
}

#[test]
fn a_limit_that_is_said_to_be_over_is_waited_out_all_the_same() {
    let daemon = Daemon::start(claude(&usage_limit("-5")));
    daemon.drop_file("night.md", "Go.");
    let ahead =
        "SELECT parked_until_ms - unixepoch() * 1000 FROM tasks WHERE parked_until_ms IS NOT NULL";
    let ahead: i64 = wait_for("a parked task", || {
        assert!(daemon.runs("worker") < 9, "it is asked again and again");
        daemon.cell(ahead, [])
    });
    assert!((20_000..90_000).contains(&ahead), "{ahead}");
    assert_eq!(daemon.runs("worker"), 1);
}
