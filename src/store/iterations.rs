//! The verbs of the `iterations` table: begin and end, both fenced by the claim under which they happen.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::restore_points::{self, Ground, NewPoint};
use super::tasks::{self, Claim, ClaimLost};
use super::{budgets, guidance, ledger, query};
use crate::model::delegation::Spawn;
use crate::model::event::EventType;
use crate::model::failure::{Failure, FailureClass};
use crate::model::iteration::Verdict;
use crate::model::limit::Limit;
use crate::model::usage::Usage;
use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};

/// An iteration as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Iteration {
    pub id: String,
    pub session_id: String,
    pub task_id: String,
    pub number: i64,
    /// Who took it; nothing means the session's own agent.
    pub agent: Option<String>,
    pub verdict: Option<Verdict>,
    pub counted: bool,
    pub exit_code: Option<i64>,
    pub exit_signal: Option<i64>,
    pub failure_class: Option<FailureClass>,
    pub failure_detail: Option<String>,
    pub reset_at_ms: Option<i64>,
    pub final_text: Option<String>,
    pub prompt_file: String,
    pub output_file: String,
    pub handoff: Option<Json>,
    pub handoff_problem: Option<String>,
    pub verify_passed: Option<bool>,
    pub verify_tail: Option<String>,
    pub tampered: Option<Vec<String>>,
    pub question: Option<Json>,
    /// The work it left for another agent.
    pub spawn: Option<Spawn>,
    pub fingerprint: Option<String>,
    pub progressed: Option<bool>,
    pub git_commit: Option<String>,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub tool_call_count: i64,
    pub started_at_ms: i64,
    pub ended_at_ms: Option<i64>,
    /// When the session was taken back to a point before it.
    pub rewound_at_ms: Option<i64>,
}

/// What is known before the agent starts.
#[derive(Clone, Debug)]
pub struct NewIteration {
    pub id: String,
    pub agent: String,
    pub prompt_file: String,
    pub output_file: String,
    /// What people told the session, as far as this iteration's prompt is the first to have it.
    pub guidance_ids: Vec<String>,
    /// What it is expected to cost, held in the ledger until its own figures come.
    pub reserve_usd: Option<f64>,
    /// The state before the first iteration, where it is not in the rows yet.
    pub start: Option<NewPoint>,
    pub started_at_ms: i64,
}

/// What is known after it ended.
#[derive(Clone, Debug)]
pub struct EndedIteration {
    pub id: String,
    pub number: i64,
    pub verdict: Verdict,
    pub counted: bool,
    pub exit_code: Option<i64>,
    pub exit_signal: Option<i64>,
    pub failure: Option<Failure>,
    pub final_text: Option<String>,
    pub handoff: Option<Json>,
    pub handoff_problem: Option<String>,
    pub verify_passed: Option<bool>,
    pub verify_tail: Option<String>,
    pub tampered: Option<Vec<String>>,
    pub question: Option<Json>,
    /// The work it left for another agent.
    pub spawn: Option<Spawn>,
    pub fingerprint: Option<String>,
    pub progressed: Option<bool>,
    /// What it left in the workspace.
    pub point: Option<NewPoint>,
    pub usage: Usage,
    /// What the agent's tool remarked on: for the history.
    pub warnings: Vec<String>,
    pub ended_at_ms: i64,
}

/// Records that an iteration starts; returns its number in the session.
pub fn begin(
    sql: &mut dyn Sql,
    claim: &Claim,
    new: &NewIteration,
    lease_until_ms: i64,
) -> Result<i64> {
    hold_claim(sql, claim, lease_until_ms)?;
    let row = sql.row(
        query!("iterations_begin"),
        values![
            &new.id,
            &claim.session_id,
            &claim.task_id,
            &new.prompt_file,
            &new.output_file,
            new.started_at_ms,
            &new.agent,
        ],
    )?;
    let number = row.context("no number for an iteration")?.int("number")?;
    let reserved = Usage {
        cost_usd: new.reserve_usd,
        ..Usage::default()
    };
    ledger::correct(sql, &claim.session_id, &new.id, &reserved)?;
    guidance::mark_read(sql, &new.guidance_ids, &new.id)?;
    if let Some(start) = &new.start {
        let of = (claim.session_id.as_str(), 0);
        restore_points::add(sql, of, None, start, new.started_at_ms)?;
    }
    let about = About::task(&claim.session_id, &claim.task_id);
    let facts = json!({"iteration": new.id, "number": number, "agent": new.agent});
    events::add(
        sql,
        about,
        EventType::IterationStarted,
        new.started_at_ms,
        &facts,
    )?;
    Ok(number)
}

