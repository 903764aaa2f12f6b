//! The verbs of the `human_requests` table: ask, answer, expire, withdraw.
//! A question and the session's `awaiting_human` come and go in one transaction.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::plans::{self, CallBack};
use super::query;
use super::sessions::{self, Ending};
use super::tasks::{self, Claim, Settlement};
use crate::model::event::EventType;
use crate::model::gate::{self, GateStep};
use crate::model::session::{EndReason, InvalidStep, SessionState, SessionStep};
use crate::model::task::TaskStep;
use crate::model::words::words;
use anyhow::{Result, bail};
use serde_json::{Value as Json, json};

words! {
    /// What is wanted of a person.
    pub enum HumanKind {
        Question => "question",
        Gate => "gate",
    }
}

words! {
    /// What became of it.
    pub enum HumanStatus {
        Waiting => "waiting",
        Answered => "answered",
        Approved => "approved",
        Rejected => "rejected",
        Expired => "expired",
        Withdrawn => "withdrawn",
    }
}

/// Something put to a person.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct HumanRequest {
    pub id: String,
    pub session_id: String,
    pub task_id: Option<String>,
    pub kind: HumanKind,
    pub status: HumanStatus,
    pub question: String,
    pub options: Vec<String>,
    pub error: Option<String>,
    pub answer: Option<String>,
    pub asked_at_ms: i64,
    pub expires_at_ms: i64,
}

/// What is to be asked.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    pub id: String,
    pub kind: HumanKind,
    pub question: String,
    pub options: Vec<String>,
    /// What led to it, and of which kind that is.
    pub error: Option<String>,
    pub error_type: Option<String>,
    /// What there is of the task's result all the same, as JSON text: whoever tries again builds on it.
    pub result: Option<String>,
    pub expires_at_ms: i64,
}

/// Puts a question to a person; the task gives up its claim and waits, and nothing else of its session is begun meanwhile.
pub fn ask(sql: &mut dyn Sql, claim: &Claim, new: &NewQuestion, at_ms: i64) -> Result<()> {
    let session = sessions::expect(sql, &claim.session_id)?;
    // Also where a gate was rejected and the pause that follows waits for those at work.
    let others_waiting = session.status == SessionState::AwaitingHuman;
    let settlement = Settlement {
        result: new.result.clone(),
        error_type: new.error_type.clone(),
        error_message: new.error.clone(),
        ..Settlement::default()
    };
    tasks::settle(sql, claim, TaskStep::Ask, &settlement, at_ms)?;
    sql.run(
        query!("humans_ask"),
        values![
            &new.id,
            &claim.session_id,
            &claim.task_id,
            new.kind.as_str(),
            &new.question,
            json!(new.options).to_string(),
            new.error.as_ref(),
            at_ms,
            new.expires_at_ms,
        ],
    )?;
    let context = json!({
        "task": claim.task_id,
        "question": new.question,
        "options": new.options,
        "error": new.error,
    });
    let mut told = context.clone();
    told["kind"] = json!(new.kind);
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::HumanAsked, at_ms, &told)?;
    if let Some(step) = gate::suspend(others_waiting).session {
        sessions::step(sql, &claim.session_id, step, at_ms)?;
        set_context(sql, &claim.session_id, Some(&context))?;
    }
    tasks::hold(sql, &claim.session_id)?;
    sessions::obey(sql, &claim.session_id, session.control, at_ms)
}

fn set_context(sql: &mut dyn Sql, session: &str, context: Option<&Json>) -> Result<()> {
    sql.run(
        query!("sessions_set_human_context"),
        values![session, context.map(Json::to_string)],
    )?;
    Ok(())
}

/// The question a session waits on, if it does.
pub fn waiting(sql: &mut dyn Sql, session: &str) -> Result<Option<HumanRequest>> {
    let row = sql.row(query!("humans_waiting"), values![session])?;
    row.as_ref().map(from_row).transpose()
}

/// Refuses what was meant for another question than the one that waits: it came twice, or too late.
pub fn expect_asked(sql: &mut dyn Sql, session: &str, question: Option<&str>) -> Result<()> {
    let Some(meant) = question else {
        return Ok(());
    };
    match waiting(sql, session)? {
        Some(asked) if asked.id != meant => bail!(AskedSomethingElse),
        _ => Ok(()),
    }
}

