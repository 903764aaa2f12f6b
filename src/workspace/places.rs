//! Where the repositories of workspaces are: in the directory itself, in that of a user, or beside a plain one.

use super::git::{Ground, Repository, Tool};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The directory of all workspaces that ralphd itself makes.
pub fn all(state: &Path) -> PathBuf {
    state.join("workspaces")
}

/// The repository that watches over a plain directory, beside it.
pub fn shadow_of(state: &Path, workspace: &Path) -> PathBuf {
    let mut names = workspace.iter().rev().take(2);
    let name = names.next().unwrap_or_default().to_string_lossy();
    let kind = names.next().unwrap_or_default().to_string_lossy();
    state.join("restore").join(format!("{kind}-{name}.git"))
}

/// The repository whose main tree a workspace is. Only a user's own checkout may be linked to another repository.
pub async fn repository(tool: &Tool, state: &Path, place: &Path) -> Result<Option<Repository>> {
    match place.starts_with(all(state)) {
        true => Repository::open(tool, place).await,
        false => Repository::in_place(tool, place).await,
    }
}

/// The points of a directory that has a repository.
pub async fn own_ground(tool: &Tool, state: &Path, place: &Path) -> Result<Ground> {
    let repository = repository(tool, state, place).await?;
    let lost = || format!("{} has lost its repository", place.display());
    repository.map(Ground::Own).with_context(lost)
}
