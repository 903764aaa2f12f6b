//! The verbs of the `deliveries` table: which deliveries of webhooks have become sessions, and which answers from inboxes have counted.

use super::driver::{Sql, values};
use super::query;
use anyhow::Result;

/// So long a delivery is known again: longer than any sender tries.
pub const KEPT_MS: i64 = 7 * 24 * 3600 * 1000;
/// Rows forgotten for each delivery that is remembered; more than it adds, so that the old ones do not pile up.
const FORGOTTEN_AT_ONCE: u32 = 20;

/// A delivery that was here before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The session that it became, as long as that is kept.
    pub session_id: Option<String>,
}

/// Whether a delivery was here before, by any of its keys.
pub fn find(sql: &mut dyn Sql, source: &str, keys: &[String]) -> Result<Option<Seen>> {
    for key in keys {
        if let Some(row) = sql.row(query!("deliveries_find"), values![source, key])? {
            let session_id = row.optional_text("session_id")?;
            return Ok(Some(Seen { session_id }));
        }
    }
    Ok(None)
}

/// Remembers a delivery that was not here before, and forgets some that were here long ago.
pub fn remember(
    sql: &mut dyn Sql,
    source: &str,
    keys: &[String],
    session: &str,
    at_ms: i64,
) -> Result<()> {
    let long_ago = at_ms - KEPT_MS;
    sql.run(
        query!("deliveries_forget"),
        values![long_ago, FORGOTTEN_AT_ONCE],
    )?;
    for key in keys {
        sql.run(
            query!("deliveries_add"),
            values![source, key, session, at_ms],
        )?;
    }
    Ok(())
}
