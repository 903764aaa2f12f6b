//! What of the changes in a tree goes into a commit, and what stays out, with the reason: letters to the daemon, secrets, repositories
//! inside of it, what cannot be read. It reads the files that changed, and must not write anything.

use super::look::{Difference, Entry, Version};
use super::telling;
use crate::files::{self, Unreadable};
use crate::model::mask::Mask;
use crate::workspace::letters;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const CHUNK_BYTES: usize = 1 << 20;

/// What is to be done to the index so that it holds the tree.
#[derive(Debug, Default)]
pub struct Choice {
    /// To be read from the tree as they are, or as gone.
    pub add: Vec<OsString>,
    /// To be put as they were in HEAD, or out of the index.
    pub put: Vec<(OsString, Version)>,
    /// Whether the index differs from HEAD already, in what is wanted.
    pub staged: bool,
    /// Repositories inside of the tree.
    pub nested: Vec<PathBuf>,
    /// What stays out though it may matter, in words.
    pub left_out: Vec<String>,
    /// Of those, the ones that a commit holds, and that would be lost if the tree went elsewhere.
    pub unreadable: Vec<PathBuf>,
    /// Entries that stand for another repository.
    pub links: Vec<PathBuf>,
}

impl Choice {
    /// Whether the tree, as far as it is wanted, is what HEAD holds.
    pub fn is_nothing(&self) -> bool {
        self.add.is_empty() && self.put.is_empty() && !self.staged
    }
}

/// By what is chosen.
#[derive(Clone, Debug)]
pub struct Rules {
    pub work_tree: PathBuf,
    pub mask: Mask,
    /// The repository holds files of its own beside the letters.
    pub state_is_theirs: bool,
    /// What a commit holds already is taken as it is, whatever is in it: it is about to be replaced.
    pub keep_tracked: bool,
}

enum Verdict {
    In,
    /// Not even worth a word.
    Silent,
    Out(String),
    /// In, as gone.
    Gone,
    Unreadable(String),
}

/// Whether files beside the letters are the repository's own; nothing where these entries do not tell, and HEAD has to be asked.
pub fn whose_state(entries: &[Entry]) -> Option<bool> {
    let mut beside = entries
        .iter()
        .filter(|entry| is_below_state(&entry.path) && !is_letter(&entry.path))
        .peekable();
    match beside.peek() {
        None => Some(false),
        Some(_) => beside.any(|entry| entry.before.is_some()).then_some(true),
    }
}

/// Goes through all that changed.
pub fn choose(entries: &[Entry], rules: &Rules) -> Choice {
    let mut choice = Choice::default();
    for entry in entries {
        let path = rules.work_tree.join(&entry.path);
        if entry.difference == Difference::Untracked && entry.path.as_bytes().ends_with(b"/") {
            if !is_below_state(&entry.path) {
                choice.nested.push(PathBuf::from(&entry.path));
            }
            continue;
        }
        let verdict = judge(entry, &path, rules);
        note(&mut choice, entry, verdict);
    }
    choice
}

fn note(choice: &mut Choice, entry: &Entry, verdict: Verdict) {
    let (staged, unstaged, link) = match entry.difference {
        Difference::Untracked => (false, true, false),
        Difference::Unmerged => (true, true, false),
        Difference::Tracked {
            staged,
            unstaged,
            link,
            ..
        } => (staged, unstaged, link),
    };
    match verdict {
        Verdict::In => {
            choice.staged |= staged;
            if unstaged {
                choice.add.push(entry.path.clone());
            }
            if link {
                choice.links.push(PathBuf::from(&entry.path));
            }
            return;
        }
        Verdict::Gone => {
            choice.put.push((entry.path.clone(), entry.absent()));
            return;
        }
        Verdict::Silent => {}
        Verdict::Out(why) => choice.left_out.push(said(&entry.path, &why)),
        Verdict::Unreadable(why) => {
            choice.left_out.push(said(&entry.path, &why));
            if entry.difference != Difference::Untracked {
                choice.unreadable.push(PathBuf::from(&entry.path));
            }
        }
    }
    if staged {
        let before = entry.before.clone().unwrap_or_else(|| entry.absent());
        choice.put.push((entry.path.clone(), before));
    }
}

