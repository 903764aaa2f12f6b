//! Whether anything moved in a plain directory since its newest point, without asking git: what the file system says of every file, as one
//! number, kept beside the point. A doubt counts as a move. It must not read any file of the workspace.

use super::repository::{DOT_GIT, Repository};
use crate::workspace::fingerprint::hash_of;
use crate::workspace::letters;
use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Beyond this many entries git is as fast.
const MAX_ENTRIES: usize = 5_000;
const KEPT: &str = "ralphd.seen";
const MARKER: &str = "ralphd.seen.new";

/// The directory at one moment.
pub struct Seen {
    kept: PathBuf,
    marker: PathBuf,
    /// Nothing where there are too many files, or the file system is in the way.
    number: Option<u64>,
    /// No file is so young that a later change of it could bear the same time.
    settled: bool,
}

impl Seen {
    pub async fn take(repository: &Repository) -> Result<Self> {
        let (shadow, workspace) = (
            repository.git_dir().to_owned(),
            repository.work_tree().to_owned(),
        );
        tokio::task::spawn_blocking(move || Self::of(&shadow, &workspace))
            .await
            .context("the walk through the directory ended early")
    }

    fn of(shadow: &Path, workspace: &Path) -> Self {
        let (kept, marker) = (shadow.join(KEPT), shadow.join(MARKER));
        // The time of a new file is the time of the file system itself: only with that one can its files be compared.
        let began = File::create(&marker)
            .and_then(|file| file.metadata())
            .map(|facts| (facts.ctime(), facts.ctime_nsec()));
        let walked = walk(workspace);
        let (number, settled) = match (began, walked) {
            (Ok(began), Some((number, newest))) => (Some(number), newest < began),
            _ => (None, false),
        };
        Self {
            kept,
            marker,
            number,
            settled,
        }
    }

    /// The newest point, if nothing moved since.
    pub fn unmoved_since(&self) -> Option<String> {
        let text = std::fs::read_to_string(&self.kept).ok()?;
        let (number, commit) = text.trim_end().split_once(' ')?;
        (self.number? == number.parse::<u64>().ok()?).then(|| commit.to_owned())
    }

    /// Remembers that this is what the point holds.
    pub fn keep(&self, commit: &str) {
        match (self.number, self.settled) {
            (Some(number), true) => {
                let written = std::fs::write(&self.marker, format!("{number} {commit}\n"))
                    .and_then(|()| std::fs::rename(&self.marker, &self.kept));
                if written.is_err() {
                    forget(&self.kept);
                }
            }
            _ => forget(&self.kept),
        }
    }
}

/// To be called before the directory is changed by us.
pub fn forget_point(repository: &Repository) {
    forget(&repository.git_dir().join(KEPT));
}

fn forget(kept: &Path) {
    let _ = std::fs::remove_file(kept);
}

/// One number for everything below, and the time of its newest change.
fn walk(workspace: &Path) -> Option<(u64, (i64, i64))> {
    let (mut number, mut newest, mut entries) = (0u64, (0, 0), 0);
    let mut directories = vec![workspace.to_owned()];
    while let Some(directory) = directories.pop() {
        let at_top = directory == workspace;
        for entry in std::fs::read_dir(&directory).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name == DOT_GIT || (at_top && name == letters::DIRECTORY) {
                continue;
            }
            entries += 1;
            if entries > MAX_ENTRIES {
                return None;
            }
            let (path, facts) = (entry.path(), entry.metadata().ok()?);
            if facts.is_dir() {
                directories.push(path);
                continue;
            }
            let changed = (facts.ctime(), facts.ctime_nsec());
            newest = newest.max(changed);
            let stamp = (facts.len(), facts.mode(), facts.ino(), changed);
            // In whatever order they come.
            number = number.wrapping_add(hash_of(&(path, stamp)));
        }
    }
    Some((number, newest))
}
