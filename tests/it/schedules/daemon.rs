//! The real daemon by the real clock, with schedules of every second.

use super::schedule;
use crate::support::{Daemon, Site, wait_for};

fn every_second(name: &str, more: &str) -> String {
    schedule(name, "* * * * * *", more)
}

fn ticks(site: &Site, name: &str) -> i64 {
    let sql = "SELECT count(*) FROM ticks WHERE schedule = ?1";
    site.cell(sql, [name]).unwrap_or(0)
}

fn wait_for_ticks(site: &Site, name: &str, count: i64) {
    wait_for(&format!("{count} ticks of {name}"), || {
        (ticks(site, name) >= count).then_some(())
    });
}

#[test]
fn every_second_a_session_that_does_its_work() {
    let site = Site::with_worker("echo TASK_COMPLETE").configure(&every_second("pulse", ""));
    let daemon = Daemon::start(site);
    wait_for("three completed sessions", || {
        let sql = "SELECT count(*) FROM sessions s JOIN ticks t ON t.session_id = s.id WHERE s.status = 'completed'";
        (daemon.count(sql) >= 3).then_some(())
    });
    let listed = daemon.ralphd(&["schedule", "list"]).done();
    assert!(
        listed.contains("pulse") && listed.contains(" ago"),
        "{listed}"
    );
    wait_for("an answer named after the schedule", || {
        let outbox = std::fs::read_dir(daemon.state().join("outbox")).ok()?;
        let mut names = outbox.flatten().map(|entry| entry.file_name());
        names.find(|name| name.to_string_lossy().starts_with("pulse."))
    });
}

#[test]
fn a_pause_reaches_the_running_daemon() {
    let config = every_second("pulse", "") + &every_second("clock", "");
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE").configure(&config));
    wait_for_ticks(&daemon, "pulse", 1);
    daemon.ralphd(&["schedule", "pause", "pulse"]).done();
    let (before, clock) = (ticks(&daemon, "pulse"), ticks(&daemon, "clock"));
    wait_for_ticks(&daemon, "clock", clock + 3);
    assert_eq!(ticks(&daemon, "pulse"), before);
    daemon.ralphd(&["schedule", "resume", "pulse"]).done();
    wait_for_ticks(&daemon, "pulse", before + 1);
    let missed = "SELECT count(*) FROM ticks WHERE schedule = 'pulse' AND outcome = 'skipped' AND detail LIKE 'missed%'";
    wait_for("what was missed to be written down", || {
        (daemon.count(missed) >= 2).then_some(())
    });
}

#[test]
fn kills_lose_and_double_no_tick() {
    let config = every_second("pulse", "catch_up = 'all'");
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE").configure(&config));
    for round in 1..=5 {
        wait_for_ticks(&daemon, "pulse", 2 * round);
        daemon.kill9();
        daemon.restart();
    }
    wait_for_ticks(&daemon, "pulse", 12);
    daemon.kill9();
    let due: Vec<i64> = daemon.column("SELECT due_at_ms FROM ticks ORDER BY due_at_ms", []);
    let gaps: Vec<_> = due
        .windows(2)
        .filter(|pair| pair[1] - pair[0] != 1_000)
        .collect();
    assert!(gaps.is_empty(), "{gaps:?}");
    let started = daemon.count("SELECT count(*) FROM ticks WHERE outcome = 'started'");
    let sessions = "SELECT count(*) FROM sessions s JOIN ticks t ON t.session_id = s.id";
    assert_eq!(daemon.count(sessions), started);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), started);
}

#[test]
fn a_request_that_would_be_refused_is_told_at_the_start() {
    let config = "[[schedules]]\nname = 'pulse'\ncron = '* * * * * *'\nrequest = 'none.md'\n";
    let daemon = Daemon::start(Site::with_worker("true").configure(config));
    wait_for("the warning", || {
        daemon
            .log()
            .contains("schedule pulse would be refused: ")
            .then_some(())
    });
    wait_for_ticks(&daemon, "pulse", 1);
    let listed = daemon.ralphd(&["schedule", "list"]).done();
    assert!(
        listed.contains("refused") && listed.contains("none.md"),
        "{listed}"
    );
}
