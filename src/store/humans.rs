//! The verbs of the `human_requests` table: ask, answer, expire, withdraw.
//! A question and the session's `awaiting_human` come and go in one transaction.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::query;
use super::sessions::{self, Ending};
use super::tasks::{self, Claim, Settlement};
use crate::model::event::EventType;
use crate::model::session::{EndReason, InvalidStep, SessionStep};
use crate::model::task::TaskStep;
use crate::model::words::words;
use anyhow::{Result, bail};
use serde_json::json;

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
#[derive(Clone, Debug, serde::Serialize)]
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
    pub error: Option<String>,
    pub expires_at_ms: i64,
}

/// Puts a question to a person; the task gives up its claim and waits.
pub fn ask(sql: &mut dyn Sql, claim: &Claim, new: &NewQuestion, at_ms: i64) -> Result<()> {
    let wish = sessions::expect(sql, &claim.session_id)?.control;
    tasks::settle(sql, claim, TaskStep::Ask, &Settlement::default(), at_ms)?;
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
    sessions::step(sql, &claim.session_id, SessionStep::Ask, at_ms)?;
    sql.run(
        query!("sessions_set_human_context"),
        values![&claim.session_id, context.to_string()],
    )?;
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::HumanAsked, at_ms, &context)?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}

/// The question a session waits on, if it does.
pub fn waiting(sql: &mut dyn Sql, session: &str) -> Result<Option<HumanRequest>> {
    let row = sql.row(query!("humans_waiting"), values![session])?;
    row.as_ref().map(from_row).transpose()
}

/// Everything ever asked in a session, oldest first.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<HumanRequest>> {
    let rows = sql.rows(query!("humans_of_session"), values![session])?;
    rows.iter().map(from_row).collect()
}

/// Takes a person's answer; the task is ready again.
pub fn answer(sql: &mut dyn Sql, session: &str, answer: &str, at_ms: i64) -> Result<()> {
    let Some(question) = waiting(sql, session)? else {
        let state = sessions::expect(sql, session)?.status;
        bail!(InvalidStep {
            from: state.as_str(),
            step: SessionStep::Answer.as_str()
        });
    };
    sessions::step(sql, session, SessionStep::Answer, at_ms)?;
    sql.run(
        query!("humans_answer"),
        values![&question.id, HumanStatus::Answered.as_str(), answer, at_ms],
    )?;
    sql.run(
        query!("sessions_set_human_context"),
        values![session, None::<String>],
    )?;
    let facts = json!({"question": question.question, "answer": answer});
    events::add(
        sql,
        About::session(session),
        EventType::HumanAnswered,
        at_ms,
        &facts,
    )?;
    if let Some(task) = &question.task_id {
        tasks::step(sql, session, task, TaskStep::Answer, at_ms)?;
    }
    Ok(())
}

/// Ends the sessions whose question nobody answered in time; returns their ids.
pub fn expire(sql: &mut dyn Sql, at_ms: i64) -> Result<Vec<String>> {
    let mut ended = Vec::new();
    for row in sql.rows(query!("humans_expired"), values![at_ms])? {
        let (id, session) = (row.text("id")?, row.text("session_id")?);
        sql.run(
            query!("humans_answer"),
            values![&id, HumanStatus::Expired.as_str(), None::<String>, at_ms],
        )?;
        events::add(
            sql,
            About::session(&session),
            EventType::HumanExpired,
            at_ms,
            &json!({}),
        )?;
        let detail = Some("nobody answered the question in time".to_owned());
        let ending = Ending::new(SessionStep::Fail, EndReason::HumanTimeout, detail);
        sessions::end(sql, &session, &ending, at_ms)?;
        ended.push(session);
    }
    Ok(ended)
}

/// When the next question runs out of time.
pub fn next_expiry(sql: &mut dyn Sql) -> Result<Option<i64>> {
    let row = sql.row(query!("humans_next_expiry"), &[])?;
    row.map_or(Ok(None), |row| row.optional_int("at_ms"))
}

pub(super) fn withdraw(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    if let Some(question) = waiting(sql, session)? {
        let status = HumanStatus::Withdrawn.as_str();
        sql.run(
            query!("humans_answer"),
            values![&question.id, status, None::<String>, at_ms],
        )?;
    }
    Ok(())
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
