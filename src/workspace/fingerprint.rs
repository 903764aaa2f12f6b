//! Does anything in a workspace move? A fingerprint of its files by content, with a memory so that unchanged files are not read again.
//! It must not fail a run: what cannot be read counts by its metadata alone.

use crate::clock::now_ms;
use crate::files;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::Metadata;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Beyond this many entries the rest is left out: a change among the first ones is sign enough.
const MAX_ENTRIES: usize = 200_000;
/// Larger files count by size and time of change.
const MAX_HASHED_BYTES: u64 = 8 << 20;
/// Not the agent's work: git's own files (commits are seen otherwise) and the letters to the daemon.
const LEFT_OUT: &[&str] = &[".git", super::letters::DIRECTORY];
/// A file that changed so shortly before it was looked at may change again and bear the same time: file systems count in steps.
const YOUNG_MS: i64 = 2_000;
/// So many entries are told one by one.
const MAX_TOLD: usize = 10_000;

/// The content hashes of the files seen last, by path; valid while size, times and inode are the same.
#[derive(Default)]
pub struct Memory {
    known: HashMap<PathBuf, (Stamp, u64)>,
}

/// All that lies in a directory at one moment.
#[derive(Clone, Debug)]
pub struct Sight {
    /// One number for all of it; equal numbers mean that nothing changed.
    pub mark: u64,
    /// Every entry, in no order; nothing where they are too many, or some could not be looked at.
    pub entries: Option<Vec<Found>>,
    pub at_ms: i64,
}

#[derive(Clone, Debug)]
pub struct Found {
    /// From the top of the workspace.
    pub path: PathBuf,
    pub facts: Metadata,
}

/// By what a file that was not touched is known: size, inode and permissions, the times of its content and of itself.
pub type Stamp = (u64, u64, u32, (i64, i64), (i64, i64));

/// Nothing for a file so young that a later change might not show.
pub fn stamp(facts: &Metadata, looked_at_ms: i64) -> Option<Stamp> {
    let written = (facts.mtime(), facts.mtime_nsec());
    let changed = (facts.ctime(), facts.ctime_nsec());
    let newest_s = facts.mtime().max(facts.ctime());
    let is_old = newest_s.saturating_add(1).saturating_mul(1000) < looked_at_ms - YOUNG_MS;
    is_old.then(|| (facts.len(), facts.ino(), facts.mode(), written, changed))
}

impl Memory {
    /// One number for all that lies in `workspace`; equal numbers mean that nothing changed.
    pub fn fingerprint(&mut self, workspace: &Path) -> u64 {
        self.look(workspace).mark
    }

    /// The same, with what lies there.
    pub fn look(&mut self, workspace: &Path) -> Sight {
        let at_ms = now_ms();
        let mut seen = HashMap::new();
        let mut entries = Vec::new();
        let mut told = Some(Vec::new());
        let mut directories = vec![workspace.to_owned()];
        while let Some(directory) = directories.pop() {
            let Ok(listing) = std::fs::read_dir(&directory) else {
                told = None;
                continue;
            };
            for entry in listing {
                let Ok(entry) = entry else {
                    told = None;
                    continue;
                };
                if entries.len() >= MAX_ENTRIES {
                    break;
                }
                let path = entry.path();
                let at_top = directory == workspace;
                if at_top && LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                    continue;
                }
                let Ok(facts) = entry.metadata() else {
                    told = None;
                    continue;
                };
                if facts.is_dir() {
                    directories.push(path.clone());
                }
                let content = self.content_of(&path, &facts, at_ms, &mut seen);
                let mode = facts.mode();
                tell(&mut told, path.strip_prefix(workspace), facts);
                entries.push((path, mode, content));
            }
        }
        self.known = seen;
        entries.sort();
        Sight {
            mark: hash_of(&entries),
            entries: told,
            at_ms,
        }
    }

    fn content_of(
        &self,
        path: &Path,
        facts: &Metadata,
        at_ms: i64,
        seen: &mut HashMap<PathBuf, (Stamp, u64)>,
    ) -> u64 {
        if facts.is_symlink() {
            return hash_of(&std::fs::read_link(path).ok());
        }
        if !facts.is_file() {
            return 0;
        }
        let stamp = stamp(facts, at_ms);
        let hash = match self.known.get(path) {
            Some((known, hash)) if Some(known) == stamp.as_ref() => *hash,
            _ => hash_file(path, facts).unwrap_or_else(|| unread(facts)),
        };
        if let Some(stamp) = stamp {
            seen.insert(path.to_owned(), (stamp, hash));
        }
        hash
    }
}

fn unread(facts: &Metadata) -> u64 {
    hash_of(&(facts.len(), facts.mtime(), facts.mtime_nsec(), facts.ino()))
}

fn tell<E>(told: &mut Option<Vec<Found>>, path: Result<&Path, E>, facts: Metadata) {
    match (told.as_mut(), path) {
        (Some(list), Ok(path)) if list.len() < MAX_TOLD => list.push(Found {
            path: path.to_owned(),
            facts,
        }),
        _ => *told = None,
    }
}

/// The hash of a file's content, also through a link; nothing when it is too large, no file, or cannot be read.
pub(super) fn hash_file(path: &Path, facts: &Metadata) -> Option<u64> {
    if facts.len() > MAX_HASHED_BYTES {
        return None;
    }
    let (content, _) = files::read_linked(path, MAX_HASHED_BYTES).ok()?;
    Some(hash_of(&content))
}

/// A hash that is the same in every process of this version.
pub fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_counts_not_time() {
        let workspace = tempfile::tempdir().unwrap();
        let file = workspace.path().join("a.txt");
        std::fs::write(&file, "one").unwrap();
        let mut memory = Memory::default();
        let first = memory.fingerprint(workspace.path());
        std::fs::write(&file, "one").unwrap();
        assert_eq!(
            memory.fingerprint(workspace.path()),
            first,
            "rewritten with the same content"
        );
        std::fs::write(&file, "two").unwrap();
        let second = memory.fingerprint(workspace.path());
        assert_ne!(second, first);
        assert_eq!(
            Memory::default().fingerprint(workspace.path()),
            second,
            "the same without a memory"
        );
    }

    #[test]
    fn letters_and_git_are_left_out_at_the_top_only() {
        let workspace = tempfile::tempdir().unwrap();
        let mut memory = Memory::default();
        let empty = memory.fingerprint(workspace.path());
        for (name, counts) in [(".git", false), ("state", false), ("src/state", true)] {
            let before = memory.fingerprint(workspace.path());
            std::fs::create_dir_all(workspace.path().join(name)).unwrap();
            std::fs::write(workspace.path().join(name).join("x"), "x").unwrap();
            assert_eq!(
                memory.fingerprint(workspace.path()) != before,
                counts,
                "{name}"
            );
        }
        assert_ne!(memory.fingerprint(workspace.path()), empty);
    }
}
