//! What a person should know of a point: what was left out, what is large, what an agent let slip. It only reads.

use super::choose::is_secret_inside;
use super::facts::FileChange;
use super::ground::Ground;
use super::record::Moment;
use super::repository::Repository;
use super::survey::Survey;
use super::telling;
use crate::model::mask::Mask;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Named of each kind; the rest is counted.
const MAX_NAMED: usize = 10;

/// Of what was found in the tree.
pub fn of_survey(ground: &Ground, survey: &Survey) -> Vec<String> {
    let choice = &survey.choice;
    let mut left_out = choice.left_out.clone();
    if !ground.is_shadow() {
        let nested = choice.nested.iter();
        left_out.extend(nested.map(|path| format!("{} (a repository of its own)", path.display())));
    }
    [
        listed("left out of the commit", left_out),
        listed(
            "only the files are kept, not the commits, of the repositories inside",
            shown(&survey.entered),
        ),
        listed(
            "only the commit's name is kept, not the files, of the repositories inside",
            shown(&choice.links),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn listed(what: &str, mut names: Vec<String>) -> Option<String> {
    let count = names.len();
    names.truncate(MAX_NAMED);
    let more = match count - names.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (count > 0).then(|| format!("{what}: {}{more}", names.join(", ")))
}

/// Of what went into the point since the one before.
pub async fn of_files(
    repository: &Repository,
    files: Vec<FileChange>,
    moment: &Moment<'_>,
    agent_committed: bool,
) -> Result<Vec<String>> {
    let work_tree = repository.work_tree().to_owned();
    let large_bytes = moment.large_bytes;
    // Ours were looked at before they went in.
    let mask = agent_committed.then(|| moment.mask.clone());
    let look = move || of_each(&work_tree, &files, large_bytes, mask.as_ref());
    tokio::task::spawn_blocking(look)
        .await
        .context("the look at the files ended early")
}

fn of_each(
    work_tree: &Path,
    files: &[FileChange],
    large_bytes: u64,
    mask: Option<&Mask>,
) -> Vec<String> {
    let (mut large, mut binary, mut secret) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let path = work_tree.join(&file.path);
        let Ok(facts) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if facts.len() > large_bytes {
            large.push(format!("{} ({} MB)", file.path, facts.len() / 1_000_000));
        } else if file.added.is_none() {
            binary.push(file.path.clone());
        }
        let is_secret = |mask| telling::is_telling(&path) || is_secret_inside(&path, mask);
        if facts.is_file() && mask.is_some_and(is_secret) {
            secret.push(file.path.clone());
        }
    }
    [
        listed("large files in the commit", large),
        listed("binary files in the commit", binary),
        listed("the agent's own commit may hold a secret", secret),
    ]
    .into_iter()
    .flatten()
    .collect()
}
