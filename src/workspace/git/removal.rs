//! Removes trees. It must not remove work: uncommitted, or on no branch.

use super::locks;
use super::names::{listed, shown};
use super::repository::Repository;
use super::turn::{self, Turn};
use super::worktree::{REMOVE, corner, find_tree, settled};
use crate::files;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How many of the names in the way of a removal are said.
const MAX_NAMED: usize = 5;

/// What became of a tree that was to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    Gone,
    /// It holds work that is nowhere else, said in words.
    Kept(String),
}

/// Removes a tree that holds nothing of its own. Its branch stays.
pub async fn remove_tree(main: &Repository, place: &Path) -> Result<Removal> {
    let turn = turn::on(main.common_dir()).await;
    let main = main.again().await?;
    let place = settled(place)?;
    // One whose directory is gone stands again: what was staged there is work too.
    let Some(tree) = find_tree(&main, &place, &turn).await? else {
        return Ok(match fs::symlink_metadata(&place) {
            Err(error) if error.kind() == ErrorKind::NotFound => Removal::Gone,
            _ if fs::remove_dir(&place).is_ok() => Removal::Gone,
            _ => Removal::Kept("it is no tree of this repository any more".to_owned()),
        });
    };
    if let Some(why) = holds_work(&tree).await? {
        return Ok(Removal::Kept(why));
    }
    take_away(&main, tree.git_dir(), &place, None, &turn).await?;
    Ok(Removal::Gone)
}

/// Removes a tree, whatever it holds; and a branch with it, as long as that is at this commit.
pub(super) async fn take_away(
    main: &Repository,
    record: &Path,
    place: &Path,
    branch: Option<(String, String)>,
    turn: &Turn,
) -> Result<()> {
    let mark = branch.map(|(reference, commit)| format!("{reference} {commit}"));
    files::write_whole(&record.join(REMOVE), mark.unwrap_or_default().as_bytes())?;
    finish_removal(main, record, place, turn).await
}

/// The rest of a removal that was decided.
pub(super) async fn finish_removal(
    main: &Repository,
    record: &Path,
    place: &Path,
    turn: &Turn,
) -> Result<()> {
    let mark = fs::read_to_string(record.join(REMOVE)).context("cannot read a tree's mark")?;
    if let Some((reference, commit)) = mark.split_once(' ') {
        match main.commit_of(reference).await?.as_deref() == Some(commit) {
            true => {
                let words = ["update-ref", "-d", reference, commit];
                main.call(words).done().await?;
            }
            // A git that is killed at this has deleted it before it opens its locks.
            false => locks::open_left(main).await,
        }
    }
    let (record, place, corner) = (record.to_owned(), place.to_owned(), corner(main)?);
    let turn = turn.clone();
    let work = move || {
        // Kept until all is gone: this thread goes on when the one who waits for it is no more.
        let _turn = turn;
        remove_all(&place)?;
        let gone = corner.join("gone");
        remove_all(&gone)?;
        fs::rename(&record, &gone)
            .with_context(|| format!("cannot remove {}", record.display()))?;
        remove_all(&gone)
    };
    tokio::task::spawn_blocking(work)
        .await
        .context("the removal was broken off")?
}

pub(super) fn remove_all(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// What would be lost with a tree, in words.
pub(super) async fn holds_work(tree: &Repository) -> Result<Option<String>> {
    let status = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=dirty",
    ];
    let status = tree
        .call(status)
        .variable("GIT_OPTIONAL_LOCKS", "0")
        .bytes()
        .await?;
    let changed: Vec<String> = listed(&status)
        .map(|line| shown(line.get(3..).unwrap_or(line)))
        .collect();
    if !changed.is_empty() {
        return Ok(Some(format!("not committed: {}", named(&changed))));
    }
    let hidden = hidden_files(tree).await?;
    if !hidden.is_empty() {
        return Ok(Some(format!(
            "git was told not to look at {}",
            named(&hidden)
        )));
    }
    if tree.branch().await?.is_none() {
        let contained = [
            "for-each-ref",
            "--contains",
            "HEAD",
            "--count=1",
            "refs/heads",
            "refs/tags",
            "refs/ralphd",
        ];
        if tree.call(contained).text().await?.is_empty() {
            return Ok(Some("its commits are on no branch".to_owned()));
        }
    }
    Ok(None)
}

/// Files there that a status does not speak of: those marked so, and what is in the trees of submodules.
async fn hidden_files(tree: &Repository) -> Result<Vec<String>> {
    let tagged = tree.call(["ls-files", "-v", "-s", "-z"]).bytes().await?;
    let mut hidden = Vec::new();
    for line in listed(&tagged) {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let (facts, path) = (&line[..tab], &line[tab + 1..]);
        let marked = facts
            .first()
            .is_some_and(|tag| *tag == b'S' || tag.is_ascii_lowercase());
        let submodule = facts
            .get(2..)
            .is_some_and(|facts| facts.starts_with(b"160000"));
        let path_there = tree.work_tree().join(OsStr::from_bytes(path));
        let filled = || fs::read_dir(&path_there).is_ok_and(|mut entries| entries.next().is_some());
        if (marked && fs::symlink_metadata(&path_there).is_ok()) || (submodule && filled()) {
            hidden.push(shown(path));
        }
    }
    Ok(hidden)
}

/// The first few of many names.
pub(super) fn named(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(MAX_NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", names.len() - MAX_NAMED));
    }
    text
}
