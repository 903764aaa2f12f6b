//! `ralphd stats`: how the agents fare, by the rows.

use super::obedient;
use crate::support::Daemon;
use serde_json::{Value as Json, json};

#[test]
fn agents_are_told_apart_by_what_they_finish() {
    let site = obedient().agent("other", "echo TASK_COMPLETE");
    let daemon = Daemon::start(site);
    for (name, text) in [
        ("a", "---\nverify: 'true'\n---\nwork"),
        ("b", "work"),
        ("c", "please fail"),
        ("d", "---\nagent: other\n---\nwork"),
    ] {
        daemon.drop_file(&format!("{name}.md"), text);
        daemon.ended(name);
    }
    let text = daemon.ralphd(&["stats", "--json"]).done();
    let stats: Json = serde_json::from_str(&text).unwrap();
    let worker = &stats["agents"][0];
    for (field, expected) in [
        ("agent", json!("worker")),
        ("ended", json!(3)),
        ("verified", json!(1)),
        ("claimed", json!(1)),
        ("failed", json!(1)),
        ("success", json!(2.0 / 3.0)),
        ("iterations_to_done", json!({"median": 1.0, "p90": 1.0})),
    ] {
        assert_eq!(worker[field], expected, "{field}: {worker:#}");
    }
    assert_eq!(stats["agents"][1]["agent"], "other");
    let days = stats["days"].as_array().unwrap();
    // The last 30 days, and the rest of the first of them.
    assert_eq!(days.len(), 31);
    let today = days.last().unwrap();
    assert_eq!((&today["done"], &today["failed"]), (&json!(3), &json!(1)));
    let plain = daemon.ralphd(&["stats"]).done();
    assert!(plain.contains("AGENT") && plain.contains("67 %"), "{plain}");
    assert!(!plain.contains(['\x1b', '█', '░']), "{plain}");
    let none = daemon.ralphd(&["stats", "--since", "1ms"]);
    assert!(none.stderr.contains("no session ended"), "{none:?}");
}
