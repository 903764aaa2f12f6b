//! A conversation that is killed goes on where it stopped; nothing is paid for twice.

use super::{BOTH, Dialect, done};
use crate::support::model_server::{ModelServer, Play};
use crate::support::{Daemon, kill, wait_for};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Ten steps; the seventh waits in the workspace until somebody makes the file `go`, or for ever.
fn ten_steps() -> ModelServer {
    ModelServer::answering(|number, _| match number {
        7 => Play::call(
            "bash",
            json!({"command": "touch here; until [ -e go ]; do sleep 0.02; done; echo 7 >> ran"}),
        ),
        10.. => done("All ten."),
        _ => Play::call("bash", json!({"command": format!("echo {number} >> ran")})),
    })
}

fn at_the_seventh(dialect: Dialect, server: &ModelServer) -> Daemon {
    let daemon = Daemon::start(dialect.site(server, ""));
    daemon.drop_file("ten.md", "Take ten steps.");
    wait_for("the seventh step", || {
        let workspace = daemon.session("ten")?.workspace;
        workspace.join("here").exists().then_some(())
    });
    assert_eq!(server.requests().len(), 7);
    daemon
}

fn completes_with_ten(daemon: &Daemon, server: &ModelServer) {
    let session = daemon.ended("ten");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(server.requests().len(), 10, "three more, not ten");
    assert_eq!(daemon.count("SELECT count(*) FROM iterations"), 1);
    assert_eq!(daemon.count("SELECT count(*) FROM steps"), 10);
    assert_eq!(daemon.count("SELECT count(*) FROM tool_calls"), 9);
    let sums = "SELECT (SELECT sum(input_tokens) FROM steps) - (SELECT input_tokens FROM sessions)";
    assert_eq!(daemon.count(sums), 0, "every step is paid for once");
    let ran = std::fs::read_to_string(session.workspace.join("ran")).unwrap();
    let once: std::collections::BTreeSet<&str> = ran.lines().collect();
    assert_eq!(
        once.len(),
        ran.lines().count(),
        "nothing was done twice: {ran}"
    );
}

#[test]
fn a_reboot_at_step_seven_of_ten() {
    for dialect in BOTH {
        let server = ten_steps();
        let mut daemon = at_the_seventh(dialect, &server);
        daemon.kill9();
        while !daemon.turn_processes().is_empty() {
            daemon.turn_processes().into_iter().for_each(kill);
        }
        daemon.restart();
        completes_with_ten(&daemon, &server);
        let told = server.requests()[7].body.to_string();
        assert!(
            told.contains("was under way when the agent was interrupted"),
            "{told}"
        );
    }
}

#[test]
fn the_daemon_alone_is_killed_at_step_seven_of_ten() {
    for dialect in BOTH {
        let server = ten_steps();
        let mut daemon = at_the_seventh(dialect, &server);
        daemon.kill9();
        let workspace = daemon.session("ten").unwrap().workspace;
        std::fs::write(workspace.join("go"), "").unwrap();
        daemon.restart();
        completes_with_ten(&daemon, &server);
    }
}

#[test]
fn the_agents_process_alone_is_killed_at_step_seven_of_ten() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon = at_the_seventh(dialect, &server);
        let conversing = daemon.turn_processes().into_iter().filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("converse")
        });
        conversing.for_each(kill);
        completes_with_ten(&daemon, &server);
    }
}

#[test]
fn cancelling_ends_what_runs_inside_a_step() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon = at_the_seventh(dialect, &server);
        let session = daemon.session("ten").unwrap();
        daemon.ralphd(&["cancel", &session.id]).done();
        assert_eq!(daemon.ended("ten").ending(), ("cancelled", "cancelled"));
        assert_eq!(daemon.turn_processes(), Vec::<i32>::new());
        assert_eq!(server.requests().len(), 7);
        wait_for("the connection to be closed", || {
            (server.open_connections() == 0).then_some(())
        });
    }
}

