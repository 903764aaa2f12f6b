//! What tokens cost, for tools that do not tell: priced by their model, live, or refused under a limit that could not be kept.

use crate::support::tools::codex;
use crate::support::{Daemon, Site, wait_for};

fn rejection(daemon: &Daemon, name: &str) -> String {
    wait_for("the rejection", || {
        let text = daemon.read(&format!("state/inbox/rejected/{name}.md.error.txt"));
        Some(text).filter(|text| !text.is_empty())
    })
}

#[test]
fn tokens_are_priced_by_the_configured_model_and_cached_ones_apart() {
    let script = codex("TASK_COMPLETE");
    let site = Site::new()
        .agent("built_in", &script)
        .configure("output = \"codex\"\nmodel = \"openai/gpt-5-2026-01-01\"\n")
        .agent("own", &script)
        .configure("output = \"codex\"\nmodel = \"mine\"\n")
        .configure("[prices.mine]\ninput = 10\noutput = 20\n");
    let daemon = Daemon::start(site);
    for (name, expected) in [("built_in", 0.25 + 0.1 + 1.0), ("own", 10.0 + 2.0)] {
        let request = format!("---\nagent: {name}\nbudget: {{ usd: 50 }}\n---\nGo.");
        daemon.drop_file(&format!("{name}.md"), &request);
        let session = daemon.ended(name);
        assert_eq!(session.ending(), ("completed", "completed"));
        let sql = "SELECT cost_usd FROM iterations WHERE session_id = ?1";
        let cost: f64 = daemon.cell(sql, [&session.id]).unwrap();
        assert!((cost - expected).abs() < 1e-9, "{name}: {cost}");
    }
}

#[test]
fn priced_tokens_end_a_turn_in_its_middle() {
    // Qwen Code names its model at the start and tells the tokens of each message.
    let script = r#"echo '{"type":"system","subtype":"init","session_id":"s","model":"qwen3-coder-plus"}'
        i=0
        while :; do
            i=$((i + 1))
            echo "{\"type\":\"assistant\",\"message\":{\"id\":\"m$i\",\"content\":[],\"usage\":{\"input_tokens\":1000000,\"output_tokens\":0}}}"
            sleep 0.3
        done"#;
    let site = Site::with_worker(script).configure("output = \"qwen\"\nmodel = \"unheard-of\"\n");
    let mut daemon = Daemon::start(site.configure("[prices.unheard-of]\ninput = 9\noutput = 9\n"));
    daemon.drop_file("burn.md", "---\nbudget: { usd: 2.5 }\n---\nGo.");
    let session = daemon.ended("burn");
    assert_eq!(session.ending(), ("failed", "budget_usd"));
    daemon.assert_nothing_runs();
    let spent: f64 = daemon.cell("SELECT cost_usd FROM sessions", []).unwrap();
    // The model that the stream names wins over the configured one, at one dollar a message.
    assert!((3.0..8.0).contains(&spent), "{spent}");
    daemon.kill9();
    daemon.restart();
    assert_eq!(
        daemon.cell::<f64>("SELECT cost_usd FROM sessions", []),
        Some(spent)
    );
}

#[test]
fn a_cost_that_the_tool_tells_wins_over_the_price() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"TASK_COMPLETE","total_cost_usd":0.25,"modelUsage":{"claude-opus-5-5":{"inputTokens":1000000,"outputTokens":1000000}}}"#;
    let site = Site::with_worker(&format!("echo '{result}'")).configure("output = \"claude\"\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", "Go.");
    daemon.ended("job");
    assert_eq!(
        daemon.cell::<f64>("SELECT cost_usd FROM sessions", []),
        Some(0.25)
    );
}

#[test]
fn a_model_without_a_price_is_said_once_and_refused_under_a_limit() {
    let site = Site::new()
        .agent("nameless", &codex("turn $TURNS"))
        .configure("output = \"codex\"\n")
        .agent("unheard", "echo")
        .configure("output = \"codex\"\nmodel = \"unheard-of\"\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("free.md", "---\nmax_iterations: 2\n---\nGo.");
    let session = daemon.ended("free");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    assert_eq!(daemon.events(&session, "cost.unknown"), 1);
    let tokens: Vec<i64> = daemon.column("SELECT input_tokens FROM iterations", []);
    assert_eq!(tokens, [1_000_000, 1_000_000]);
    let priced = daemon.count("SELECT count(cost_usd) FROM iterations");
    assert_eq!(priced, 0, "tokens counted, cost null");
    for (agent, advice) in [
        (
            "nameless",
            "set model = \"…\" or cost_per_iteration in [agents.nameless]",
        ),
        (
            "unheard",
            "add [prices.\"unheard-of\"] with input and output",
        ),
    ] {
        let request = format!("---\nagent: {agent}\nbudget: {{ usd: 1 }}\n---\nGo.");
        daemon.drop_file(&format!("{agent}.md"), &request);
        let reason = rejection(&daemon, agent);
        assert!(
            reason.contains("budget.usd") && reason.contains(advice),
            "{reason}"
        );
    }
}

#[test]
fn a_limit_of_the_day_wants_agents_that_can_be_counted_too() {
    let site = Site::with_worker("echo TASK_COMPLETE").configure("[budget]\nday_usd = 5\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("blind.md", "Go.");
    let reason = rejection(&daemon, "blind");
    assert!(
        reason.contains("[budget]") && reason.contains("cost_per_iteration"),
        "{reason}"
    );
    daemon.drop_file("free.md", "---\nagent: rehearsal\n---\nGo.");
    assert_eq!(daemon.ended("free").ending(), ("completed", "completed"));
}

#[test]
fn agents_are_listed_with_how_their_cost_is_known() {
    let site = Site::new()
        .agent("told", "echo 1.0")
        .configure("output = \"claude\"\n")
        .agent("priced", "echo 1.0")
        .configure("output = \"codex\"\nmodel = \"gpt-5\"\n")
        .agent("fixed", "echo 1.0")
        .configure("cost_per_iteration = 0.5\n")
        .agent("blind", "echo 1.0");
    let listed = site.ralphd(&["agents"]).done();
    for (name, words) in [
        ("told", "reported"),
        ("priced", "priced (gpt-5, prices of 20"),
        ("fixed", "per iteration"),
        ("blind", "unknown"),
    ] {
        let line = listed.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.contains(words), "{line}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&site.ralphd(&["agents", "--json"]).done()).unwrap();
    let costs: Vec<&str> = json.as_array().unwrap()[..4]
        .iter()
        .map(|agent| agent["cost"].as_str().unwrap())
        .collect();
    assert_eq!(costs, ["reported", "priced", "per_iteration", "unknown"]);
    assert_eq!(json[1]["model"], "gpt-5");
}
