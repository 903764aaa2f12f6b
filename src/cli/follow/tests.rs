//! Events as lines for people.

use super::*;
use crate::model::plan::PlanTask;
use crate::model::task::{TaskKind, TaskState};
use crate::store::tasks::Task;
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
        assert_eq!(
            line_of(&event(kind, data), None).as_deref(),
            expected,
            "{kind}"
        );
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
        assert_eq!(line_of(&event(kind, data), None), Some(expected));
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

/// Task 2 of a plan, or the one that plans the others.
fn task(kind: TaskKind) -> Assignment {
    let order = if kind == TaskKind::Plan { 0 } else { 2 };
    Assignment {
        task: Task {
            id: "t".to_owned(),
            session_id: "s".to_owned(),
            task_order: order,
            task_type: kind,
            description: "Count\nthem".to_owned(),
            target: None,
            status: TaskState::Completed,
            agent: Some("claude".to_owned()),
            result_summary: Some("n = 2".to_owned()),
            error_type: None,
            error_message: None,
            retry_count: 0,
            failure_count: 0,
            tried_until: 0,
            priority: 0,
            not_before_ms: None,
            parked_until_ms: None,
            parked_reason: None,
            waits_for: None,
            started_at_ms: None,
            ended_at_ms: None,
        },
        step: (order > 0).then(|| PlanTask::new(2, kind, "Count\nthem")),
        result: None,
    }
}

#[test]
fn lines_of_plans() {
    use TaskKind::{Agent, Plan, SqlQuery};
    let started = json!({"number": 3, "agent": "claude"});
    for (kind, of, data, expected) in [
        (
            "plan.saved",
            Plan,
            json!({"tasks": 1, "plan_summary": "Count"}),
            Some("plan of 1 task: Count"),
        ),
        (
            "plan.called_back",
            Plan,
            json!({"call": "replan", "why": "no table"}),
            Some("plans anew: no table"),
        ),
        (
            "plan.called_back",
            Plan,
            json!({"call": "task_failed", "why": "x"}),
            Some("is being ended: x"),
        ),
        (
            "datasets.read",
            Plan,
            json!({"tables": ["a", "b"]}),
            Some("tables: a, b"),
        ),
        ("session.executing", Plan, json!({"from": "planning"}), None),
        ("task.running", Plan, json!({"claim": 1}), None),
        (
            "task.running",
            SqlQuery,
            json!({"claim": 1}),
            Some("task 2, sql_query: Count"),
        ),
        ("task.running", SqlQuery, json!({"claim": 2}), None),
        (
            "task.completed",
            SqlQuery,
            json!({}),
            Some("task 2: completed: n = 2"),
        ),
        (
            "task.skipped",
            SqlQuery,
            json!({"error": "no rows"}),
            Some("task 2: skipped: no rows"),
        ),
        (
            "task.blocked",
            SqlQuery,
            json!({}),
            Some("task 2: not run: a task that it needs has failed"),
        ),
        ("task.pending", SqlQuery, json!({}), None),
        (
            "task.setback",
            SqlQuery,
            json!({"decision": "retry", "error": "no"}),
            Some("task 2: failed, tried again: no"),
        ),
        (
            "task.setback",
            SqlQuery,
            json!({"decision": "skip", "error": "no"}),
            None,
        ),
        (
            "iteration.started",
            Plan,
            started.clone(),
            Some("asks claude"),
        ),
        (
            "iteration.started",
            SqlQuery,
            started.clone(),
            Some("task 2: asks claude"),
        ),
        (
            "iteration.started",
            Agent,
            started,
            Some("task 2: iteration 3 started"),
        ),
        (
            "iteration.ended",
            Plan,
            json!({"verdict": "promised"}),
            None,
        ),
        (
            "iteration.ended",
            Plan,
            json!({"verdict": "unfinished", "failure": "no JSON"}),
            Some("the answer cannot be used: no JSON"),
        ),
        (
            "human.approved",
            SqlQuery,
            json!({}),
            Some("task 2: approved"),
        ),
        (
            "human.rejected",
            SqlQuery,
            json!({"rejected": "no"}),
            Some("task 2: rejected: no"),
        ),
        (
            "sub_agent.spawned",
            Agent,
            json!({"agent": "codex", "session": "0199-1234abcd"}),
            Some("task 2: given to codex, session 1234abcd"),
        ),
    ] {
        let line = line_of(&event(kind, data), Some(&task(of)));
        assert_eq!(line.as_deref(), expected, "{kind} of {of}");
    }
}
