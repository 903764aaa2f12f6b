//! The index, brought to what the tree holds: the tree's own one, or a copy where that must stay as it is. It must not move a branch.

use super::choose::Choice;
use super::look::Version;
use super::repository::Repository;
use super::tool::{Call, GitFailed};
use crate::files::{self, Unreadable};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The copy's name in git's directory.
const COPY: &str = "ralphd.index";
/// An index of ten million files.
const MAX_INDEX_BYTES: u64 = 2 << 30;

/// An index that is being worked on.
pub struct Stage<'a> {
    repository: &'a Repository,
    copy: Option<PathBuf>,
}

impl<'a> Stage<'a> {
    /// The tree's own index.
    pub fn own(repository: &'a Repository) -> Self {
        Self {
            repository,
            copy: None,
        }
    }

    /// A copy of it. It is as old as the original: by its age git knows which files to look at twice.
    pub fn copy(repository: &'a Repository) -> Result<Self> {
        let copy = repository.git_dir().join(COPY);
        let original = repository.git_dir().join("index");
        match std::fs::remove_file(&copy) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", copy.display()));
            }
            _ => {}
        }
        match files::open_regular(&original, MAX_INDEX_BYTES) {
            Ok(mut from) => {
                let copied = (|| -> std::io::Result<()> {
                    let mut to = File::create_new(&copy)?;
                    std::io::copy(&mut from, &mut to)?;
                    to.set_modified(from.metadata()?.modified()?)
                })();
                copied.with_context(|| format!("cannot copy {}", original.display()))?;
            }
            Err(Unreadable::Missing) => {}
            Err(problem) => bail!("cannot copy {}: {problem}", original.display()),
        }
        Ok(Self {
            repository,
            copy: Some(copy),
        })
    }

    fn call<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Call {
        let call = self
            .repository
            .call(words)
            // It would have git refuse what people may commit.
            .setting("core.safecrlf", "false");
        match &self.copy {
            Some(copy) => call.variable("GIT_INDEX_FILE", copy.to_string_lossy()),
            None => call,
        }
    }

    pub async fn apply(&self, choice: &Choice) -> Result<()> {
        self.put(&choice.put).await?;
        self.add(&choice.add).await
    }

    /// Puts entries as they are said to be, without a look at the tree.
    async fn put(&self, entries: &[(OsString, Version)]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for (path, version) in entries {
            let words = format!("{} {}\t", version.mode, version.object);
            input.extend_from_slice(words.as_bytes());
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let words = ["update-index", "-z", "--index-info"];
        self.call(words).input(input).done().await
    }

    /// Takes these paths from the tree, ignored or not: as they are there, or as gone.
    pub async fn add(&self, paths: &[OsString]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let words = [
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "-z",
            "--stdin",
        ];
        let taken = self.call(words).input(input.clone()).done().await;
        let Err(error) = taken else {
            return Ok(());
        };
        // Attributes can ask for what is impossible, such as another encoding. Then the files are taken byte by byte.
        let about_content = |failed: &GitFailed| failed.complaint.contains("encod");
        if !error.downcast_ref::<GitFailed>().is_some_and(about_content) {
            return Err(error);
        }
        let nothing = ["hash-object", "-t", "tree", "--stdin"];
        let nothing = self.repository.call(nothing).input([]).text().await?;
        self.call(words)
            .variable("GIT_ATTR_SOURCE", nothing)
            .input(input)
            .done()
            .await
    }

    /// What it holds, as a tree of the repository.
    pub async fn tree(&self) -> Result<String> {
        self.call(["write-tree"]).text().await
    }

    pub fn discard(self) {
        if let Some(copy) = self.copy {
            let _ = std::fs::remove_file(copy);
        }
    }
}
