//! Which session comes first, and when.

use crate::support::{Daemon, Site, wait_for};

/// Runs one after the other; the session `gate` holds the only place until the test lets it go.
fn one_at_a_time() -> Daemon {
    let script = "objective=$(head -n 1); echo \"$objective\" >>\"$HERE/order\"
        if [ \"$objective\" = gate ]; then until [ -e \"$HERE/go\" ]; do sleep 0.02; done; fi
        echo TASK_COMPLETE";
    let site = Site::with_worker(script).variable("RALPHD_QUEUE__MAX_PARALLEL", "1");
    let daemon = Daemon::start(site);
    daemon.drop_file("gate.md", "gate");
    wait_for("the gate to be closed", || {
        daemon.read("order").contains("gate").then_some(())
    });
    daemon
}

#[test]
fn higher_priority_goes_first_then_the_older() {
    let daemon = one_at_a_time();
    for (name, priority) in [("low", -5), ("first", 0), ("second", 0), ("high", 9)] {
        let text = format!("---\npriority: {priority}\n---\n{name}");
        daemon.drop_file(&format!("{name}.md"), &text);
        daemon.in_state(name, "created");
    }
    std::fs::write(daemon.file("go"), "").unwrap();
    daemon.ended("low");
    let order = daemon.read("order");
    assert_eq!(
        order.lines().collect::<Vec<_>>(),
        ["gate", "high", "first", "second", "low"]
    );
}

#[test]
fn never_more_at_once_than_allowed() {
    let script = "mkdir \"$HERE/busy\" || echo two >>\"$HERE/overlap\"; sleep 0.05; rmdir \"$HERE/busy\"; echo TASK_COMPLETE";
    let site = Site::with_worker(script).variable("RALPHD_QUEUE__MAX_PARALLEL", "1");
    let daemon = Daemon::start(site);
    for number in 0..8 {
        daemon.drop_file(&format!("n{number}.md"), "Go.");
    }
    for number in 0..8 {
        daemon.ended(&format!("n{number}"));
    }
    assert_eq!(daemon.read("overlap"), "");
}

#[test]
fn nothing_starts_before_its_time() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let time = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(1500);
    daemon.drop_file("soon.md", &format!("---\nnot_before: {time}\n---\nGo."));
    daemon.drop_file(
        "never.md",
        "---\nnot_before: 2999-01-01T00:00:00Z\n---\nGo.",
    );
    daemon.drop_file("past.md", "---\nnot_before: 2001-01-01T00:00:00Z\n---\nGo.");
    daemon.ended("past");
    let session = daemon.ended("soon");
    let sql = "SELECT started_at_ms FROM iterations WHERE session_id = ?1";
    let started: i64 = daemon.cell(sql, [&session.id]).unwrap();
    assert!(
        started >= time.as_millisecond(),
        "{started} is before {time}"
    );
    assert_eq!(daemon.session("never").unwrap().status, "created");
}
