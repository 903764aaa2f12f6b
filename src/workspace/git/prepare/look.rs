//! What people and the agent should know of a tree: uncommitted files, work of git under way, what is not there as they may expect.
//! It must not change anything.

use crate::workspace::git::repository::Repository;
use anyhow::Result;
use std::path::Path;

const SHOWN_FILES: usize = 5;
const SHOWN_SUBMODULES: usize = 5;

/// Uncommitted files.
#[derive(Debug, PartialEq, Eq)]
pub struct Dirt {
    first: Vec<String>,
    count: usize,
}

impl Dirt {
    pub fn note(&self) -> String {
        format!(
            "the tree has uncommitted changes, which are left as they are: {}",
            self.files()
        )
    }

    /// The first few of them.
    pub fn files(&self) -> String {
        shorten(&self.first, self.count)
    }
}

fn shorten(first: &[String], count: usize) -> String {
    match count - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// What is not committed in a tree; nothing where all is.
pub async fn dirt(repository: &Repository) -> Result<Option<Dirt>> {
    let words = [
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
    ];
    let said = repository
        .call(words)
        .variable("GIT_OPTIONAL_LOCKS", "0")
        .bytes()
        .await?;
    Ok(read_status(&String::from_utf8_lossy(&said)))
}

/// Reads what `git status --porcelain -z --no-renames` says.
fn read_status(said: &str) -> Option<Dirt> {
    let files = || said.split('\0').filter_map(|entry| entry.get(3..));
    let count = files().count();
    (count > 0).then(|| Dirt {
        first: files().take(SHOWN_FILES).map(str::to_owned).collect(),
        count,
    })
}

/// What git itself has begun in a tree and not ended.
pub fn under_way(git_dir: &Path) -> Option<&'static str> {
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("sequencer", "cherry-pick"),
        ("BISECT_LOG", "bisect"),
    ]
    .into_iter()
    .find(|(file, _)| git_dir.join(file).exists())
    .map(|(_, what)| what)
}

/// What stays so all the time: submodules that are not fetched, and files that git does not hold itself.
pub async fn standing(repository: &Repository) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    notes.extend(submodules(repository).await?);
    notes.extend(large_files(repository).await?);
    Ok(notes)
}

async fn submodules(repository: &Repository) -> Result<Option<String>> {
    let words = ["rev-parse", "--verify", "--quiet", "HEAD:.gitmodules"];
    let (code, blob) = repository.call(words).ends_with(&[0, 1, 128]).await?;
    if code != 0 {
        return Ok(None);
    }
    let blob = String::from_utf8_lossy(&blob).trim().to_owned();
    let words = [
        "config",
        "--blob",
        &blob,
        "-z",
        "--get-regexp",
        r"^submodule\..*\.path$",
    ];
    let (_, said) = repository.call(words).ends_with(&[0, 1, 3, 128]).await?;
    let said = String::from_utf8_lossy(&said);
    let paths: Vec<&str> = said
        .split('\0')
        .filter_map(|entry| Some(entry.split_once('\n')?.1))
        .collect();
    let first: Vec<String> = paths
        .iter()
        .take(SHOWN_SUBMODULES)
        .map(|path| (*path).to_owned())
        .collect();
    Ok(Some(match first.is_empty() {
        true => "submodules are not fetched".to_owned(),
        false => format!(
            "submodules are not fetched: {}",
            shorten(&first, paths.len())
        ),
    }))
}

async fn large_files(repository: &Repository) -> Result<Option<String>> {
    let words = [
        "grep",
        "--cached",
        "--quiet",
        "--fixed-strings",
        "-e",
        "filter=lfs",
        "--",
        ":(glob)**/.gitattributes",
    ];
    let found = repository.call(words).holds().await?;
    Ok(found
        .then(|| "files under Git LFS are pointers here, their content is not fetched".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncommitted_files_are_counted_and_the_first_named() {
        for (said, expected) in [
            ("", None),
            (" M a b\0", Some("a b")),
            ("?? x\0 D y\0", Some("x, y")),
            (
                "?? 1\0?? 2\0?? 3\0?? 4\0?? 5\0?? 6\0?? 7\0",
                Some("1, 2, 3, 4, 5 and 2 more"),
            ),
        ] {
            let files = read_status(said).map(|dirt| dirt.files());
            assert_eq!(files.as_deref(), expected, "{said:?}");
        }
    }
}
