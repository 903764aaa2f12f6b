//! The verbs of the `workspaces` table: one session at a time in each directory, held until that session ends; and the trees of tasks
//! beside it.

use super::driver::{Row, Sql, values};
use super::query;
use crate::clock::iso;
use anyhow::Result;

/// Whether a session may work in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    Yes,
    HeldBy(Holder),
}

/// Who works in a directory, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub session_id: String,
    pub since_ms: i64,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = iso(self.since_ms);
        write!(
            formatter,
            "session locked by run {} since {since}",
            self.session_id
        )
    }
}

impl std::error::Error for Holder {}

/// A directory as stored.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Workspace {
    pub path: String,
    pub branch: Option<String>,
    /// The workspace that it is a tree of, for one task.
    pub main_path: Option<String>,
    pub task_id: Option<String>,
    pub holder_session_id: Option<String>,
    pub held_since_ms: Option<i64>,
    pub untidy_session_id: Option<String>,
    pub created_at_ms: i64,
    pub used_at_ms: i64,
}

/// A directory and who has to do with it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Known {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// Sessions that have not ended, working in it or waiting for it.
    pub open_count: i64,
    pub last_session_id: Option<String>,
}

/// The tree of a task beside its session's workspace.
#[derive(Clone, Debug)]
pub struct NewTree {
    pub path: String,
    pub main_path: String,
    pub task_id: String,
    pub session_id: String,
    pub branch: String,
}

/// Takes the directory for a session, or says who has it. Taking it twice is fine.
pub fn acquire(sql: &mut dyn Sql, path: &str, session: &str, at_ms: i64) -> Result<Acquired> {
    let changed = sql.run(query!("workspaces_acquire"), values![path, session, at_ms])?;
    if changed == 1 {
        return Ok(Acquired::Yes);
    }
    let row = sql.row(query!("workspaces_get"), values![path])?;
    let held = row.as_ref().map(from_row).transpose()?;
    Ok(Acquired::HeldBy(Holder {
        session_id: held
            .as_ref()
            .and_then(|held| held.holder_session_id.clone())
            .unwrap_or_default(),
        since_ms: held.and_then(|held| held.held_since_ms).unwrap_or(at_ms),
    }))
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

/// All directories that sessions have worked in, and who has to do with each.
pub fn all(sql: &mut dyn Sql) -> Result<Vec<Known>> {
    let rows = sql.rows(query!("workspaces_all"), &[])?;
    rows.iter()
        .map(|row| {
            Ok(Known {
                workspace: from_row(row)?,
                open_count: row.int("open_count")?,
                last_session_id: row.optional_text("last_session_id")?,
            })
        })
        .collect()
}

/// One directory.
pub fn get(sql: &mut dyn Sql, path: &str) -> Result<Option<Workspace>> {
    let row = sql.row(query!("workspaces_get"), values![path])?;
    row.as_ref().map(from_row).transpose()
}

/// Remembers the branch that is worked on.
pub fn set_branch(sql: &mut dyn Sql, path: &str, branch: Option<&str>) -> Result<()> {
    sql.run(query!("workspaces_set_branch"), values![path, branch])?;
    Ok(())
}

/// Remembers the tree of a task; not before it is in the rows is it made, so that none is ever forgotten.
pub fn add_tree(sql: &mut dyn Sql, tree: &NewTree, at_ms: i64) -> Result<()> {
    sql.run(
        query!("workspaces_add_tree"),
        values![
            &tree.path,
            &tree.main_path,
            &tree.task_id,
            &tree.branch,
            &tree.session_id,
            at_ms,
        ],
    )?;
    Ok(())
}

/// The trees beside a workspace.
pub fn trees(sql: &mut dyn Sql, main_path: &str) -> Result<Vec<Workspace>> {
    let rows = sql.rows(query!("workspaces_trees"), values![main_path])?;
    rows.iter().map(from_row).collect()
}

/// Notes that something is left to do in a directory when a session has ended; with none, that it is done.
pub fn set_untidy(sql: &mut dyn Sql, path: &str, session: Option<&str>) -> Result<()> {
    sql.run(query!("workspaces_set_untidy"), values![path, session])?;
    Ok(())
}

/// Where something is left to do after a session that has ended.
pub fn untidy(sql: &mut dyn Sql) -> Result<Vec<Workspace>> {
    let rows = sql.rows(query!("workspaces_untidy"), &[])?;
    rows.iter().map(from_row).collect()
}

/// The directory is gone. One that a session holds stays known.
pub fn forget(sql: &mut dyn Sql, path: &str) -> Result<bool> {
    Ok(sql.run(query!("workspaces_forget"), values![path])? == 1)
}

/// Gives back what a session held; tasks that waited for it are ready again.
pub fn release(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    for row in sql.rows(query!("workspaces_held_by"), values![session])? {
        let_go(sql, &row.text("path")?, at_ms)?;
    }
    Ok(())
}

/// Gives one directory back, where that session holds it.
pub fn release_one(sql: &mut dyn Sql, path: &str, session: &str, at_ms: i64) -> Result<()> {
    let holder = get(sql, path)?.and_then(|held| held.holder_session_id);
    match holder.as_deref() == Some(session) {
        true => let_go(sql, path, at_ms),
        false => Ok(()),
    }
}

/// What was left held by those who died over something short, begun before a time.
pub fn left_held(sql: &mut dyn Sql, before_ms: i64) -> Result<Vec<String>> {
    let rows = sql.rows(query!("workspaces_left_held"), values![before_ms])?;
    rows.iter().map(|row| row.text("path")).collect()
}

/// Gives these directories back, whoever has them.
pub fn free(sql: &mut dyn Sql, paths: &[String], at_ms: i64) -> Result<()> {
    paths.iter().try_for_each(|path| let_go(sql, path, at_ms))
}

fn let_go(sql: &mut dyn Sql, path: &str, at_ms: i64) -> Result<()> {
    sql.run(query!("workspaces_release"), values![path, at_ms])?;
    sql.run(query!("tasks_workspace_free"), values![path])?;
    Ok(())
}

fn from_row(row: &Row) -> Result<Workspace> {
    Ok(Workspace {
        path: row.text("path")?,
        branch: row.optional_text("branch")?,
        main_path: row.optional_text("main_path")?,
        task_id: row.optional_text("task_id")?,
        holder_session_id: row.optional_text("holder_session_id")?,
        held_since_ms: row.optional_int("held_since_ms")?,
        untidy_session_id: row.optional_text("untidy_session_id")?,
        created_at_ms: row.int("created_at_ms")?,
        used_at_ms: row.int("used_at_ms")?,
    })
}
