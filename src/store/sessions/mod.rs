//! The verbs of the `sessions` table: make, find, list; `life` has the steps from its making to its end.

mod find;
mod life;
mod tree;

pub use find::{NotFound, Wanted, list, resolve};
pub(in crate::store) use life::start;
pub use life::{Applied, Ending, Tally, cancel, control, end, obey, pause, resume, step};
pub(in crate::store) use tree::cancel_children;
pub use tree::{any_open_of_task, asking_below, lineage, of_errand, of_parent, of_task, root};

use crate::model::event::EventType;
use crate::model::session::{Control, EndReason, SessionState, Trigger, Verified};
use crate::model::task::TaskKind;
use crate::store::driver::{Row, Sql, values};
use crate::store::events::{self, About};
use crate::store::workspaces::{self, Acquired};
use crate::store::{query, tasks};
use anyhow::{Context, Result, bail};
use serde_json::Value as Json;

/// A session as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Session {
    pub id: String,
    pub status: SessionState,
    pub control: Option<Control>,
    pub end_reason: Option<EndReason>,
    pub end_detail: Option<String>,
    pub objective: String,
    pub agent: String,
    pub trigger: Trigger,
    pub origin: String,
    pub dedupe_key: Option<String>,
    pub request: Json,
    pub max_iterations: i64,
    pub completion_promise: String,
    pub iteration_count: i64,
    pub verified: Option<Verified>,
    pub task_count: i64,
    pub completed_task_count: i64,
    pub failed_task_count: i64,
    pub final_answer: Option<String>,
    pub human_context: Option<Json>,
    pub plan: Option<Json>,
    pub cost_usd: f64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub tool_call_count: i64,
    pub parent_session_id: Option<String>,
    pub parent_task_id: Option<String>,
    pub follows_session_id: Option<String>,
    pub depth: i64,
    pub workspace: String,
    /// The point of another session that it started from.
    pub fork: Option<Json>,
    #[serde(skip)]
    pub protected: Option<Json>,
    pub waited_ms: i64,
    #[serde(skip)]
    pub waiting_since_ms: Option<i64>,
    pub created_at_ms: i64,
    pub started_at_ms: Option<i64>,
    pub ended_at_ms: Option<i64>,
    #[serde(skip)]
    pub reported_at_ms: Option<i64>,
}

/// What is needed to make a session with its first task: the one `agent` task, or the one that plans the others.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub id: String,
    pub task_id: String,
    pub objective: String,
    pub agent: String,
    pub trigger: Trigger,
    pub origin: String,
    pub dedupe_key: Option<String>,
    /// As JSON text, made by the caller: the one writer is what all wait for.
    pub request: String,
    pub max_iterations: i64,
    pub completion_promise: String,
    pub planned: bool,
    /// The session it works for.
    pub parent: Option<Parent>,
    pub follows_session_id: Option<String>,
    pub workspace: String,
    /// The point of another session that it starts from.
    pub fork: Option<Fork>,
    pub protected: Option<Json>,
    pub priority: i64,
    pub not_before_ms: Option<i64>,
    pub created_at_ms: i64,
    /// It is made only where its workspace is free, and takes that with it.
    pub no_wait: bool,
    /// A foreground run takes its own task at birth, so that no daemon does.
    pub claimed_by: Option<tasks::Birthright>,
}

/// The point of a session that another starts from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fork {
    pub session: String,
    pub number: i64,
    /// The iterations that were counted by then.
    pub iteration_count: i64,
}

/// For whom a sub-agent works.
#[derive(Clone, Debug)]
pub struct Parent {
    pub session_id: String,
    pub task_id: String,
    /// How deep the new session is.
    pub depth: u32,
}

/// What the event of its making says.
#[derive(serde::Serialize)]
struct Birth<'a> {
    trigger: Trigger,
    agent: &'a str,
    origin: &'a str,
}

/// What became of a request for a new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    New(String),
    /// The same dedupe key was there before.
    Already(String),
}

impl Created {
    /// The id of the session that stands for the request.
    pub fn id(&self) -> &str {
        match self {
            Created::New(id) | Created::Already(id) => id,
        }
    }
}

/// Makes a session and its task, or finds the one made earlier under the same dedupe key.
pub fn create(sql: &mut dyn Sql, new: &NewSession) -> Result<Created> {
    if let Some(key) = &new.dedupe_key
        && let Some(row) = sql.row(query!("sessions_by_dedupe_key"), values![key])?
    {
        return Ok(Created::Already(row.text("id")?));
    }
    let parent = new.parent.as_ref();
    sql.run(
        query!("sessions_create"),
        values![
            &new.id,
            &new.objective,
            &new.agent,
            new.trigger.as_str(),
            &new.origin,
            new.dedupe_key.as_ref(),
            &new.request,
            new.max_iterations,
            &new.completion_promise,
            parent.map(|parent| &parent.session_id),
            new.follows_session_id.as_ref(),
            parent.map_or(0, |parent| parent.depth),
            &new.workspace,
            new.protected.as_ref().map(Json::to_string),
            new.created_at_ms,
            parent.map(|parent| &parent.task_id),
            // What a plan will hold is counted when it is there.
            !new.planned,
            new.fork
                .as_ref()
                .map(|fork| serde_json::json!(fork).to_string()),
            new.fork.as_ref().map_or(0, |fork| fork.iteration_count),
        ],
    )?;
    events::add_named(
        sql,
        About::session(&new.id),
        "session.created",
        new.created_at_ms,
        &Birth {
            trigger: new.trigger,
            agent: &new.agent,
            origin: &new.origin,
        },
    )?;
    tasks::create_first(sql, new)?;
    if new.no_wait
        && let Acquired::HeldBy(holder) =
            workspaces::acquire(sql, &new.workspace, &new.id, new.created_at_ms)?
    {
        bail!(holder);
    }
    if let Some(parent) = parent {
        let facts =
            serde_json::json!({"session": new.id, "agent": new.agent, "depth": parent.depth});
        let about = About::task(&parent.session_id, &parent.task_id);
        let at_ms = new.created_at_ms;
        events::add(sql, about, EventType::SubAgentSpawned, at_ms, &facts)?;
    }
    if new.claimed_by.is_some() {
        let kind = match new.planned {
            true => TaskKind::Plan,
            false => TaskKind::Agent,
        };
        start(sql, &new.id, kind, new.created_at_ms)?;
    }
    Ok(Created::New(new.id.clone()))
}

