//! A thousand sessions that end in seconds: each is told of once.

use super::{HERE, all_told, calling_back};
use crate::support::receiver::Receiver;
use crate::support::{Daemon, Site};
use std::collections::BTreeSet;

const SESSIONS: usize = 1_000;

#[test]
fn of_a_thousand_sessions_each_is_told_once() {
    let receiver = Receiver::start();
    // The day's money is spent by the first: all others end without a process.
    let site = Site::with_worker("echo TASK_COMPLETE")
        .configure("cost_per_iteration = 1.0\n[budget]\nday_usd = 1.5\n")
        .configure(HERE);
    let daemon = Daemon::start(site);
    daemon.drop_file("first.md", "Go.");
    daemon.ended("first");
    let database = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    let body = calling_back(&receiver.url("/done"));
    database
        .execute_batch("PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE;")
        .unwrap();
    for _ in 0..SESSIONS {
        database
            .execute("INSERT INTO requests (body) VALUES (?1)", [&body])
            .unwrap();
    }
    database.execute_batch("COMMIT;").unwrap();
    all_told(&daemon, SESSIONS as i64);
    let received = receiver.received();
    assert_eq!(received.len(), SESSIONS);
    let sessions: BTreeSet<String> = received
        .iter()
        .map(|one| one.json()["data"]["session_id"].to_string())
        .collect();
    assert_eq!(sessions.len(), SESSIONS);
}
