//! `/metrics`: the numbers are those of the rows, promtool finds nothing wrong, and the Grafana board asks for nothing that is not there.

use super::{get, obedient};
use crate::support::{Daemon, Site, wait_for};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

/// The page of a daemon.
fn page(site: &Site) -> String {
    let answer = get(site, "/metrics", "");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(answer.head.contains(kind), "{}", answer.head);
    answer.body
}

/// The value of a line; nothing where there is none.
fn value(page: &str, series: &str) -> Option<f64> {
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

fn assert_values(page: &str, expected: &[(&str, f64)]) {
    for (series, expected) in expected {
        assert_eq!(value(page, series), Some(*expected), "{series}\n{page}");
    }
}

#[test]
fn the_numbers_are_those_of_the_rows_before_and_after_a_restart() {
    let mut daemon = Daemon::start(obedient());
    daemon.drop_file("good.md", "---\nverify: 'true'\n---\nplease work");
    daemon.drop_file("claims.md", "please work");
    daemon.drop_file("bad.md", "please fail");
    daemon.drop_file("asks.md", "please ask");
    daemon.ended("good");
    daemon.ended("claims");
    let bad = daemon.ended("bad");
    daemon.in_state("asks", "awaiting_human");
    let page_before = page(&daemon);
    let failed = format!(
        "ralphd_sessions_ended_total{{state=\"failed\",end_reason=\"{}\",verified=\"\"}}",
        bad.end_reason.as_deref().unwrap()
    );
    let paid = daemon.count("SELECT count(*) FROM iterations") as f64 * 0.25;
    assert_values(
        &page_before,
        &[
            (
                r#"ralphd_sessions_ended_total{state="completed",end_reason="completed",verified="verified"}"#,
                1.0,
            ),
            (
                r#"ralphd_sessions_ended_total{state="completed",end_reason="completed",verified="claimed"}"#,
                1.0,
            ),
            (&failed, 1.0),
            (r#"ralphd_sessions{state="awaiting_human"}"#, 1.0),
            (r#"ralphd_sessions{state="executing"}"#, 0.0),
            (r#"ralphd_session_transitions_total{state="created"}"#, 4.0),
            (r#"ralphd_task_transitions_total{state="completed"}"#, 2.0),
            (r#"ralphd_events_total{type="human.asked"}"#, 1.0),
            (
                r#"ralphd_iterations_total{agent="worker",verdict="promised"}"#,
                2.0,
            ),
            (
                r#"ralphd_iteration_duration_seconds_count{agent="worker"}"#,
                daemon.count("SELECT count(*) FROM iterations") as f64,
            ),
            (
                r#"ralphd_cost_usd_total{agent="worker",model="model-x"}"#,
                paid,
            ),
            ("ralphd_session_duration_seconds_count", 3.0),
            ("ralphd_session_iterations_bucket{le=\"+Inf\"}", 3.0),
            (r#"ralphd_queue_tasks{standing="ready"}"#, 0.0),
            (r#"ralphd_queue_tasks{standing="running"}"#, 0.0),
            ("ralphd_questions_waiting", 1.0),
            (
                &format!(
                    "ralphd_build_info{{version=\"{}\"}}",
                    env!("CARGO_PKG_VERSION")
                ),
                1.0,
            ),
        ],
    );
    for series in [
        "ralphd_store_write_seconds_count",
        "ralphd_store_commit_seconds_count",
        "ralphd_store_commit_jobs_count",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_open_fds",
    ] {
        assert!(value(&page_before, series) > Some(0.0), "{series}");
    }
    wait_for("the notices to be up to date", || {
        let behind = r#"ralphd_events_behind{reader="notices"}"#;
        (value(&page(&daemon), behind) == Some(0.0)).then_some(())
    });
    daemon.kill9();
    daemon.restart();
    // What is open is counted from the rows; what happened, from the start of the daemon.
    let started = page(&daemon);
    assert_values(
        &started,
        &[
            (r#"ralphd_sessions{state="awaiting_human"}"#, 1.0),
            ("ralphd_session_duration_seconds_count", 0.0),
        ],
    );
    daemon
        .ralphd(&["cancel", &daemon.session("asks").unwrap().id])
        .done();
    wait_for("the cancellation to be counted", || {
        let page = page(&daemon);
        let ended =
            r#"ralphd_sessions_ended_total{state="cancelled",end_reason="cancelled",verified=""}"#;
        let open = value(&page, r#"ralphd_sessions{state="awaiting_human"}"#);
        (value(&page, ended) == Some(1.0) && open == Some(0.0)).then_some(())
    });
}

#[test]
fn what_callers_write_is_no_label() {
    let daemon = Daemon::start(obedient());
    for path in [
        "/v1/sessions/xyzzy",
        "/v1/sessions/plugh",
        "/nowhere/quux",
        "/healthz",
    ] {
        get(&daemon, path, "");
    }
    let page = page(&daemon);
    assert_values(
        &page,
        &[
            (
                r#"ralphd_http_requests_total{route="/v1/sessions/{id}",method="GET",status="404"}"#,
                2.0,
            ),
            (
                r#"ralphd_http_requests_total{route="none",method="",status="404"}"#,
                1.0,
            ),
            (
                r#"ralphd_http_requests_total{route="/healthz",method="GET",status="200"}"#,
                1.0,
            ),
            ("ralphd_http_request_duration_seconds_count", 4.0),
        ],
    );
    for word in ["xyzzy", "plugh", "quux"] {
        assert!(!page.contains(word), "{word} is in the page");
    }
}

#[test]
fn who_may_not_read_gets_no_numbers() {
    let daemon = Daemon::start(obedient());
    let token = |name: &str, scope: &str| {
        let made = daemon
            .ralphd(&["token", "new", name, "--scope", scope, "-q"])
            .done();
        made.split_whitespace().last().unwrap().to_owned()
    };
    let (reader, submitter) = (token("reader", "read"), token("submitter", "submit"));
    wait_for("the tokens to count", || {
        (get(&daemon, "/metrics", "").status == 401).then_some(())
    });
    for (token, status) in [(reader, 200), (submitter, 403)] {
        let head = format!("Authorization: Bearer {token}\r\n");
        assert_eq!(get(&daemon, "/metrics", &head).status, status);
    }
}

#[test]
fn promtool_finds_nothing_wrong() {
    if Command::new("promtool").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no promtool (Debian's package prometheus)");
        return;
    }
    let daemon = Daemon::start(obedient());
    daemon.drop_file("good.md", "please work");
    daemon.ended("good");
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let page = page(&daemon);
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(page.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        output.status.success() && said.trim().is_empty(),
        "{said}\n{page}"
    );
}

#[test]
fn the_grafana_board_asks_for_nothing_that_is_not_there() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/config/grafana.json");
    let board: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut asked = BTreeSet::new();
    for panel in board["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let names = names_in(target["expr"].as_str().unwrap());
            assert!(!names.is_empty(), "{target} asks for nothing");
            asked.extend(names);
        }
    }
    assert!(asked.len() >= 15, "{asked:?}");
    let daemon = Daemon::start(obedient());
    let page = page(&daemon);
    let there: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for name in asked {
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .filter(|family| there.contains(family));
        let family = family.unwrap_or(&name);
        assert!(there.contains(family), "there is no {name}");
    }
}

/// The names of metrics in an expression: all that begins like one of ours.
fn names_in(expression: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    expression
        .split(|letter| !is_name(letter))
        .filter(|word| word.starts_with("ralphd_") || word.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}
