//! Does anything in a workspace move? A fingerprint of its files by content, with a memory so that unchanged files are not read again.
//! It must not fail a run: what cannot be read counts by its metadata alone.

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

/// The content hashes of the files seen last, by path; valid while size, time and inode are the same.
#[derive(Default)]
pub struct Memory {
    known: HashMap<PathBuf, (Stamp, u64)>,
}

type Stamp = (u64, i64, i64, u64);

fn stamp(facts: &Metadata) -> Stamp {
    (facts.len(), facts.mtime(), facts.mtime_nsec(), facts.ino())
}

impl Memory {
    /// One number for all that lies in `workspace`; equal numbers mean that nothing changed.
    pub fn fingerprint(&mut self, workspace: &Path) -> u64 {
        let mut seen = HashMap::new();
        let mut entries = Vec::new();
        let mut directories = vec![workspace.to_owned()];
        while let Some(directory) = directories.pop() {
            let Ok(listing) = std::fs::read_dir(&directory) else {
                continue;
            };
            for entry in listing.flatten() {
                if entries.len() >= MAX_ENTRIES {
                    break;
                }
                let path = entry.path();
                let at_top = directory == workspace;
                if at_top && LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                    continue;
                }
                let Ok(facts) = entry.metadata() else {
                    continue;
                };
                if facts.is_dir() {
                    directories.push(path.clone());
                }
                let content = self.content_of(&path, &facts, &mut seen);
                entries.push((path, facts.mode(), content));
            }
        }
        self.known = seen;
        entries.sort();
        hash_of(&entries)
    }

    fn content_of(
        &self,
        path: &Path,
        facts: &Metadata,
        seen: &mut HashMap<PathBuf, (Stamp, u64)>,
    ) -> u64 {
        if facts.is_symlink() {
            return hash_of(&std::fs::read_link(path).ok());
        }
        if !facts.is_file() {
            return 0;
        }
        let stamp = stamp(facts);
        let hash = match self.known.get(path) {
            Some((known, hash)) if *known == stamp => *hash,
            _ => hash_file(path, facts).unwrap_or_else(|| hash_of(&stamp)),
        };
        seen.insert(path.to_owned(), (stamp, hash));
        hash
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
