//! HEAD and the names of points in the repository beside a plain directory, as files, under git's own locks. HEAD stands for the newest
//! point and is on no branch. What is not as we leave it is not read here: then git is to be asked. It must not make objects.

use super::object::Id;
use crate::files;
use crate::model::git::Author;
use crate::workspace::git::locks;
use anyhow::{Context, Result};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const MAX_NAME_BYTES: u64 = 4096;
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Where HEAD stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Nothing before the first point.
    pub commit: Option<Id>,
    text: Vec<u8>,
}

/// Reads HEAD; nothing where it stands for something that only git can tell.
pub fn head(git_dir: &Path) -> Option<Head> {
    let text = files::read_regular(&git_dir.join("HEAD"), MAX_NAME_BYTES).ok()?;
    let words = std::str::from_utf8(&text).ok()?.trim_end();
    let commit = match words.strip_prefix("ref: ") {
        None => Some(Id::parse(words)?),
        Some(branch) => {
            let is_born = git_dir.join(branch).exists() || git_dir.join("packed-refs").exists();
            (!is_born && branch.starts_with("refs/heads/")).then_some(())?;
            None
        }
    };
    Some(Head { commit, text })
}

/// A new point, and who made it when.
pub struct Naming<'a> {
    pub git_dir: &'a Path,
    pub work_tree: &'a Path,
    pub author: &'a Author,
    pub at_s: i64,
    pub why: String,
}

impl Naming<'_> {
    /// Gives a point its name, wherever that was before. False where somebody is in the way.
    pub fn name_point(&self, name: &str, commit: Id) -> Result<bool> {
        let file = self.git_dir.join(name);
        let above = file.parent().context("a name needs a directory")?;
        std::fs::create_dir_all(above)
            .with_context(|| format!("cannot make {}", above.display()))?;
        let Some(lock) = self.lock(&file)? else {
            return Ok(false);
        };
        lock.set(&format!("{commit}\n"))?;
        Ok(true)
    }

    /// Moves HEAD from where it was seen. False where it is not there any more, or somebody is in the way.
    pub fn move_head(&self, from: &Head, commit: Id) -> Result<bool> {
        let Some(lock) = self.lock(&self.git_dir.join("HEAD"))? else {
            return Ok(false);
        };
        if head(self.git_dir).as_ref() != Some(from) || self.git_dir.join("index.lock").exists() {
            return Ok(false);
        }
        // Git's index knows nothing of this point. Without one, whoever asks git makes it anew (`survey`).
        match std::fs::remove_file(self.git_dir.join("index")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).context("cannot remove the index of the points");
            }
            _ => {}
        }
        self.log(from, commit)?;
        lock.set(&format!("{commit}\n"))?;
        Ok(true)
    }

    /// Where HEAD was and is, as git writes it down.
    fn log(&self, from: &Head, commit: Id) -> Result<()> {
        let logs = self.git_dir.join("logs");
        let before = from.commit.map(|id| id.to_string());
        let line = format!(
            "{} {commit} {} <{}> {} +0000\t{}\n",
            before.as_deref().unwrap_or(NO_COMMIT),
            self.author.name,
            self.author.email,
            self.at_s,
            self.why
        );
        let append = || {
            std::fs::create_dir_all(&logs)?;
            let mut log = OpenOptions::new()
                .append(true)
                .create(true)
                .open(logs.join("HEAD"))?;
            log.write_all(line.as_bytes())
        };
        append().with_context(|| format!("cannot write in {}", logs.display()))
    }

    /// Nothing where somebody alive holds it.
    fn lock(&self, file: &Path) -> Result<Option<Lock>> {
        let mut path = file.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let take = || File::create_new(&path);
        let opened = match take() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !locks::clear_if_stale(&path, &[self.git_dir], self.work_tree) {
                    return Ok(None);
                }
                take()
            }
            opened => opened,
        };
        let opened = opened.with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Some(Lock {
            path,
            target: file.to_owned(),
            opened,
            is_set: false,
        }))
    }
}

/// The right to replace a file; given back unused, nothing has changed.
struct Lock {
    path: PathBuf,
    target: PathBuf,
    opened: File,
    is_set: bool,
}

impl Lock {
    fn set(mut self, text: &str) -> Result<()> {
        let set = self
            .opened
            .write_all(text.as_bytes())
            .and_then(|()| std::fs::rename(&self.path, &self.target));
        self.is_set = set.is_ok();
        set.with_context(|| format!("cannot write {}", self.target.display()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_set {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
