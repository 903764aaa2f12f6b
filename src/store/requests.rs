//! The verbs of the `requests` table, the way in for `sqlite3`: what waits there, and what became of it.

use super::driver::{Sql, values};
use super::query;
use anyhow::Result;

/// A request that somebody inserted by hand.
#[derive(Clone, Debug)]
pub struct RawRequest {
    pub id: i64,
    pub body: String,
    pub bytes: i64,
}

/// Requests that nobody has looked at yet, oldest first.
pub fn untaken(sql: &mut dyn Sql, limit: u32) -> Result<Vec<RawRequest>> {
    let rows = sql.rows(query!("requests_untaken"), values![limit])?;
    rows.iter()
        .map(|row| {
            Ok(RawRequest {
                id: row.int("id")?,
                body: row.text("body")?,
                bytes: row.int("bytes")?,
            })
        })
        .collect()
}

/// Answers a request: with its session, or with the reason why there is none. False when somebody else was first.
pub fn take(sql: &mut dyn Sql, id: i64, outcome: Result<&str, &str>, at_ms: i64) -> Result<bool> {
    let (session, error) = match outcome {
        Ok(session) => (Some(session), None),
        Err(error) => (None, Some(error)),
    };
    let changed = sql.run(query!("requests_take"), values![id, session, error, at_ms])?;
    Ok(changed == 1)
}