fn said(path: &OsStr, why: &str) -> String {
    format!("{} ({why})", path.to_string_lossy())
}

fn judge(entry: &Entry, path: &Path, rules: &Rules) -> Verdict {
    let deleted = matches!(entry.difference, Difference::Tracked { deleted: true, .. });
    if is_below_state(&entry.path)
        && (is_letter(&entry.path) || !rules.state_is_theirs)
        && !(rules.keep_tracked && entry.before.is_some())
    {
        return Verdict::Silent;
    }
    if deleted {
        // Git refuses to look behind a link; what was there is gone all the same.
        return match has_linked_parent(&rules.work_tree, Path::new(&entry.path)) {
            true => Verdict::Gone,
            false => Verdict::In,
        };
    }
    let Ok(facts) = std::fs::symlink_metadata(path) else {
        return Verdict::In;
    };
    let is_new = entry.before.is_none();
    if facts.is_dir() {
        return Verdict::In;
    }
    if is_new && telling::is_telling(Path::new(&entry.path)) {
        return Verdict::Out("by its name it holds a secret".to_owned());
    }
    if facts.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        return match rules.mask.is_in(target.as_os_str().as_bytes()) {
            true => Verdict::Out("a secret is in it".to_owned()),
            false => Verdict::In,
        };
    }
    if !facts.is_file() {
        return Verdict::Gone;
    }
    judge_content(path, rules, is_new)
}

fn judge_content(path: &Path, rules: &Rules, is_new: bool) -> Verdict {
    let file = match files::open_regular(path, u64::MAX) {
        Ok(file) => file,
        Err(Unreadable::Missing) => return Verdict::In,
        Err(problem) => return Verdict::Unreadable(problem.to_string()),
    };
    if !is_new && rules.keep_tracked {
        return Verdict::In;
    }
    match holds_secret(file, &rules.mask, is_new && telling::may_hold_token(path)) {
        Ok(true) => Verdict::Out("a secret is in it".to_owned()),
        Ok(false) => Verdict::In,
        Err(error) => Verdict::Unreadable(error.to_string()),
    }
}

/// Reads in pieces that share so much that no secret between two of them is missed.
fn holds_secret(mut file: std::fs::File, mask: &Mask, tokens: bool) -> std::io::Result<bool> {
    if mask.is_empty() && !tokens {
        return Ok(false);
    }
    let shared = mask.longest_bytes().max(64);
    let mut held: Vec<u8> = Vec::new();
    loop {
        let kept = held.len();
        let read = (&mut file)
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut held)?;
        if mask.is_in(&held) || (tokens && telling::holds_token(&held)) {
            return Ok(true);
        }
        if read < CHUNK_BYTES {
            return Ok(false);
        }
        let surplus = (kept + read).saturating_sub(shared);
        held.drain(..surplus);
    }
}

/// Whether a secret stands in a file of the tree; what cannot be read holds none.
pub fn is_secret_inside(path: &Path, mask: &Mask) -> bool {
    files::open_regular(path, u64::MAX)
        .is_ok_and(|file| holds_secret(file, mask, false).unwrap_or(false))
}

fn is_below_state(path: &OsStr) -> bool {
    Path::new(path).starts_with(letters::DIRECTORY)
}

fn is_letter(path: &OsStr) -> bool {
    let path = Path::new(path);
    path == Path::new(letters::DIRECTORY) || letters::is_letter(path)
}

fn has_linked_parent(work_tree: &Path, path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|parent| !parent.as_os_str().is_empty())
        .any(|parent| work_tree.join(parent).is_symlink())
}
