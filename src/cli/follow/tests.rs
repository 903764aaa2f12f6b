//! Events as lines for people.

use super::*;
use serde_json::{Value as Json, json};

fn event(kind: &str, data: Json) -> Event {
    Event {
        seq: 1,
        session_id: None,
        task_id: None,
        at_ms: 0,
        kind: kind.to_owned(),
        data,
    }
}

#[test]
fn lines_for_people() {
    for (kind, data, expected) in [
        (
            "session.created",
            json!({"agent": "claude", "trigger": "inbox"}),
            Some("created for agent claude, from inbox"),
        ),
        (
            "session.executing",
            json!({"from": "created"}),
            Some("started"),
        ),
        (
            "session.executing",
            json!({"from": "paused"}),
            Some("resumed"),
        ),
        ("session.awaiting_human", json!({}), None),
        (
            "session.failed",
            json!({"end_reason": "stagnated", "detail": "3 in a row"}),
            Some("failed: stagnated: 3 in a row"),
        ),
        (
            "session.failed",
            json!({"end_reason": "poison", "detail": null}),
            Some("failed: poison"),
        ),
        (
            "session.control",
            json!({"control": "pause"}),
            Some("will pause after this iteration"),
        ),
        (
            "session.control",
            json!({"control": null}),
            Some("will not be paused after all"),
        ),
        ("task.running", json!({}), None),
        (
            "tool.called",
            json!({"name": "bash", "about": "ls -l", "ok": false, "duration_ms": 3}),
            Some("  bash ls -l (failed)"),
        ),
        (
            "tool.called",
            json!({"name": "git_status", "about": null, "ok": true, "duration_ms": 3}),
            Some("  git_status"),
        ),
        (
            "task.parked",
            json!({"until_ms": null, "reason": "paused"}),
            None,
        ),
        (
            "task.parked",
            json!({"until_ms": null, "reason": null}),
            Some("back in the queue"),
        ),
        (
            "agent.changed",
            json!({"from": "codex", "to": "claude", "reason": null, "until_ms": null}),
            Some("claude is free again; going on with claude"),
        ),
        (
            "cost.unknown",
            json!({"agent": "codex", "model": "x"}),
            Some(
                "the cost of codex is not known, only its tokens are counted: there is no price for x",
            ),
        ),
        (
            "iteration.started",
            json!({"number": 2}),
            Some("iteration 2 started"),
        ),
        (
            "iteration.ended",
            json!({"verdict": "timed_out", "counted": true, "verify_passed": null, "failure": null}),
            Some("iteration ended: timed out"),
        ),
        (
            "iteration.ended",
            json!({"number": 3, "verdict": "promised", "counted": true, "verify_passed": false}),
            Some("iteration 3 ended: promised, verification FAILED"),
        ),
        (
            "iteration.ended",
            json!({"verdict": "failed", "counted": false, "failure": "exit 1\x1b[2J\nmore"}),
            Some("iteration ended: failed, not counted: exit 1␛[2J"),
        ),
        (
            "iteration.not_summarized",
            json!({"number": 3, "agent": "scribe", "reason": "it took too long"}),
            Some("iteration 3 not summed up: it took too long"),
        ),
        (
            "human.asked",
            json!({"question": "Which?", "options": ["a", "b"]}),
            Some("asks: Which?  [1] a  [2] b"),
        ),
        ("something.new", json!({}), None),
        ("session.failed", Json::Null, Some("failed: ?")),
    ] {
        assert_eq!(line_of(&event(kind, data)).as_deref(), expected, "{kind}");
    }
}

#[test]
fn times_are_told_by_the_local_clock() {
    let clock = clock_time(60_000, 0);
    for (kind, data, expected) in [
        (
            "task.parked",
            json!({"until_ms": 60_000, "reason": "usage limit of claude"}),
            format!("parked until {clock}, usage limit of claude"),
        ),
        (
            "agent.changed",
            json!({"from": "claude", "to": "codex", "reason": "usage limit of claude", "until_ms": 60_000}),
            format!("usage limit of claude until {clock}; going on with codex"),
        ),
    ] {
        assert_eq!(line_of(&event(kind, data)), Some(expected));
    }
}

#[test]
fn only_terminal_states_end_a_history() {
    for (kind, expected) in [
        ("session.completed", true),
        ("session.paused", false),
        ("task.completed", false),
    ] {
        assert_eq!(is_end(&event(kind, json!({}))), expected);
    }
}