/// Records how an iteration ended, and counts it where it counts.
pub fn end(
    sql: &mut dyn Sql,
    claim: &Claim,
    ended: &EndedIteration,
    lease_until_ms: i64,
) -> Result<()> {
    hold_claim(sql, claim, lease_until_ms)?;
    let failure = ended.failure.as_ref();
    let json_text = |value: &Option<Json>| value.as_ref().map(Json::to_string);
    let row = sql.row(
        query!("iterations_end"),
        values![
            &ended.id,
            ended.verdict.as_str(),
            ended.counted,
            ended.exit_code,
            ended.exit_signal,
            failure.map(|failure| failure.class.as_str()),
            failure.map(|failure| failure.detail.as_str()),
            failure.and_then(|failure| failure.reset_at_ms),
            ended.final_text.as_ref(),
            json_text(&ended.handoff),
            ended.handoff_problem.as_ref(),
            ended.verify_passed,
            ended.verify_tail.as_ref(),
            ended
                .tampered
                .as_ref()
                .map(|files| json!(files).to_string()),
            json_text(&ended.question),
            ended.fingerprint.as_ref(),
            ended.progressed,
            ended.ended_at_ms,
            ended.spawn.as_ref().map(|spawn| json!(spawn).to_string()),
        ],
    )?;
    let Some(row) = row else {
        bail!("iteration {} has ended before", ended.id);
    };
    let begun = Begun {
        agent: row.optional_text("agent")?,
        started_at_ms: row.int("started_at_ms")?,
    };
    ledger::correct(sql, &claim.session_id, &ended.id, &ended.usage)?;
    budgets::mark(sql, &claim.session_id, ended.ended_at_ms)?;
    if ended.counted {
        sql.run(
            query!("sessions_count_iteration"),
            values![&claim.session_id],
        )?;
    }
    if let Some(point) = &ended.point {
        keep(sql, claim, ended, point)?;
    }
    if ended.verdict != Verdict::Lost {
        tasks::forgive(sql, &claim.task_id)?;
    }
    tell_end(sql, claim, &begun, ended)
}

fn keep(sql: &mut dyn Sql, claim: &Claim, ended: &EndedIteration, point: &NewPoint) -> Result<()> {
    let of = (claim.session_id.as_str(), ended.number);
    let task = Some(claim.task_id.as_str());
    restore_points::add(sql, of, task, point, ended.ended_at_ms)?;
    if point.ground == Ground::Own {
        let commit = &point.commit_id;
        sql.run(query!("iterations_set_commit"), values![&ended.id, commit])?;
    }
    Ok(())
}

/// What the row knew before its end.
struct Begun {
    agent: Option<String>,
    started_at_ms: i64,
}

fn tell_end(sql: &mut dyn Sql, claim: &Claim, begun: &Begun, ended: &EndedIteration) -> Result<()> {
    let about = About::task(&claim.session_id, &claim.task_id);
    let facts = json!({
        "iteration": ended.id,
        "number": ended.number,
        "agent": begun.agent,
        "verdict": ended.verdict,
        "counted": ended.counted,
        "verify_passed": ended.verify_passed,
        "warnings": ended.warnings,
        "failure": ended.failure.as_ref().map(|failure| &failure.detail),
        "failure_class": ended.failure.as_ref().map(|failure| failure.class),
        "cost_usd": ended.usage.cost_usd,
        "input_tokens": ended.usage.input_tokens,
        "output_tokens": ended.usage.output_tokens,
        "tool_calls": ended.usage.tool_calls,
        "duration_ms": ended.ended_at_ms - begun.started_at_ms,
    });
    events::add(
        sql,
        about,
        EventType::IterationEnded,
        ended.ended_at_ms,
        &facts,
    )?;
    if let Some(problem) = &ended.handoff_problem {
        let facts = json!({"iteration": ended.id, "problem": problem});
        events::add(
            sql,
            about,
            EventType::HandoffInvalid,
            ended.ended_at_ms,
            &facts,
        )?;
    }
    Ok(())
}

/// The iteration with exactly this id.
pub fn get(sql: &mut dyn Sql, id: &str) -> Result<Option<Iteration>> {
    let row = sql.row(query!("iterations_get"), values![id])?;
    row.as_ref().map(from_row).transpose()
}

