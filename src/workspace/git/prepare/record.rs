//! What a workspace was made from, kept in its `.git`, and the step that is under way: a step is written down before it is taken, so that
//! one that was cut off is taken again. An agent can write here; what it says is checked before it is used, and can only harm its own tree.

use super::Unprepared;
use crate::files;
use crate::model::git::check_reference;
use crate::workspace::git::repository::Repository;
use crate::workspace::git::tool::GitFailed;
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;

const FILE: &str = "ralphd-prepared";
const MAX_BYTES: u64 = 64 * 1024;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Record {
    pub source: String,
    /// As it was asked for.
    pub reference: Option<String>,
    /// The branch of the source whose news are taken over.
    pub follows: Option<String>,
    pub shallow: bool,
    /// Whose work was last begun here, from which commit, on which branch.
    pub session: String,
    pub base: Option<String>,
    pub branch: Option<String>,
    pub under_way: Option<Step>,
}

/// To a commit, on a branch or on none. Only taken where nobody's work is in the tree.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Step {
    pub branch: Option<String>,
    pub commit: String,
}

impl Record {
    /// What is known of a repository; nothing where it was not made by us.
    pub fn read(repository: &Repository) -> Option<Self> {
        let bytes = files::read_regular(&repository.git_dir().join(FILE), MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub fn write(&self, git_dir: &Path) -> Result<()> {
        files::write_whole(&git_dir.join(FILE), &serde_json::to_vec_pretty(self)?)
    }

    /// Takes a step, so that a crash at any point of it is mended by [`Record::finish`].
    pub async fn step(&mut self, repository: &Repository, step: Step) -> Result<()> {
        self.under_way = Some(step);
        self.write(repository.git_dir())?;
        self.finish(repository).await
    }

    /// Takes the step that is under way, if any, from whatever point it was cut off at.
    pub async fn finish(&mut self, repository: &Repository) -> Result<()> {
        let Some(step) = &self.under_way else {
            return Ok(());
        };
        step.take(repository).await?;
        self.under_way = None;
        self.write(repository.git_dir())
    }
}

impl Step {
    async fn take(&self, repository: &Repository) -> Result<()> {
        let is_id = self.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let branch_fits =
            |branch: &String| branch.starts_with('-') || check_reference(branch).is_ok();
        if !is_id || !self.branch.as_ref().is_none_or(branch_fits) {
            bail!(Unprepared(format!(
                "{} says what ralphd never wrote; remove the workspace",
                repository.git_dir().join(FILE).display()
            )));
        }
        match &self.branch {
            Some(branch) => {
                let full = format!("refs/heads/{branch}");
                repository
                    .call(["symbolic-ref", "HEAD", &full])
                    .done()
                    .await?;
            }
            None => {
                let words = ["update-ref", "--no-deref", "HEAD", &self.commit];
                repository.call(words).done().await?;
            }
        }
        let words = [
            "reset",
            "--hard",
            "--quiet",
            "--no-recurse-submodules",
            &self.commit,
        ];
        // As many workers as there are cores.
        let reset = repository.call(words).setting("checkout.workers", "0");
        reset
            .done()
            .await
            .map_err(|error| explain(error, &self.commit))
    }
}

/// Paths that would leave the tree, or reach into `.git`, are refused by git itself.
fn explain(error: anyhow::Error, commit: &str) -> anyhow::Error {
    match error.downcast_ref::<GitFailed>() {
        Some(failed) if failed.complaint.contains("invalid path") => Unprepared(format!(
            "commit {commit} cannot be checked out, it has files where none may be: {}",
            failed.complaint
        ))
        .into(),
        _ => error,
    }
}
