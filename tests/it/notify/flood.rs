//! A thousand sessions that end in seconds: each is told of once. With kills in between: of each, and under one id.

use super::{HERE, all_told, calling_back};
use crate::support::receiver::Receiver;
use crate::support::{Daemon, Site, wait_for};
use std::collections::BTreeSet;

const SESSIONS: usize = 1_000;
const STORMY_SESSIONS: usize = 200;

/// A daemon whose money for the day is spent: all that comes now ends without a process.
fn spent() -> Daemon {
    let site = Site::with_worker("echo TASK_COMPLETE")
        .configure("cost_per_iteration = 1.0\n[budget]\nday_usd = 1.5\n")
        .configure(HERE);
    let daemon = Daemon::start(site);
    daemon.drop_file("first.md", "Go.");
    daemon.ended("first");
    daemon
}

fn ask_for(daemon: &Daemon, receiver: &Receiver, how_many: usize) {
    let database = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    let body = calling_back(&receiver.url("/done"));
    database
        .execute_batch("PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE;")
        .unwrap();
    for _ in 0..how_many {
        database
            .execute("INSERT INTO requests (body) VALUES (?1)", [&body])
            .unwrap();
    }
    database.execute_batch("COMMIT;").unwrap();
}

#[test]
fn a_daemon_that_dies_again_and_again_loses_none_and_makes_none_twice() {
    let receiver = Receiver::start();
    let mut daemon = spent();
    ask_for(&daemon, &receiver, STORMY_SESSIONS);
    for part in 1..=5 {
        let wanted = STORMY_SESSIONS * part / 6;
        wait_for("some to be told", || {
            (receiver.received().len() >= wanted).then_some(())
        });
        daemon.kill9();
        daemon.restart();
    }
    all_told(&daemon, STORMY_SESSIONS as i64);
    let told: BTreeSet<(String, String)> = receiver
        .received()
        .iter()
        .map(|one| {
            let session = one.json()["data"]["session_id"].to_string();
            (session, one.id().to_owned())
        })
        .collect();
    // One that was under way may come again, but under the id that it had.
    assert_eq!(told.len(), STORMY_SESSIONS);
}

#[test]
fn of_a_thousand_sessions_each_is_told_once() {
    let receiver = Receiver::start();
    let daemon = spent();
    ask_for(&daemon, &receiver, SESSIONS);
    all_told(&daemon, SESSIONS as i64);
    let received = receiver.received();
    assert_eq!(received.len(), SESSIONS);
    let sessions: BTreeSet<String> = received
        .iter()
        .map(|one| one.json()["data"]["session_id"].to_string())
        .collect();
    assert_eq!(sessions.len(), SESSIONS);
}