/// A word on a question that is not the one to be answered now.
#[derive(Debug)]
pub struct AskedSomethingElse;

impl std::fmt::Display for AskedSomethingElse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("that question no longer waits, or another one of the session comes before it: look at its questions first")
    }
}

impl std::error::Error for AskedSomethingElse {}

/// Everything ever asked in a session, oldest first.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<HumanRequest>> {
    let rows = sql.rows(query!("humans_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// Takes a person's answer; the task is ready again. At a gate, a word of consent or refusal is enough.
pub fn answer(sql: &mut dyn Sql, session: &str, answer: &str, at_ms: i64) -> Result<()> {
    let question = expect_waiting(sql, session, SessionStep::Answer)?;
    if question.kind == HumanKind::Gate {
        return match gate::word(answer) {
            Some(GateStep::Approve) => approve(sql, session, at_ms),
            Some(GateStep::Reject) => reject(sql, session, None, at_ms),
            _ => bail!(NoAnswer),
        };
    }
    settle(sql, &question, HumanStatus::Answered, Some(answer), at_ms)?;
    let facts = json!({"task": question.task_id, "question": question.question, "answer": answer});
    let about = About::session(session);
    events::add(sql, about, EventType::HumanAnswered, at_ms, &facts)?;
    go_on(sql, &question, at_ms)
}

/// An answer where a yes or no is wanted.
#[derive(Debug)]
pub struct NoAnswer;

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(
            "the session waits at a gate: approve it ('ralphd approve ID') or reject it ('ralphd reject ID REASON')",
        )
    }
}

impl std::error::Error for NoAnswer {}

/// Lets the task at the gate run.
pub fn approve(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    let gate = expect_gate(sql, session, GateStep::Approve)?;
    settle(sql, &gate, HumanStatus::Approved, None, at_ms)?;
    let about = About::session(session);
    let facts = json!({"task": gate.task_id});
    events::add(sql, about, EventType::HumanApproved, at_ms, &facts)?;
    go_on(sql, &gate, at_ms)
}

/// Says no at the gate: the session pauses with the reason; resumed, it asks again.
pub fn reject(sql: &mut dyn Sql, session: &str, reason: Option<&str>, at_ms: i64) -> Result<()> {
    let gate = expect_gate(sql, session, GateStep::Reject)?;
    settle(sql, &gate, HumanStatus::Rejected, reason, at_ms)?;
    let context = json!({"task": gate.task_id, "question": gate.question, "rejected": reason});
    let about = About::session(session);
    events::add(sql, about, EventType::HumanRejected, at_ms, &context)?;
    set_context(sql, session, Some(&context))?;
    if let Some(SessionStep::Pause) = GateStep::Reject.consequence(false).session {
        sessions::pause(sql, session, false, at_ms)?;
    }
    Ok(())
}

/// A session that a rejection paused goes on: its task is at the gate again.
pub(super) fn reopen_gates(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    for row in sql.rows(query!("humans_gates_shut"), values![session])? {
        if let Some(step) = GateStep::Reopen.consequence(false).task {
            tasks::step(sql, session, &row.text("id")?, step, at_ms)?;
        }
    }
    let waits = waiting(sql, session)?.map(|question| context_of(&question));
    set_context(sql, session, waits.as_ref())
}

/// Everything ever asked about one task, oldest first.
pub fn of_task(sql: &mut dyn Sql, session: &str, task: &str) -> Result<Vec<HumanRequest>> {
    let rows = sql.rows(query!("humans_of_task"), values![session, task])?;
    rows.iter().map(from_row).collect()
}

fn expect_waiting(sql: &mut dyn Sql, session: &str, step: SessionStep) -> Result<HumanRequest> {
    if let Some(question) = waiting(sql, session)? {
        return Ok(question);
    }
    let state = sessions::expect(sql, session)?.status;
    bail!(InvalidStep {
        from: state.as_str(),
        step: step.as_str()
    })
}

