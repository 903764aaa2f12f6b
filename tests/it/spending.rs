//! Limits over all sessions, and words to a session while it works.

use crate::support::{Daemon, Site, wait_for};

#[test]
fn the_days_budget_stops_the_next_session_before_it_starts() {
    let site = Site::with_worker("echo \"turn $TURNS\"")
        .configure("cost_per_iteration = 1.0\n[budget]\nday_usd = 2.5\n");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("first.md", "---\nmax_iterations: 2\n---\nGo.");
    assert_eq!(daemon.ended("first").ending(), ("failed", "max_iterations"));
    // The ledger is in the rows: a new daemon knows what the old one spent.
    daemon.kill9();
    daemon.restart();
    daemon.drop_file("second.md", "Go.");
    let second = daemon.ended("second");
    assert_eq!(second.ending(), ("failed", "budget_usd"));
    assert_eq!(daemon.iterations(&second).len(), 0, "it never started");
    let (text, _) = daemon.outbox("second", &second);
    assert!(text.contains("the day's budget of 2.50 USD"), "{text}");
    let spent: f64 = daemon
        .cell("SELECT sum(cost_usd) FROM v_costs", [])
        .unwrap();
    assert_eq!(spent, 2.0);
}

#[test]
fn starts_per_hour_make_the_next_agent_wait() {
    let site =
        Site::with_worker("echo \"turn $TURNS\"").configure("[queue]\nstarts_per_hour = 3\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("many.md", "---\nmax_iterations: 9\n---\nGo.");
    let parked = wait_for("a parked task", || {
        daemon.cell::<String>(
            "SELECT parked_reason FROM tasks WHERE parked_until_ms > unixepoch() * 1000",
            [],
        )
    });
    assert!(parked.contains("starts_per_hour"), "{parked}");
    assert_eq!(daemon.runs("worker"), 3);
    let listed = daemon.ralphd(&["list"]).done();
    assert!(listed.contains("parked until"), "{listed}");
}

#[test]
fn outside_the_window_nothing_starts() {
    // A window that opened an hour ago and closed a minute ago, whatever the time is.
    let now = jiff::Zoned::now();
    let time = |minutes: i64| {
        let then = &now - jiff::SignedDuration::from_mins(minutes);
        then.strftime("%H:%M").to_string()
    };
    let window = format!("{}-{}", time(62), time(2));
    let site = Site::with_worker("echo TASK_COMPLETE")
        .configure(&format!("[queue]\nwindow = \"{window}\"\n"));
    let daemon = Daemon::start(site);
    daemon.drop_file("later.md", "Go.");
    let reason = wait_for("a parked task", || {
        daemon.cell::<String>(
            "SELECT parked_reason FROM tasks WHERE parked_reason IS NOT NULL",
            [],
        )
    });
    assert_eq!(reason, format!("outside the window {window}"));
    assert_eq!(daemon.runs("worker"), 0);
}

#[test]
fn a_word_to_a_running_session_reaches_its_next_iteration_and_holds_up_the_end() {
    let site = Site::with_worker(
        "touch \"$HERE/started\"; while [ ! -e \"$HERE/go\" ]; do sleep 0.01; done; echo TASK_COMPLETE",
    );
    let daemon = Daemon::start(site);
    daemon.drop_file("job.md", "Paint the door.");
    wait_for("the agent", || {
        daemon.file("started").exists().then_some(())
    });
    let id: String = daemon.cell("SELECT id FROM sessions", []).unwrap();
    daemon.ralphd(&["tell", &id, "Paint it blue."]).done();
    std::fs::write(daemon.file("go"), "").unwrap();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("completed", "completed"));
    let iterations = daemon.iterations(&session);
    assert_eq!(
        iterations.len(),
        2,
        "the first promise came before the word was read"
    );
    assert!(!iterations[0].prompt().contains("blue"));
    assert!(iterations[1].prompt().contains("- Paint it blue."));
    let refused = daemon.ralphd(&["tell", &id, "Too late."]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("cannot tell while completed"),
        "{refused:?}"
    );
}

#[test]
fn twelve_planted_secrets_are_found_nowhere() {
    let secret = |number: usize| format!("sk-planted-{number:04}-abcdefgh");
    let names = (1..=12).map(|number| match number % 4 {
        0 => format!("PLANTED_{number}_SECRET"),
        1 => format!("PLANTED_{number}_KEY"),
        2 => format!("PLANTED_{number}_TOKEN"),
        _ => format!("PLANTED_{number}"),
    });
    let names: Vec<String> = names.collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let list = quoted.join(", ");
    // Printed on both streams, in pieces, in the question, in a failing check, and in an error.
    let script = "env | grep PLANTED; env | grep PLANTED >&2
        printf '%s' \"$PLANTED_1_KEY\" | head -c 9; sleep 0.05; printf '%s' \"$PLANTED_1_KEY\" | tail -c +10; echo
        case $TURNS in
            1) echo TASK_COMPLETE ;;
            2) echo \"crashed with $PLANTED_2_TOKEN\" >&2; exit 3 ;;
            3) echo \"{\\\"question\\\": \\\"Is $PLANTED_4_SECRET right?\\\"}\" >state/question.json ;;
            *) echo \"It is $PLANTED_3\"; echo TASK_COMPLETE ;;
        esac";
    let mut site = Site::with_worker(script)
        .configure(&format!("env = [{list}]\n[secrets]\nnames = [{list}]\n"))
        .variable("RALPHD_DEFAULTS__TRANSIENT_BACKOFF", "10ms")
        .variable("RALPHD_LOG__LEVEL", "trace");
    for (number, name) in names.iter().enumerate() {
        site = site.variable(name, &secret(number + 1));
    }
    let mut daemon = Daemon::start(site);
    let verify = "env | grep PLANTED; echo $PLANTED_5_KEY; [ -e done ] || { touch done; exit 1; }";
    let front = format!(
        "verify: {}\nenv: [{}]",
        serde_json::json!(verify),
        names.join(", ")
    );
    daemon.drop_file(
        "leak.md",
        &format!("---\n{front}\n---\nLeak {}.", secret(6)),
    );
    let waiting = daemon.in_state("leak", "awaiting_human");
    daemon
        .ralphd(&["answer", waiting.short_id(), &secret(7)])
        .done();
    let session = daemon.ended("leak");
    assert_eq!(session.ending(), ("completed", "completed"));
    daemon.outbox("leak", &session);
    let shown = daemon
        .ralphd(&["show", "--json", session.short_id()])
        .done();
    daemon.terminate();
    let log = daemon.log();
    let state = daemon.state();
    let grep = std::process::Command::new("grep")
        .args(["-rl", "sk-planted", "--exclude-dir=accepted"])
        .arg(&state)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&grep.stdout),
        "",
        "secrets in files"
    );
    assert!(!log.contains("sk-planted") && !shown.contains("sk-planted"));
}

#[test]
fn an_iteration_that_costs_too_much_is_ended_and_counts() {
    let step = r#"{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","reason":"tool-calls","tokens":{"input":10,"output":1},"cost":1.0}}"#;
    let site = Site::with_worker(&format!("while :; do echo '{step}'; sleep 0.3; done"))
        .configure("output = \"opencode\"\n[budget]\niteration_usd = 1.5\n");
    let daemon = Daemon::start(site);
    daemon.drop_file("burn.md", "---\nmax_iterations: 2\n---\nGo.");
    let session = daemon.ended("burn");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    assert_eq!((session.iteration_count, daemon.runs("worker")), (2, 2));
    daemon.assert_nothing_runs();
}
