//! The callback of a request: it comes, whatever the receiver and the daemon go through, and under one id.

use super::{HERE, all_told, calling_back, done_at_once, shown};
use crate::support::receiver::{Receiver, Reply};
use crate::support::{Daemon, Site, wait_for};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

#[test]
fn a_receiver_that_fails_five_times_still_gets_it_once_under_one_id() {
    let receiver = Receiver::answering(|number, _| if number <= 5 { 500 } else { 200 }.into());
    let daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    let session = daemon.ended("door");
    all_told(&daemon, 1);
    let received = receiver.received();
    assert_eq!(received.len(), 6);
    let ids: BTreeSet<&str> = received.iter().map(|one| one.id()).collect();
    assert_eq!(ids.len(), 1);
    let body = received[5].json();
    assert_eq!(body["type"], "session.ended");
    let told = &body["data"];
    assert_eq!(told["session_id"], session.id.as_str());
    assert_eq!(told["status"], "completed");
    assert_eq!(told["end_reason"], "completed");
    assert_eq!(told["verified"], "claimed");
    assert_eq!(told["answer"], "It is done.");
    assert_eq!(told["labels"]["team"], "infra");
    assert_eq!(told["iterations"], 1);
    let all = shown(&daemon, &session.id);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["target"], "callback");
    assert_eq!(all[0]["status"], "delivered");
    assert_eq!(all[0]["attempt_count"], 6);
    let text = daemon.ralphd(&["show", &session.id]).done();
    assert!(
        text.contains("Notices") && text.contains("delivered"),
        "{text}"
    );
}

#[test]
fn a_killed_daemon_goes_on_where_it_was() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = is_well.clone();
    let receiver = Receiver::answering(move |_, _| match well.load(Ordering::SeqCst) {
        true => 200.into(),
        false => 503.into(),
    });
    let mut daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    let session = daemon.ended("door");
    let tries = |least| {
        wait_for("tries", || {
            (receiver.received().len() >= least).then_some(())
        })
    };
    tries(2);
    daemon.kill9();
    let before = receiver.received().len();
    let owed = &shown(&daemon, &session.id)[0];
    assert_eq!(owed["status"], "owed");
    daemon.restart();
    tries(before + 1);
    daemon.kill9();
    is_well.store(true, Ordering::SeqCst);
    daemon.restart();
    all_told(&daemon, 1);
    assert_eq!(receiver.accepted().len(), 1);
    let received = receiver.received();
    let ids: BTreeSet<&str> = received.iter().map(|one| one.id()).collect();
    assert_eq!(ids.len(), 1);
}

/// The same text whenever it is asked for, made without the program's own code.
fn signed(id: &str, timestamp: &str, body: &str) -> String {
    let key = STANDARD.decode(&SECRET["whsec_".len()..]).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[test]
fn callbacks_are_signed_where_there_is_a_secret() {
    let receiver = Receiver::start();
    let site = done_at_once()
        .configure(HERE)
        .configure("secret_env = \"CALLING\"\n")
        .variable("CALLING", SECRET);
    let daemon = Daemon::start(site);
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    daemon.ended("door");
    all_told(&daemon, 1);
    let one = &receiver.received()[0];
    let expected = signed(one.id(), &one.headers["webhook-timestamp"], &one.body);
    assert_eq!(one.headers["webhook-signature"], expected);
    assert_eq!(one.headers["content-type"], "application/json");
    assert!(!daemon.log().contains(SECRET));
}

#[test]
fn without_a_secret_nothing_is_signed() {
    let receiver = Receiver::start();
    let daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    daemon.ended("door");
    all_told(&daemon, 1);
    let one = &receiver.received()[0];
    assert!(!one.headers.contains_key("webhook-signature"));
    assert!(one.headers.contains_key("webhook-timestamp"));
}

#[test]
fn a_receiver_that_is_gone_hears_nothing_more() {
    let receiver = Receiver::answering(|_, _| 410.into());
    let daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    let session = daemon.ended("door");
    wait_for("it to be given up", || {
        let given_up = "SELECT count(*) FROM notices WHERE status = 'given_up'";
        (daemon.count(given_up) == 1).then_some(())
    });
    assert_eq!(receiver.received().len(), 1);
    assert_eq!(daemon.events(&session, "notice.given_up"), 1);
    assert!(daemon.log().contains("a notice is given up: HTTP 410"));
    let error = shown(&daemon, &session.id)[0]["last_error"].clone();
    assert_eq!(error, "HTTP 410: as the test wants");
}

#[test]
fn a_receiver_may_ask_for_time() {
    let receiver = Receiver::answering(|_, _| Reply {
        status: 429,
        headers: vec![("retry-after", "3600".to_owned())],
    });
    let daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    daemon.ended("door");
    let wait = "SELECT next_at_ms - created_at_ms FROM notices WHERE attempt_count = 1";
    let wait: i64 = wait_for("the first try", || daemon.cell(wait, []));
    assert!((3_600_000..4_000_000).contains(&wait), "{wait}");
    assert_eq!(receiver.received().len(), 1);
}

#[test]
fn a_run_in_the_foreground_calls_back_as_well() {
    let receiver = Receiver::start();
    let site: Site = done_at_once().configure(HERE);
    let url = receiver.url("/done");
    site.ralphd(&["run", "Paint the door.", "--callback-url", &url])
        .done();
    let accepted = receiver.accepted();
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].json()["data"]["trigger"], "cli");
}

#[test]
fn what_ended_while_no_daemon_ran_is_told_by_the_next() {
    let receiver = Receiver::start();
    let mut daemon = Daemon::start(done_at_once().configure(HERE));
    let later = calling_back(&receiver.url("/done"))
        .replace("labels", "not_before: 2099-01-01T00:00:00Z\nlabels");
    daemon.drop_file("door.md", &later);
    let session = daemon.in_state("door", "created");
    daemon.kill9();
    daemon.ralphd(&["cancel", &session.id]).done();
    assert_eq!(receiver.received().len(), 0);
    daemon.restart();
    all_told(&daemon, 1);
    assert_eq!(receiver.received()[0].json()["data"]["status"], "cancelled");
}