/// The session with exactly this id.
pub fn get(sql: &mut dyn Sql, id: &str) -> Result<Option<Session>> {
    let row = sql.row(query!("sessions_get"), values![id])?;
    row.as_ref().map(from_row).transpose()
}

/// The session with exactly this id, which must be there.
pub fn expect(sql: &mut dyn Sql, id: &str) -> Result<Session> {
    get(sql, id)?.with_context(|| format!("session {id} is gone"))
}

/// Sessions that have not ended, newest first.
pub fn open(sql: &mut dyn Sql, limit: u32) -> Result<Vec<Session>> {
    let rows = sql.rows(query!("sessions_open"), values![limit])?;
    rows.iter().map(from_row).collect()
}

/// The wishes that running loops have not obeyed yet.
pub fn controlled(sql: &mut dyn Sql) -> Result<Vec<(String, Control)>> {
    let rows = sql.rows(query!("sessions_controlled"), &[])?;
    rows.iter()
        .map(|row| Ok((row.text("id")?, row.word("control")?)))
        .collect()
}

/// Remembers how the protected files were before the agent came; the first memory stays.
pub fn set_protected(sql: &mut dyn Sql, id: &str, hashes: &Json) -> Result<()> {
    sql.run(
        query!("sessions_set_protected"),
        values![id, hashes.to_string()],
    )?;
    Ok(())
}

/// Remembers how far the work may be believed, once all of it was checked.
pub fn set_verified(sql: &mut dyn Sql, id: &str, verified: Verified) -> Result<()> {
    sql.run(
        query!("sessions_set_verified"),
        values![id, verified.as_str()],
    )?;
    Ok(())
}

/// Ended sessions whose outbox file is still owed, oldest first.
pub fn unreported(sql: &mut dyn Sql, limit: u32) -> Result<Vec<Session>> {
    let rows = sql.rows(query!("sessions_unreported"), values![limit])?;
    rows.iter().map(from_row).collect()
}

/// The outbox file is written.
pub fn set_reported(sql: &mut dyn Sql, id: &str, at_ms: i64) -> Result<()> {
    sql.run(query!("sessions_set_reported"), values![id, at_ms])?;
    Ok(())
}

/// How many sessions have not ended.
pub fn count_open(sql: &mut dyn Sql) -> Result<i64> {
    let row = sql.row(query!("sessions_count_open"), &[])?;
    row.context("no count of sessions")?.int("count")
}

/// Deletes up to `limit` reported sessions that ended before `before_ms`, with all that belongs to them; returns their ids.
pub fn prune(sql: &mut dyn Sql, before_ms: i64, limit: u32) -> Result<Vec<String>> {
    let rows = sql.rows(query!("sessions_prunable"), values![before_ms, limit])?;
    let mut pruned = Vec::with_capacity(rows.len());
    for row in rows {
        let id = row.text("id")?;
        sql.run(query!("events_forget"), values![&id])?;
        sql.run(query!("sessions_delete"), values![&id])?;
        pruned.push(id);
    }
    Ok(pruned)
}

fn from_row(row: &Row) -> Result<Session> {
    Ok(Session {
        id: row.text("id")?,
        status: row.word("status")?,
        control: row.optional_word("control")?,
        end_reason: row.optional_word("end_reason")?,
        end_detail: row.optional_text("end_detail")?,
        objective: row.text("objective")?,
        agent: row.text("agent")?,
        trigger: row.word("trigger")?,
        origin: row.text("origin")?,
        dedupe_key: row.optional_text("dedupe_key")?,
        request: row.optional_json("request")?.unwrap_or(Json::Null),
        max_iterations: row.int("max_iterations")?,
        completion_promise: row.text("completion_promise")?,
        iteration_count: row.int("iteration_count")?,
        verified: row.optional_word("verified")?,
        task_count: row.int("task_count")?,
        completed_task_count: row.int("completed_task_count")?,
        failed_task_count: row.int("failed_task_count")?,
        final_answer: row.optional_text("final_answer")?,
        human_context: row.optional_json("human_context")?,
        plan: row.optional_json("plan")?,
        cost_usd: row.optional_real("cost_usd")?.unwrap_or_default(),
        input_tokens: row.int("input_tokens")?,
        output_tokens: row.int("output_tokens")?,
        tool_call_count: row.int("tool_call_count")?,
        parent_session_id: row.optional_text("parent_session_id")?,
        parent_task_id: row.optional_text("parent_task_id")?,
        follows_session_id: row.optional_text("follows_session_id")?,
        depth: row.int("depth")?,
        workspace: row.text("workspace")?,
        fork: row.optional_json("fork")?,
        protected: row.optional_json("protected")?,
        waited_ms: row.int("waited_ms")?,
        waiting_since_ms: row.optional_int("waiting_since_ms")?,
        created_at_ms: row.int("created_at_ms")?,
        started_at_ms: row.optional_int("started_at_ms")?,
        ended_at_ms: row.optional_int("ended_at_ms")?,
        reported_at_ms: row.optional_int("reported_at_ms")?,
    })
}
