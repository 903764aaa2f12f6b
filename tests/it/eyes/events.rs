//! The history as a contract: what `ralphd schema events` says, and the mirror file, which has every event once, whatever happens.

use super::obedient;
use crate::support::{Daemon, Site, wait_for};
use serde_json::Value as Json;

#[test]
fn the_schema_has_every_type() {
    let schema: Json =
        serde_json::from_str(&Site::new().ralphd(&["schema", "events"]).done()).unwrap();
    let types: Vec<&str> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["properties"]["type"]["const"].as_str().unwrap())
        .collect();
    for kind in [
        "session.completed",
        "task.running",
        "iteration.ended",
        "daemon.started",
    ] {
        assert!(types.contains(&kind), "{kind}");
    }
}

/// The numbers in all files of the mirror, oldest first; a line that is being written is left out.
fn mirrored(site: &Site) -> Vec<i64> {
    let names = (1..=100)
        .rev()
        .map(|number| format!("state/events.jsonl.{number}"));
    let names = names.chain(["state/events.jsonl".to_owned()]);
    let text: String = names.map(|name| site.read(&name)).collect();
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole
        .lines()
        .map(|line| {
            serde_json::from_str::<Json>(line).unwrap()["seq"]
                .as_i64()
                .unwrap()
        })
        .collect()
}

fn written(site: &Site) -> Vec<i64> {
    site.column("SELECT seq FROM events ORDER BY seq", [])
}

#[test]
fn the_mirror_has_every_event_once_through_kills_and_new_files() {
    let site = obedient()
        .configure("[events]\nmirror = true\nmax_bytes = 4096\nkeep = 100\n")
        .variable("SOME_TOKEN", "not-for-your-eyes");
    let mut daemon = Daemon::start(site);
    for round in 0..4 {
        for number in 0..5 {
            let name = format!("r{round}n{number}");
            daemon.drop_file(&format!("{name}.md"), "Say not-for-your-eyes.");
        }
        // In the middle of it.
        daemon.ended(&format!("r{round}n0"));
        daemon.kill9();
        daemon.restart();
    }
    for round in 0..4 {
        for number in 0..5 {
            daemon.ended(&format!("r{round}n{number}"));
        }
    }
    wait_for("the mirror to be whole", || {
        (mirrored(&daemon).len() == written(&daemon).len()).then_some(())
    });
    assert_eq!(mirrored(&daemon), written(&daemon));
    assert!(!daemon.read("state/events.jsonl.2").is_empty());
    let first: Json = daemon
        .read("state/events.jsonl.1")
        .lines()
        .next()
        .map(|line| serde_json::from_str(line).unwrap())
        .unwrap();
    let row: String = daemon
        .cell(
            "SELECT data FROM events WHERE seq = ?1",
            [first["seq"].as_i64()],
        )
        .unwrap();
    assert_eq!(first["data"], serde_json::from_str::<Json>(&row).unwrap());
    // A line that was cut off, as by a power cut, is written again.
    daemon.kill9();
    let path = daemon.file("state/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 7]).unwrap();
    daemon.restart();
    wait_for("the mirror to be mended", || {
        (mirrored(&daemon) == written(&daemon)).then_some(())
    });
    let secret = mirror_text(&daemon);
    assert!(!secret.contains("not-for-your-eyes"));
}

fn mirror_text(site: &Site) -> String {
    let older: String = (1..=100)
        .map(|number| site.read(&format!("state/events.jsonl.{number}")))
        .collect();
    older + &site.read("state/events.jsonl")
}
