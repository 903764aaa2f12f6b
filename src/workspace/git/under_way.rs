//! What somebody has begun in a repository and not finished: a merge, a rebase. Then a branch must not be moved.

use super::look::{Difference, Entry};
use super::repository::Repository;

/// What git leaves in its directory meanwhile.
const SIGNS: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];
/// The rest that goes with it.
const ALONG: &[&str] = &[
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "sequencer",
];

pub fn what(repository: &Repository, entries: &[Entry]) -> Option<&'static str> {
    let begun = SIGNS
        .iter()
        .find(|(sign, _)| repository.git_dir().join(sign).exists());
    let torn = entries
        .iter()
        .any(|entry| entry.difference == Difference::Unmerged);
    begun.map(|(_, what)| *what).or(torn.then_some("a merge"))
}

/// The commits that are being merged; they may have no other name.
pub fn merged_commits(repository: &Repository) -> Vec<String> {
    let text = std::fs::read_to_string(repository.git_dir().join("MERGE_HEAD"));
    let text = text.unwrap_or_default();
    let names = text.lines().map(str::trim);
    names
        .filter(|name| name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(str::to_owned)
        .collect()
}

/// Forgets it: the tree has gone elsewhere.
pub fn forget(repository: &Repository) {
    let signs = SIGNS.iter().map(|(sign, _)| sign).chain(ALONG);
    for sign in signs {
        let path = repository.git_dir().join(sign);
        let is_directory = std::fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
        let _ = match is_directory {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
    }
}
