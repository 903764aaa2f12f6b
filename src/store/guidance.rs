//! The verbs of the `guidance` table: what a person tells a session while it works, and whether it was read.

use super::driver::{Sql, values};
use super::events::{self, About};
use super::{query, sessions};
use crate::clock::new_id;
use crate::model::event::EventType;
use crate::model::session::InvalidStep;
use anyhow::{Result, bail};
use serde_json::json;

/// A word from a person.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Guidance {
    pub id: String,
    pub text: String,
    pub told_at_ms: i64,
    pub read_iteration_id: Option<String>,
}

/// Tells a session something; its next iteration reads it. A session that has ended cannot be told anything.
pub fn tell(sql: &mut dyn Sql, session: &str, text: &str, at_ms: i64) -> Result<()> {
    let status = sessions::expect(sql, session)?.status;
    if status.is_terminal() {
        bail!(InvalidStep {
            from: status.as_str(),
            step: "tell"
        });
    }
    sql.run(
        query!("guidance_tell"),
        values![new_id(), session, text, at_ms],
    )?;
    let facts = json!({"text": text});
    events::add(
        sql,
        About::session(session),
        EventType::GuidanceTold,
        at_ms,
        &facts,
    )
}

/// Everything a session was told, oldest first.
pub fn of_session(sql: &mut dyn Sql, session: &str) -> Result<Vec<Guidance>> {
    let rows = sql.rows(query!("guidance_of_session"), values![session])?;
    rows.iter()
        .map(|row| {
            Ok(Guidance {
                id: row.text("id")?,
                text: row.text("text")?,
                told_at_ms: row.int("told_at_ms")?,
                read_iteration_id: row.optional_text("read_iteration_id")?,
            })
        })
        .collect()
}

pub(super) fn mark_read(sql: &mut dyn Sql, ids: &[String], iteration: &str) -> Result<()> {
    for id in ids {
        sql.run(query!("guidance_read"), values![id, iteration])?;
    }
    Ok(())
}
