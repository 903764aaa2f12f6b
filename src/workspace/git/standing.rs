//! Whether a repository holds anything that is nowhere else: files in no commit, commits that its source does not have. Only looks.

use super::repository::Repository;
use super::tool::Tool;
use anyhow::Result;
use std::collections::HashSet;
use std::path::Path;

/// Named in words; beyond that they are counted.
const MAX_NAMED: usize = 5;

/// What would be lost with a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Changed or untracked files, the letters of agents aside.
    pub uncommitted: Vec<String>,
    /// Branches with commits that the source does not have; not those that are whole in another of them.
    pub unmerged: Vec<String>,
}

impl Holdings {
    /// What would be lost, in words; nothing where nothing would.
    pub fn in_words(&self) -> Option<String> {
        let list = |names: &[String]| {
            let shown = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>();
            match names.len().saturating_sub(MAX_NAMED) {
                0 => shown.join(", "),
                more => format!("{} and {more} more", shown.join(", ")),
            }
        };
        let uncommitted = (!self.uncommitted.is_empty())
            .then(|| format!("uncommitted: {}", list(&self.uncommitted)));
        let unmerged =
            (!self.unmerged.is_empty()).then(|| format!("unmerged: {}", list(&self.unmerged)));
        let words: Vec<String> = uncommitted.into_iter().chain(unmerged).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// What a repository holds that is nowhere else. `source` is the directory it was cloned from, where that is on this machine.
pub async fn holdings(
    repository: &Repository,
    source: Option<&Path>,
    letters: &str,
) -> Result<Holdings> {
    let status = ["status", "--porcelain=v1", "-z", "--untracked-files=normal"];
    let said = repository.call(status).bytes().await?;
    let mut uncommitted = Vec::new();
    let mut entries = said.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        let Some((state, name)) = entry.split_at_checked(3) else {
            continue;
        };
        // A rename is followed by the name it had before.
        if state.starts_with(b"R") || state.starts_with(b"C") {
            entries.next();
        }
        let name = String::from_utf8_lossy(name).into_owned();
        if name != format!("{letters}/") && !name.starts_with(&format!("{letters}/")) {
            uncommitted.push(name);
        }
    }
    let unmerged = unmerged(repository, source).await?;
    Ok(Holdings {
        uncommitted,
        unmerged,
    })
}

async fn unmerged(repository: &Repository, source: Option<&Path>) -> Result<Vec<String>> {
    let form = "--format=%(objectname) %(refname:short)";
    let heads = repository.call(["for-each-ref", form, "refs/heads"]);
    let mut unmerged = Vec::new();
    for line in heads.text().await?.lines() {
        let Some((commit, branch)) = line.split_once(' ') else {
            continue;
        };
        let words = [
            "rev-list",
            "--max-count=1",
            commit,
            "--not",
            "--remotes=origin",
        ];
        let own = !repository.call(words).text().await?.is_empty();
        if own && !source_has(repository.tool(), source, commit).await? {
            unmerged.push((commit.to_owned(), branch.to_owned()));
        }
    }
    outermost(repository, unmerged).await
}

/// The branches that hold the others: a task's whose work is in the working branch need not be named beside it.
async fn outermost(
    repository: &Repository,
    branches: Vec<(String, String)>,
) -> Result<Vec<String>> {
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    let commits = branches.iter().map(|(commit, _)| commit.as_str());
    let words = ["merge-base", "--independent"].into_iter().chain(commits);
    let said = repository.call(words).text().await?;
    let mut outermost: HashSet<&str> = said.lines().collect();
    // Of several at the same commit one is named.
    let named = branches
        .iter()
        .filter(|(commit, _)| outermost.remove(commit.as_str()));
    Ok(named.map(|(_, name)| name.clone()).collect())
}

/// Whether the source has a commit on any of its branches.
async fn source_has(tool: &Tool, source: Option<&Path>, commit: &str) -> Result<bool> {
    let Some(source) = source else {
        return Ok(false);
    };
    let git_dir = match source.join(super::DOT_GIT) {
        dot_git if dot_git.is_dir() => dot_git,
        _ => source.to_owned(),
    };
    if !git_dir.join("HEAD").exists() {
        return Ok(false);
    }
    let source = Repository::beside(tool, &git_dir, source).await?;
    if source.commit_of(commit).await?.is_none() {
        return Ok(false);
    }
    let words = ["for-each-ref", "--count=1", "--contains", commit];
    Ok(!source.call(words).text().await?.is_empty())
}