/// The iterations of a session, first to last.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<Iteration>> {
    let rows = sql.rows(query!("iterations_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// Those of a task after a number, with long texts only where the loop uses them.
pub fn history(sql: &mut dyn Sql, claim: &Claim, after: i64) -> Result<Vec<Iteration>> {
    let rows = sql.rows(
        query!("iterations_history"),
        values![&claim.session_id, after, &claim.task_id],
    )?;
    rows.iter().map(from_row).collect()
}

/// The iterations of a session after a number, first to last.
pub fn after(sql: &mut dyn Sql, session: &str, number: i64, limit: u32) -> Result<Vec<Iteration>> {
    let rows = sql.rows(query!("iterations_after"), values![session, number, limit])?;
    rows.iter().map(from_row).collect()
}

/// The iterations of a session before a number, last to first.
pub fn before(sql: &mut dyn Sql, session: &str, number: i64, limit: u32) -> Result<Vec<Iteration>> {
    let rows = sql.rows(query!("iterations_before"), values![session, number, limit])?;
    rows.iter().map(from_row).collect()
}

/// The highest number that an iteration of a session has; 0 before the first.
pub fn last_number(sql: &mut dyn Sql, session: &str) -> Result<i64> {
    let row = sql.row(query!("iterations_last_number"), values![session])?;
    let number = row.map_or(Ok(None), |row| row.optional_int("number"))?;
    Ok(number.unwrap_or(0))
}

/// The newest iteration of a session.
pub fn last(sql: &mut dyn Sql, session: &str) -> Result<Option<Iteration>> {
    let row = sql.row(query!("iterations_last"), values![session])?;
    row.as_ref().map(from_row).transpose()
}

/// The newest iteration of a task.
pub fn last_of_task(sql: &mut dyn Sql, session: &str, task: &str) -> Result<Option<Iteration>> {
    let row = sql.row(query!("iterations_last_of_task"), values![session, task])?;
    row.as_ref().map(from_row).transpose()
}

/// The turn of a task that has begun and not been recorded as ended.
pub fn open_of_task(sql: &mut dyn Sql, session: &str, task: &str) -> Result<Option<String>> {
    let row = sql.row(query!("iterations_open_of_task"), values![session, task])?;
    row.map(|row| row.text("id")).transpose()
}

/// What the agent said last in a task.
pub fn last_words(sql: &mut dyn Sql, claim: &Claim) -> Result<Option<String>> {
    let row = sql.row(
        query!("iterations_last_words"),
        values![&claim.session_id, &claim.task_id],
    )?;
    row.map_or(Ok(None), |row| row.optional_text("final_text"))
}

/// The turn of the session that has begun and not been recorded as ended: its agent may be running.
pub fn under_way(sql: &mut dyn Sql, session: &str) -> Result<Option<String>> {
    let row = sql.row(query!("iterations_under_way"), values![session])?;
    row.map(|row| row.text("id")).transpose()
}

/// Records of a turn that nobody will judge that it is over, so that no row says for ever that it is under way.
pub fn abandon(
    sql: &mut dyn Sql,
    session: &str,
    task: &str,
    verdict: Verdict,
    at_ms: i64,
) -> Result<()> {
    sql.run(
        query!("iterations_abandon"),
        values![session, task, verdict.as_str(), at_ms],
    )?;
    Ok(())
}

/// The limits that agents have run into in any session and that were said to end after a time.
pub fn limited(sql: &mut dyn Sql, at_ms: i64) -> Result<Vec<(String, Limit)>> {
    let rows = sql.rows(query!("iterations_limited"), values![at_ms])?;
    rows.iter()
        .map(|row| {
            let limit = Limit {
                class: row.word("failure_class")?,
                until_ms: row.int("reset_at_ms")?,
            };
            Ok((row.text("agent")?, limit))
        })
        .collect()
}

pub(super) fn hold_claim(sql: &mut dyn Sql, claim: &Claim, lease_until_ms: i64) -> Result<()> {
    if tasks::renew(sql, claim, lease_until_ms)? {
        return Ok(());
    }
    bail!(ClaimLost(claim.task_id.clone()))
}

fn from_row(row: &Row) -> Result<Iteration> {
    let flag = |column: &str| -> Result<Option<bool>> {
        Ok(row.optional_int(column)?.map(|number| number == 1))
    };
    Ok(Iteration {
        id: row.text("id")?,
        session_id: row.text("session_id")?,
        task_id: row.text("task_id")?,
        number: row.int("number")?,
        agent: row.optional_text("agent")?,
        verdict: row.optional_word("verdict")?,
        counted: row.flag("counted")?,
        exit_code: row.optional_int("exit_code")?,
        exit_signal: row.optional_int("exit_signal")?,
        failure_class: row.optional_word("failure_class")?,
        failure_detail: row.optional_text("failure_detail")?,
        reset_at_ms: row.optional_int("reset_at_ms")?,
        final_text: row.optional_text("final_text")?,
        prompt_file: row.text("prompt_file")?,
        output_file: row.text("output_file")?,
        handoff: row.optional_json("handoff")?,
        handoff_problem: row.optional_text("handoff_problem")?,
        verify_passed: flag("verify_passed")?,
        verify_tail: row.optional_text("verify_tail")?,
        tampered: row
            .optional_json("tampered")?
            .and_then(|list| serde_json::from_value(list).ok()),
        question: row.optional_json("question")?,
        spawn: row
            .optional_json("spawn")?
            .and_then(|spawn| serde_json::from_value(spawn).ok()),
        fingerprint: row.optional_text("fingerprint")?,
        progressed: flag("progressed")?,
        git_commit: row.optional_text("git_commit")?,
        cost_usd: row.optional_real("cost_usd")?,
        input_tokens: row.optional_int("input_tokens")?,
        output_tokens: row.optional_int("output_tokens")?,
        tool_call_count: row.int("tool_call_count")?,
        started_at_ms: row.int("started_at_ms")?,
        ended_at_ms: row.optional_int("ended_at_ms")?,
        rewound_at_ms: row.optional_int("rewound_at_ms")?,
    })
}