fn expect_gate(sql: &mut dyn Sql, session: &str, step: GateStep) -> Result<HumanRequest> {
    let asked = waiting(sql, session)?;
    if let Some(gate) = asked.as_ref().filter(|asked| asked.kind == HumanKind::Gate) {
        return Ok(gate.clone());
    }
    let state = sessions::expect(sql, session)?.status.as_str();
    bail!(InvalidStep {
        from: if asked.is_some() {
            "waiting for an answer"
        } else {
            state
        },
        step: step.as_str()
    })
}

fn settle(
    sql: &mut dyn Sql,
    question: &HumanRequest,
    status: HumanStatus,
    answer: Option<&str>,
    at_ms: i64,
) -> Result<()> {
    sql.run(
        query!("humans_answer"),
        values![&question.id, status.as_str(), answer, at_ms],
    )?;
    Ok(())
}

/// The task that was asked about is ready again, and with the last question the whole session.
fn go_on(sql: &mut dyn Sql, question: &HumanRequest, at_ms: i64) -> Result<()> {
    let session = &question.session_id;
    let next = waiting(sql, session)?;
    let follows = GateStep::Approve.consequence(next.is_some());
    if let Some(step) = follows.session {
        sessions::step(sql, session, step, at_ms)?;
        tasks::unhold(sql, session)?;
    }
    set_context(sql, session, next.as_ref().map(context_of).as_ref())?;
    if let (Some(task), Some(step)) = (&question.task_id, follows.task) {
        tasks::step(sql, session, task, step, at_ms)?;
    }
    Ok(())
}

fn context_of(question: &HumanRequest) -> Json {
    json!({
        "task": question.task_id,
        "question": question.question,
        "options": question.options,
        "error": question.error,
    })
}

/// Ends the sessions whose question nobody answered in time; returns their ids.
pub fn expire(sql: &mut dyn Sql, at_ms: i64) -> Result<Vec<String>> {
    let mut ended = Vec::new();
    for row in sql.rows(query!("humans_expired"), values![at_ms])? {
        let (id, session) = (row.text("id")?, row.text("session_id")?);
        let expired = sql.run(
            query!("humans_answer"),
            values![&id, HumanStatus::Expired.as_str(), None::<String>, at_ms],
        )?;
        // Withdrawn since: its session ended over another of its questions.
        if expired == 0 {
            continue;
        }
        let facts =
            json!({"task": row.optional_text("task_id")?, "question": row.text("question")?});
        let about = About::session(&session);
        events::add(sql, about, EventType::HumanExpired, at_ms, &facts)?;
        let detail = "nobody answered the question in time".to_owned();
        end_unanswered(sql, &session, detail, at_ms)?;
        ended.push(session);
    }
    Ok(ended)
}

/// What else of the session runs comes to its end first.
fn end_unanswered(sql: &mut dyn Sql, session: &str, detail: String, at_ms: i64) -> Result<()> {
    let reason = EndReason::HumanTimeout;
    if tasks::any_running(sql, session)? {
        return plans::call_back(sql, session, &CallBack::End(reason), &detail, at_ms);
    }
    let ending = Ending::new(SessionStep::Fail, reason, Some(detail));
    sessions::end(sql, session, &ending, at_ms)
}

/// When the next question runs out of time.
pub fn next_expiry(sql: &mut dyn Sql) -> Result<Option<i64>> {
    let row = sql.row(query!("humans_next_expiry"), &[])?;
    row.map_or(Ok(None), |row| row.optional_int("at_ms"))
}

pub(super) fn withdraw(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    while let Some(question) = waiting(sql, session)? {
        settle(sql, &question, HumanStatus::Withdrawn, None, at_ms)?;
    }
    set_context(sql, session, None)
}

fn from_row(row: &Row) -> Result<HumanRequest> {
    Ok(HumanRequest {
        id: row.text("id")?,
        session_id: row.text("session_id")?,
        task_id: row.optional_text("task_id")?,
        kind: row.word("kind")?,
        status: row.word("status")?,
        question: row.text("question")?,
        options: serde_json::from_str(&row.text("options")?).unwrap_or_default(),
        error: row.optional_text("error")?,
        answer: row.optional_text("answer")?,
        asked_at_ms: row.int("asked_at_ms")?,
        expires_at_ms: row.int("expires_at_ms")?,
    })
}