#[test]
fn cancelling_hangs_up_on_a_model_that_is_still_talking() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| Play::say("Well, …").silent_after(3));
        let daemon = Daemon::start(dialect.site(&server, ""));
        daemon.drop_file("slow.md", "Go.");
        wait_for("the question", || {
            (!server.requests().is_empty()).then_some(())
        });
        let session = daemon.session("slow").unwrap();
        daemon.ralphd(&["cancel", &session.id]).done();
        assert_eq!(daemon.ended("slow").ending(), ("cancelled", "cancelled"));
        wait_for("the connection to be closed", || {
            (server.open_connections() == 0).then_some(())
        });
    }
}

/// A reboot at the seventh of ten steps, after which the conversation's journal is what `change` makes of it.
fn with_the_journal_changed(
    dialect: Dialect,
    server: &ModelServer,
    change: impl FnOnce(String) -> String,
) -> Daemon {
    let mut daemon = at_the_seventh(dialect, server);
    daemon.kill9();
    while !daemon.turn_processes().is_empty() {
        daemon.turn_processes().into_iter().for_each(kill);
    }
    let output: String = daemon
        .cell("SELECT output_file FROM iterations", [])
        .unwrap();
    let journal = PathBuf::from(output).with_extension("steps.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, change(text)).unwrap();
    daemon.restart();
    daemon
}

fn with_entries(journal: String, entries: &[Json]) -> String {
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    journal + &lines
}

#[test]
fn final_words_that_were_heard_are_not_asked_for_again() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon = with_the_journal_changed(dialect, &server, |journal| {
            let done = json!({"outcome": {"results": [], "remark": null}});
            let last = json!({"reply": {"text": "Seven will do.\n\nTASK_COMPLETE"}});
            with_entries(journal, &[done, last])
        });
        let session = daemon.ended("ten");
        assert_eq!(session.ending(), ("completed", "completed"));
        assert!(session.answer().contains("Seven will do."));
        assert_eq!(server.requests().len(), 7, "nobody was asked again");
        assert_eq!(daemon.count("SELECT count(*) FROM steps"), 8);
    }
}

#[test]
fn a_reply_that_was_cut_off_is_still_known_for_one() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon = with_the_journal_changed(dialect, &server, |journal| {
            let done = json!({"outcome": {"results": [], "remark": null}});
            let cut =
                json!({"reply": {"text": "Once upon a\nTASK_COMPLETE", "stop": "max_tokens"}});
            with_entries(journal, &[done, cut])
        });
        assert_eq!(daemon.ended("ten").ending(), ("completed", "completed"));
        let told = server.requests()[7].body.to_string();
        assert!(told.contains("Your reply was cut off"), "{told}");
    }
}

#[test]
fn an_iteration_that_a_hook_has_ended_is_not_taken_up_again() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon = with_the_journal_changed(dialect, &server, |journal| {
            let end = json!(["interrupted", "ended by a hook: enough"]);
            let ended = json!({"outcome": {"results": [], "remark": null, "end": end}});
            with_entries(journal, &[ended])
        });
        let session = daemon.ended("ten");
        assert_eq!(session.ending(), ("completed", "completed"));
        let verdicts = daemon.verdicts(&session);
        assert_eq!(verdicts[0].0, "unfinished", "{verdicts:?}");
        assert_eq!(verdicts.len(), 2, "the rest was the next one's");
        assert_eq!(server.requests().len(), 10);
    }
}

#[test]
fn a_line_that_the_disk_has_spoilt_counts_as_not_written() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon =
            with_the_journal_changed(dialect, &server, |journal| journal + "\0\0\0\0{\"reply\n");
        completes_with_ten(&daemon, &server);
    }
}

#[test]
fn what_was_paid_stays_counted_when_the_conversation_cannot_go_on() {
    for dialect in BOTH {
        let server = ten_steps();
        let daemon = with_the_journal_changed(dialect, &server, |_| "gone\n".to_owned());
        let session = daemon.ended("ten");
        assert_eq!(session.ending(), ("failed", "agent_failed"));
        assert_eq!(daemon.count("SELECT count(*) FROM steps"), 7);
        let uncounted =
            "SELECT (SELECT sum(input_tokens) FROM steps) - (SELECT input_tokens FROM sessions)";
        assert_eq!(daemon.count(uncounted), 0);
    }
}
