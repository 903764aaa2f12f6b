//! The verbs of the `tool_calls` table: what the agent's own tools did, as far as its stream shows it.
//! A turn may be read again from its start after a crash: a call's place in its turn is its identity, so that it is one row.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::query;
use crate::model::brief;
use crate::model::event::EventType;
use anyhow::Result;
use serde_json::json;

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct NewToolCall {
    /// Its place in the turn, from 1.
    pub position: i64,
    pub name: String,
    /// JSON.
    pub arguments: Option<String>,
    pub result: Option<String>,
    pub ok: Option<bool>,
    pub duration_ms: Option<i64>,
    pub retries: i64,
}

/// Adds the calls that are not there yet.
pub fn add(
    sql: &mut dyn Sql,
    (session, task, iteration): (&str, &str, &str),
    calls: &[NewToolCall],
    at_ms: i64,
) -> Result<()> {
    for call in calls {
        let added = sql.run(
            query!("tool_calls_add"),
            values![
                format!("{iteration}.{:06}", call.position),
                session,
                task,
                iteration,
                &call.name,
                call.arguments.as_ref(),
                call.result.as_ref(),
                call.ok,
                call.duration_ms,
                at_ms,
                call.retries,
            ],
        )?;
        if added == 1 {
            let about = call.arguments.as_deref().and_then(brief::of_arguments);
            let facts = json!({
                "name": call.name,
                "about": about,
                "ok": call.ok,
                "duration_ms": call.duration_ms,
            });
            let about = About::task(session, task);
            events::add(sql, about, EventType::ToolCalled, at_ms, &facts)?;
        }
    }
    Ok(())
}

/// A tool call as stored, without what was said in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    pub id: String,
    pub task_id: String,
    pub iteration_id: Option<String>,
    pub name: String,
    pub ok: Option<bool>,
    pub duration_ms: Option<i64>,
    pub started_at_ms: i64,
}

/// The tool calls of a session, in their order.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<ToolCall>> {
    let rows = sql.rows(query!("tool_calls_of_session"), values![session])?;
    let call = |row: &Row| {
        Ok(ToolCall {
            id: row.text("id")?,
            task_id: row.text("task_id")?,
            iteration_id: row.optional_text("iteration_id")?,
            name: row.text("name")?,
            ok: row.optional_int("ok")?.map(|ok| ok == 1),
            duration_ms: row.optional_int("duration_ms")?,
            started_at_ms: row.int("started_at_ms")?,
        })
    };
    rows.iter().map(call).collect()
}
