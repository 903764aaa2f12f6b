//! The morning paper: every kind of end in its place, what waits, what it cost, what did not happen; and sent by the clock once a tick.

use super::obedient;
use crate::support::receiver::Receiver;
use crate::support::{Daemon, Site, wait_for};
use serde_json::Value as Json;

fn json(site: &Site, arguments: &[&str]) -> Json {
    serde_json::from_str(&site.ralphd(arguments).done()).unwrap()
}

/// A daemon with one session of every kind.
fn a_night(site: Site) -> Daemon {
    let daemon = Daemon::start(site);
    let workspace = daemon.state().join("workspaces/session/cheats");
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(workspace.join("check.sh"), "exit 1\n").unwrap();
    for (name, text) in [
        ("sure", "---\nverify: 'true'\n---\nMend the door."),
        ("claims", "Paint the wall."),
        (
            "cheats",
            "---\nverify: sh check.sh\nprotect: [check.sh]\nworkspace: { session: cheats }\n---\nplease tamper",
        ),
        ("fails", "please fail"),
        ("asks", "please ask"),
        (
            "later",
            "---\nnot_before: 2999-01-01T00:00:00Z\n---\nSleep.",
        ),
    ] {
        daemon.drop_file(&format!("{name}.md"), text);
    }
    daemon.drop_file("broken.md", "---\nmax_iteration: 3\n---\nx");
    for name in ["sure", "claims", "cheats", "fails"] {
        daemon.ended(name);
    }
    daemon.in_state("asks", "awaiting_human");
    let rejected = "SELECT count(*) FROM events WHERE type = 'request.rejected'";
    wait_for("the rejection", || {
        (daemon.count(rejected) == 1).then_some(())
    });
    daemon
}

#[test]
fn every_kind_of_end_has_its_place() {
    let daemon = a_night(obedient());
    let id = |name: &str| daemon.session(name).unwrap().id;
    let digest = json(&daemon, &["digest", "--json"]);
    for (kind, name) in [
        ("verified", "sure"),
        ("claimed", "claims"),
        ("tampered", "cheats"),
        ("failed", "fails"),
    ] {
        assert_eq!(digest[kind]["count"], 1, "{kind}: {digest:#}");
        assert_eq!(
            digest[kind]["sessions"][0]["session_id"],
            id(name),
            "{kind}"
        );
    }
    assert_eq!(digest["asked"][0]["question"], "Blue or red?");
    assert_eq!(digest["asked"][0]["session_id"], id("asks"));
    assert_eq!(digest["mishaps"][0]["what"], "broken.md");
    let iterations = daemon.count("SELECT count(*) FROM iterations");
    assert_eq!(digest["costs"][0]["agent"], "worker");
    assert_eq!(digest["costs"][0]["iterations"], iterations);
    assert_eq!(digest["cost_usd"], iterations as f64 * 0.25);

    let text = daemon.ralphd(&["digest"]).done();
    assert!(!text.contains('\x1b'), "{text}");
    let asks = id("asks");
    let short = &asks[asks.len() - 8..];
    for expected in [
        "4 ended: 1 verified, 1 claimed, 1 TAMPERED, 1 failed",
        "TAMPERED: the files of the check were changed, 1",
        "1 question waits for you",
        "Waits for you",
        "Blue or red?",
        "[2] red",
        &format!("ralphd answer {short} TEXT"),
        "Verified, 1",
        "Claimed, not checked, 1",
        "Mend the door.",
        "agent_failed",
        "broken.md",
        "max_iteration",
        &format!("${:.2}", iterations as f64 * 0.25),
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    // Nothing of it is in the last moment.
    let later = daemon.ralphd(&["digest", "--since", "1ms"]).done();
    assert!(later.contains("nothing ended"), "{later}");
    assert!(later.contains("Blue or red?"), "{later}");
}

#[test]
fn a_digest_by_the_clock_is_sent_once_a_tick() {
    let receiver = Receiver::start();
    let site = obedient().configure(&format!(
        "[notify.paper]\nkind = \"webhook\"\nurl = \"{}\"\nallow_private = true\nbackoff = \"5ms\"\non = [\"ended\"]\n[digest]\ncron = \"* * * * * *\"\nnotify = [\"paper\"]\nsince = \"1h\"\n",
        receiver.url("/paper")
    ));
    let mut daemon = Daemon::start(site);
    daemon.drop_file("claims.md", "Paint the wall.");
    daemon.ended("claims");
    let tells = |text: &str| {
        receiver
            .received()
            .iter()
            .filter(|received| received.body.contains(text))
            .count()
    };
    // An earlier one may tell of it as still at work.
    wait_for("a digest of the session's end", || {
        (tells("1 claimed") > 0).then_some(())
    });
    daemon.kill9();
    daemon.restart();
    let before = tells("\"type\":\"digest\"");
    wait_for("digests after the restart", || {
        (tells("\"type\":\"digest\"") > before + 1).then_some(())
    });
    daemon.kill9();
    // One notice for each tick that was not skipped, and each was told under one id.
    let ticks = daemon
        .count("SELECT count(*) FROM ticks WHERE schedule = '[digest]' AND outcome = 'started'");
    let notices = daemon.count("SELECT count(*) FROM notices WHERE occasion = 'digest'");
    let waiting = "SELECT count(*) FROM events WHERE type = 'schedule.ticked' AND json_extract(data, '$.outcome') = 'started' AND seq > (SELECT seq FROM bookmarks WHERE reader = 'notices')";
    assert_eq!(notices + daemon.count(waiting), ticks);
    let received = receiver.received();
    let body = received
        .iter()
        .map(|received| received.json())
        .find(|body| {
            body["data"]["headline"]
                .as_str()
                .is_some_and(|headline| headline.contains("1 claimed"))
        })
        .unwrap();
    assert_eq!(body["type"], "digest");
    let text = body["data"]["text"].as_str().unwrap();
    assert!(text.contains("Paint the wall."), "{body:#}");
    assert_eq!(body["data"]["digest"]["claimed"]["count"], 1);
    // A digest belongs to no session.
    assert!(daemon.ralphd(&["show", "claims"]).stdout.is_empty());
    let listed = json(&daemon, &["schedule", "list", "--json"]);
    assert_eq!(listed, serde_json::json!([]));
}

#[test]
fn a_digest_needs_a_time_and_a_reader() {
    for (text, expected) in [
        (
            "[digest]\ncron = \"0 7 * * *\"\n",
            "digest.cron: needs somebody",
        ),
        (
            "[digest]\nnotify = [\"nobody\"]\n",
            "there is no [notify.nobody]",
        ),
        ("[digest]\ntimezone = \"Europe/Berlim\"\n", "Europe/Berlin"),
        ("[digest]\ncron = \"every day\"\n", "digest.cron"),
        ("[digest]\nsince = \"0s\"\n", "digest.since"),
        ("[events]\nkeep = 0\n", "events.keep"),
    ] {
        let ran = obedient().configure(text).ralphd(&["list"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}
