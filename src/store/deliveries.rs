//! The verbs of the `deliveries` table: which deliveries of webhooks have become sessions, and which acts on sessions have counted that may
//! come again.

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

/// Whether a delivery was here before, by any of its keys, as long as it is known.
pub fn find(sql: &mut dyn Sql, source: &str, keys: &[String], at_ms: i64) -> Result<Option<Seen>> {
    let long_ago = at_ms - KEPT_MS;
    for key in keys {
        if let Some(row) = sql.row(query!("deliveries_find"), values![source, key, long_ago])? {
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

/// Does what was not done before under this key, and remembers the session that it was done to; else finds that.
pub fn once(
    sql: &mut dyn Sql,
    source: &str,
    key: &str,
    at_ms: i64,
    act: impl FnOnce(&mut dyn Sql) -> Result<String>,
) -> Result<String> {
    let keys = [key.to_owned()];
    let seen = find(sql, source, &keys, at_ms)?;
    if let Some(session) = seen.and_then(|seen| seen.session_id) {
        return Ok(session);
    }
    let session = act(sql)?;
    remember(sql, source, &keys, &session, at_ms)?;
    Ok(session)
}
