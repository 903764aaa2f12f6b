//! The verbs of the `bookmarks` table: how far the history was read by those who go through it once.

use super::driver::{Sql, values};
use super::query;
use anyhow::Result;

/// How far a reader was; nothing where it never read.
pub fn get(sql: &mut dyn Sql, reader: &str) -> Result<Option<i64>> {
    let row = sql.row(query!("bookmarks_get"), values![reader])?;
    row.map(|row| row.int("seq")).transpose()
}

/// A reader has gone through all up to a number. Never back: two may read at once.
pub fn move_to(sql: &mut dyn Sql, reader: &str, upto: i64) -> Result<()> {
    sql.run(query!("bookmarks_move"), values![reader, upto])?;
    Ok(())
}
