//! What a tree holds that its newest commit does not, sorted: the look and the choice together. It must not change the tree.

use super::choose::{Choice, Rules, choose, whose_state};
use super::ground::Ground;
use super::look::{Entry, Look, look};
use super::repository::{DOT_GIT, Repository};
use super::stage::Stage;
use super::telling;
use super::tool::GitFailed;
use crate::model::mask::Mask;
use crate::workspace::letters;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What one point of a plain directory may hold anew.
const MAX_FILES: usize = 200_000;
const MAX_BYTES: u64 = 2 << 30;
/// Repositories inside of repositories inside of a plain directory.
const MAX_NESTED: usize = 16;
/// Where the first file of a repository is looked for.
const MAX_LOOKED_AT: usize = 1_000;

pub struct Survey {
    pub look: Look,
    pub choice: Choice,
    /// Repositories in a plain directory that are met for the first time.
    pub entered: Vec<PathBuf>,
}

/// Nothing where a plain directory holds too much.
pub async fn survey(ground: &Ground, mask: &Mask, keep_tracked: bool) -> Result<Option<Survey>> {
    let repository = ground.repository();
    if ground.is_shadow() {
        renew_index(repository).await?;
    }
    let mut entered = Vec::new();
    for _ in 0..MAX_NESTED {
        let look = match look(repository).await {
            Ok(look) => look,
            Err(error) if ground.is_shadow() && is_too_long(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(choice) = chosen(ground, &look, mask, keep_tracked).await? else {
            return Ok(None);
        };
        let doors = match ground {
            Ground::Own(_) => Vec::new(),
            Ground::Shadow(_) => doors(repository.work_tree(), &choice.nested),
        };
        if doors.is_empty() {
            return Ok(Some(Survey {
                look,
                choice,
                entered,
            }));
        }
        // Once it holds one file of it, git takes the directory for one like any other.
        Stage::own(repository).add(&doors).await?;
        entered.extend(choice.nested);
    }
    anyhow::bail!(
        "more than {MAX_NESTED} repositories inside of each other in {}",
        repository.work_tree().display()
    )
}

/// The points that were written without git have left no index (`written`): it holds again what the newest point does.
async fn renew_index(repository: &Repository) -> Result<()> {
    if repository.git_dir().join("index").exists() {
        return Ok(());
    }
    match repository.head().await? {
        Some(head) => repository.call(["read-tree", &head]).done().await,
        None => Ok(()),
    }
}

async fn chosen(
    ground: &Ground,
    look: &Look,
    mask: &Mask,
    keep_tracked: bool,
) -> Result<Option<Choice>> {
    let repository = ground.repository();
    let state_is_theirs = match whose_state(&look.entries) {
        Some(known) => known,
        None => holds_state(repository).await?,
    };
    let rules = Rules {
        work_tree: repository.work_tree().to_owned(),
        mask: mask.clone(),
        state_is_theirs,
        keep_tracked,
    };
    let (entries, is_bounded) = (look.entries.clone(), ground.is_shadow());
    let look_through = move || {
        let fits = !is_bounded || fits(&entries, &rules.work_tree);
        fits.then(|| choose(&entries, &rules))
    };
    tokio::task::spawn_blocking(look_through)
        .await
        .context("the look through the files ended early")
}

async fn holds_state(repository: &Repository) -> Result<bool> {
    let state = format!("HEAD:{}", letters::DIRECTORY);
    let words = ["cat-file", "-e", state.as_str()];
    let (code, _) = repository.call(words).ends_with(&[0, 1, 128]).await?;
    Ok(code == 0)
}

fn is_too_long(error: &anyhow::Error) -> bool {
    let failed = error.downcast_ref::<GitFailed>();
    failed.is_some_and(|failed| failed.exit == Some(0))
}

fn fits(entries: &[Entry], work_tree: &Path) -> bool {
    let mut bytes = 0;
    entries.len() <= MAX_FILES
        && entries.iter().all(|entry| {
            let facts = std::fs::symlink_metadata(work_tree.join(&entry.path));
            bytes += facts.map_or(0, |facts| facts.len());
            bytes <= MAX_BYTES
        })
}

/// One file of each of these repositories, if it has any.
fn doors(work_tree: &Path, nested: &[PathBuf]) -> Vec<OsString> {
    nested
        .iter()
        .filter_map(|nested| first_file(work_tree, nested))
        .map(PathBuf::into_os_string)
        .collect()
}

fn first_file(work_tree: &Path, below: &Path) -> Option<PathBuf> {
    let mut looked_at = 0;
    let mut directories = vec![below.to_owned()];
    while let Some(directory) = directories.pop() {
        let listing = std::fs::read_dir(work_tree.join(&directory)).ok()?;
        for entry in listing
            .flatten()
            .filter(|entry| entry.file_name() != DOT_GIT)
        {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                return None;
            }
            let path = directory.join(entry.file_name());
            let kind = entry.file_type().ok()?;
            // A repository of its own in there has its own turn.
            if kind.is_dir() && !work_tree.join(&path).join(DOT_GIT).exists() {
                directories.push(path);
            } else if kind.is_file() && !telling::is_telling(&path) {
                return Some(path);
            }
        }
    }
    None
}
