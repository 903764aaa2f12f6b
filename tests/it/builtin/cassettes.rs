//! Conversations on a cassette: recorded from a model, played without one.

use super::{BOTH, KEY, done};
use crate::support::model_server::{ModelServer, Play};
use crate::support::{Ran, Site};
use serde_json::json;

#[test]
fn what_was_recorded_is_played_without_a_network() {
    for dialect in BOTH {
        let server = ModelServer::scripted(vec![
            Play::calls(
                "First the file.",
                &[("write", json!({"path": "a.txt", "content": "one\n"}))],
            ),
            Play::say("The file is there; the rest comes next."),
            Play::call("bash", json!({"command": "cat a.txt; echo two >> a.txt"})),
            Play::call("read", json!({"path": "a.txt"})),
            done(&format!("It holds one and two. The key is {KEY}.")),
        ]);
        let site = dialect.site(&server, "");
        let recorded = site.ralphd(&[
            "run",
            "Make a file.",
            "--agent",
            "thinker",
            "--record",
            "tape.jsonl",
        ]);
        let recorded = recorded.done();
        let tape = site.read("tape.jsonl");
        assert_eq!(tape.lines().count(), 5);
        assert!(!tape.contains(KEY), "{tape}");
        drop(server);
        let player = "[agents.player]\nkind = \"builtin\"\nprovider = \"recorded\"\ncassette = \"tape.jsonl\"\n";
        let site = site.configure(player);
        let played = site.ralphd(&["run", "Make a file.", "--agent", "player"]);
        assert_eq!(played.done(), recorded);
        let session = "SELECT id FROM sessions WHERE agent = 'player'";
        let id: String = site.cell(session, []).unwrap();
        let calls: Vec<String> = site.column(
            "SELECT name FROM tool_calls WHERE session_id = ?1 ORDER BY id",
            [&id],
        );
        assert_eq!(calls, ["write", "bash", "read"], "the tools really ran");
        let workspace: String = site
            .cell("SELECT workspace FROM sessions WHERE id = ?1", [&id])
            .unwrap();
        let made = std::fs::read_to_string(format!("{workspace}/a.txt")).unwrap();
        assert_eq!(made, "one\ntwo\n");
        let cost: f64 = site
            .cell("SELECT cost_usd FROM sessions WHERE id = ?1", [&id])
            .unwrap();
        assert_eq!(cost, 0.0);
    }
}

#[test]
fn a_cassette_is_new_and_of_a_built_in_agent() {
    let server = ModelServer::answering(|_, _| done("Never."));
    let site = BOTH[0]
        .site(&server, "")
        .agent("worker", "echo TASK_COMPLETE");
    std::fs::write(site.file("old.jsonl"), "mine").unwrap();
    let there = site.ralphd(&["run", "Go.", "--record", "old.jsonl"]);
    assert_ne!(there.code, Some(0));
    assert!(
        there.stderr.contains("old.jsonl: a cassette must be new"),
        "{there:?}"
    );
    assert_eq!(site.read("old.jsonl"), "mine");
    let program = site.ralphd(&["run", "Go.", "--agent", "worker", "--record", "new.jsonl"]);
    assert_ne!(program.code, Some(0));
    assert!(
        program.stderr.contains("--record is for built-in agents"),
        "{program:?}"
    );
    let left = site.file("new.jsonl").exists();
    assert!(!left, "the same name can be used with the right agent");
}

#[test]
fn a_cassette_that_ends_too_early_says_so() {
    let line = json!({"iteration": 1, "number": 1, "reply": {"text": "Not yet."}});
    let site = Site::new().configure(
        "[agents.player]\nkind = \"builtin\"\nprovider = \"recorded\"\ncassette = \"tape.jsonl\"\n",
    );
    std::fs::write(site.file("tape.jsonl"), format!("{line}\n")).unwrap();
    let ran = site.ralphd(&["run", "Go."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let detail: String = site.cell("SELECT end_detail FROM sessions", []).unwrap();
    assert!(detail.contains("has no reply 1 of iteration 2"), "{detail}");
}

#[test]
fn the_demonstration_shows_tools_at_work() {
    let site = Site::new();
    let shown = Ran::of(site.bare_command(&["demo", "--clean"])).done();
    for line in [
        "glob **/*",
        "write haiku.txt",
        "edit haiku.txt",
        "bash wc -l < haiku.txt",
        "verified",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("(failed)"), "{shown}");
    assert!(shown.contains("morning finds it done"), "{shown}");
}
