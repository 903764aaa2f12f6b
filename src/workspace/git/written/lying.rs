//! What lies in a plain directory, as far as it is simple: files and links that anybody would keep. Whatever wants a decision (ignored files,
//! repositories inside, secrets, pipes, odd names, too much of it) is not judged here: the whole is git's matter then. It only reads.

use super::object::{Id, Kind, Object, name};
use super::tree::{Entry, Flat, MAX_DEPTH, MAX_FILES, Mode};
use crate::files;
use crate::model::mask::Mask;
use crate::workspace::fingerprint::{Found, Sight, Stamp, stamp};
use crate::workspace::git::telling;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MAX_FILE_BYTES: u64 = 8 << 20;
/// What is read for one point.
const MAX_READ_BYTES: usize = 32 << 20;
/// For whom the owner may run it, git calls it executable.
const OWNER_MAY_RUN: u32 = 0o100;
/// They only look like files of git's own.
const NOT_GITS: &[&str] = &[".github", ".gitkeep"];

/// The names of contents that were read before, by path; valid while the file system says that the file was not touched.
pub type KnownContents = HashMap<PathBuf, (Stamp, Id)>;

/// A directory, ready to be kept.
pub struct Lying {
    pub files: Flat,
    /// The contents that the point before does not have.
    pub new: Vec<Object>,
}

/// Takes a directory in; nothing where it is not simple.
pub fn take_in(
    workspace: &Path,
    sight: &Sight,
    before: &Flat,
    mask: &Mask,
    known: &mut KnownContents,
) -> Option<Lying> {
    let found = sight.entries.as_ref().filter(|found| are_simple(found))?;
    let mut taking = Taking {
        workspace,
        at_ms: sight.at_ms,
        before,
        mask,
        known: std::mem::take(known),
        read_bytes: 0,
        new: Vec::new(),
    };
    let mut files = Flat::new();
    let mut next = KnownContents::new();
    for found in found.iter().filter(|found| !found.facts.is_dir()) {
        let entry = taking.take(found)?;
        if let Some(stamp) = stamp(&found.facts, sight.at_ms) {
            next.insert(found.path.clone(), (stamp, entry.id));
        }
        files.insert(found.path.as_os_str().as_bytes().to_vec(), entry);
    }
    *known = next;
    Some(Lying {
        files,
        new: taking.new,
    })
}

/// Looked at before anything is read: where git is asked, it reads on its own.
fn are_simple(found: &[Found]) -> bool {
    let kept = |facts: &Metadata| facts.is_dir() || facts.is_file() || facts.is_symlink();
    let mut entries = found.iter();
    found.len() <= MAX_FILES
        && entries.all(|found| {
            kept(&found.facts) && found.facts.len() <= MAX_FILE_BYTES && !is_odd(&found.path)
        })
}

struct Taking<'a> {
    workspace: &'a Path,
    at_ms: i64,
    before: &'a Flat,
    mask: &'a Mask,
    known: KnownContents,
    read_bytes: usize,
    new: Vec<Object>,
}

impl Taking<'_> {
    fn take(&mut self, found: &Found) -> Option<Entry> {
        let facts = &found.facts;
        let mode = match facts.is_symlink() {
            true => Mode::Link,
            false if facts.mode() & OWNER_MAY_RUN != 0 => Mode::Executable,
            false => Mode::Plain,
        };
        let before = self.before.get(found.path.as_os_str().as_bytes());
        let before = before.map(|before| before.id);
        let id = match self.known.get(&found.path) {
            // What the point before does not hold is read again: its content may have to be written.
            Some((known, id))
                if before == Some(*id) && stamp(facts, self.at_ms) == Some(*known) =>
            {
                *id
            }
            _ => self.read(found, mode, before)?,
        };
        Some(Entry { mode, id })
    }

    /// Looks into it as whoever asks git would: only what differs from the point before is looked at for secrets.
    fn read(&mut self, found: &Found, mode: Mode, before: Option<Id>) -> Option<Id> {
        let path = self.workspace.join(&found.path);
        let content = match mode {
            Mode::Link => std::fs::read_link(&path)
                .ok()?
                .into_os_string()
                .into_encoded_bytes(),
            _ => files::read_regular(&path, MAX_FILE_BYTES).ok()?,
        };
        self.read_bytes += content.len();
        let id = name(Kind::Blob, &content);
        if self.read_bytes > MAX_READ_BYTES {
            return None;
        }
        if before == Some(id) {
            return Some(id);
        }
        if self.mask.is_in(&content) {
            return None;
        }
        self.new.push(Object::new(Kind::Blob, content));
        Some(id)
    }
}

/// Whether a path is one that git has rules of its own for, or would not take, or that may hold a secret by its name.
fn is_odd(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    is_gits(name)
        || telling::is_telling(path)
        || telling::may_hold_token(path)
        || path.components().count() > MAX_DEPTH
}

/// Files that git reads for itself, and spellings of them that other systems take for the same: letters of another size, signs that are
/// not seen, short names.
fn is_gits(name: &OsStr) -> bool {
    if NOT_GITS.iter().any(|other| name == *other) {
        return false;
    }
    let name = name.as_bytes();
    let plain: Vec<u8> = name
        .iter()
        .filter(|byte| byte.is_ascii())
        .map(u8::to_ascii_lowercase)
        .collect();
    plain.starts_with(b".git")
        || (plain.starts_with(b"gi") && plain.contains(&b'~'))
        || plain.contains(&b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names() {
        for (path, odd) in [
            ("a/.gitignore", true),
            (".GitAttributes", true),
            (".g\u{200c}it", true),
            ("git~1", true),
            ("GI7EBA~1", true),
            ("a\\b", true),
            (".env", true),
            ("web/.npmrc", true),
            ("count", false),
            ("git", false),
            ("digit~1", false),
            (".github", false),
            (".gitHub", true),
            ("src/state", false),
            ("grüße", false),
        ] {
            assert_eq!(is_odd(Path::new(path)), odd, "{path}");
        }
        assert!(is_odd(Path::new(&"a/".repeat(100)).join("b").as_path()));
    }
}
