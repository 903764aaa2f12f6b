//! The verbs of the `workspaces` table: one session at a time in each directory, held until that session ends.

use super::driver::{Sql, values};
use super::query;
use anyhow::Result;

/// Whether a session may work in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    Yes,
    HeldBy(String),
}

/// Takes the directory for a session, or says who has it. Taking it twice is fine.
pub fn acquire(sql: &mut dyn Sql, path: &str, session: &str, at_ms: i64) -> Result<Acquired> {
    let changed = sql.run(query!("workspaces_acquire"), values![path, session, at_ms])?;
    if changed == 1 {
        return Ok(Acquired::Yes);
    }
    let row = sql.row(query!("workspaces_holder"), values![path])?;
    let holder = row.map_or(Ok(None), |row| row.optional_text("holder_session_id"))?;
    Ok(Acquired::HeldBy(holder.unwrap_or_default()))
}

/// Lets the agent of a task work in a directory that its session holds; false when another one's does.
pub fn sit_down(sql: &mut dyn Sql, path: &str, task: &str) -> Result<bool> {
    let changed = sql.run(query!("workspaces_sit_down"), values![path, task])?;
    Ok(changed == 1)
}

/// The workspaces below a directory that no session has any more.
pub fn unused(sql: &mut dyn Sql, directory: &str) -> Result<Vec<String>> {
    // '0' is the character after '/'.
    let (start, end) = (format!("{directory}/"), format!("{directory}0"));
    let rows = sql.rows(query!("workspaces_unused"), values![start, end])?;
    rows.iter().map(|row| row.text("path")).collect()
}

/// Gives back what a session held; tasks that waited for it are ready again.
pub(super) fn release(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    for row in sql.rows(query!("workspaces_held_by"), values![session])? {
        let path = row.text("path")?;
        sql.run(query!("workspaces_release"), values![&path, at_ms])?;
        sql.run(query!("tasks_workspace_free"), values![path])?;
    }
    Ok(())
}
