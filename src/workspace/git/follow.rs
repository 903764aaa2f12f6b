//! Moves the working branch, and the main tree after it. What is to happen is written down before the branch moves: when a crash comes between
//! the two, or in the midst of the files, the next turn finishes. It must not touch what somebody has changed and not committed.

use super::locks;
use super::names::{branch_ref, listed, shown};
use super::repository::Repository;
use super::tool::GitFailed;
use super::turn;
use super::worktree::{CORNER, corner};
use crate::files;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// A git of ours that is being killed may still do what it was at; so often, and so long each time, we look whether it is gone.
const MAX_LOOKS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);
/// Kept of what is said of files that nobody reads on.
const MAX_SAID_BYTES: usize = 4096;
/// A file longer than this is not looked at for being half written.
const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// A step of the working branch.
pub struct Step<'a> {
    pub branch: &'a str,
    pub old: &'a str,
    pub new: &'a str,
    /// For the reflog.
    pub why: &'a str,
}

/// What became of it.
pub enum Stepped {
    Done,
    /// Nothing was moved: these have changes that are not committed.
    Blocked(Vec<String>),
    /// Somebody else moved the branch first.
    Outrun,
}

/// A file as a tree or an index has it.
#[derive(Clone)]
pub struct Entry {
    pub mode: String,
    pub object: String,
    pub path: Vec<u8>,
}

/// Moves the branch that the main tree is on, and the tree with it.
pub async fn step(main: &Repository, step: &Step<'_>) -> Result<Stepped> {
    let blocking = blocking(main, step).await?;
    if !blocking.is_empty() {
        return Ok(Stepped::Blocked(blocking));
    }
    corner(main)?;
    let note = note(main);
    let text = format!("{}\n{}\n{}\n", step.branch, step.old, step.new);
    files::write_whole(&note, text.as_bytes())?;
    let reference = branch_ref(step.branch);
    let words = ["update-ref", "-m", step.why, &reference, step.new, step.old];
    if let Err(error) = main.call(words).done().await {
        if main.commit_of(&reference).await?.as_deref() == Some(step.old) {
            return Err(error);
        }
        fs::remove_file(&note).context("cannot forget a step")?;
        return Ok(Stepped::Outrun);
    }
    main.call(["read-tree", "-m", "-u", step.old, step.new])
        .done()
        .await?;
    fs::remove_file(&note).context("cannot forget a step")?;
    Ok(Stepped::Done)
}

/// What is not committed and would be overwritten by a step.
async fn blocking(main: &Repository, step: &Step<'_>) -> Result<Vec<String>> {
    let differing = differences(main, step.old, step.new).await?;
    let mut names = ignored_in_the_way(main, &differing).await?;
    // Says no when something needs an update, which is the next question. Not quietly: it would keep to itself that a lock is in its way.
    main.call(["update-index", "--refresh"])
        .at_most(MAX_SAID_BYTES)
        .ends_with(&[0, 1])
        .await?;
    let words = ["read-tree", "--dry-run", "-m", "-u", step.old, step.new];
    let Err(refused) = main.call(words).done().await else {
        return Ok(names);
    };
    let Some(refused) = refused.downcast_ref::<GitFailed>() else {
        return Err(refused);
    };
    let status = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=dirty",
    ];
    let status = main
        .call(status)
        .variable("GIT_OPTIONAL_LOCKS", "0")
        .bytes()
        .await?;
    let changed = listed(&status).filter_map(|line| line.get(3..));
    let in_the_way = changed.filter(|path| differing.keys().any(|other| meet(other, path)));
    names.extend(in_the_way.map(shown));
    if names.is_empty() {
        names.push(refused.complaint.clone());
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// What git would not mind to lose: files that are to be ignored, where a step puts one of its own.
async fn ignored_in_the_way(
    main: &Repository,
    differing: &BTreeMap<Vec<u8>, Sides>,
) -> Result<Vec<String>> {
    let added = differing.iter().filter(|(_, (old, _))| old.is_none());
    let barred: Vec<&Vec<u8>> = added
        .map(|(path, _)| path)
        .filter(|path| is_barred(main, path, differing))
        .collect();
    if barred.is_empty() {
        return Ok(Vec::new());
    }
    let others = main.call(["ls-files", "--others", "-z"]).bytes().await?;
    let others = listed(&others);
    let met = others.filter(|other| barred.iter().any(|path| meet(other, path)));
    Ok(met.map(shown).collect())
}

/// Whether there is something where a file is to be, or anything but a directory above it.
fn is_barred(main: &Repository, path: &[u8], differing: &BTreeMap<Vec<u8>, Sides>) -> bool {
    let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut above = above.map(|(end, _)| &path[..end]);
    let is_file = |above: &[u8]| {
        let there = main.work_tree().join(OsStr::from_bytes(above));
        let goes = differing.contains_key(above);
        !goes && fs::symlink_metadata(there).is_ok_and(|facts| !facts.is_dir())
    };
    is_there(main, path) || above.any(is_file)
}

/// Whether two paths are the same, or one is above the other.
fn meet(one: &[u8], other: &[u8]) -> bool {
    let below = |path: &[u8], above: &[u8]| {
        let above = above.strip_suffix(b"/").unwrap_or(above);
        path.strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    below(one, other) || below(other, one)
}

/// The old and the new side of a path; nothing where it is not there.
type Sides = (Option<Entry>, Option<Entry>);

/// Every path in which two commits differ.
async fn differences(main: &Repository, old: &str, new: &str) -> Result<BTreeMap<Vec<u8>, Sides>> {
    let words = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        old,
        new,
    ];
    let said = main.call(words).bytes().await?;
    let mut parts = listed(&said);
    let mut found = BTreeMap::new();
    while let (Some(facts), Some(path)) = (parts.next(), parts.next()) {
        let facts = shown(facts);
        let facts: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_object, new_object, ..] = facts[..] else {
            continue;
        };
        let side = |mode: &str, object: &str| {
            (mode != "000000").then(|| Entry {
                mode: mode.to_owned(),
                object: object.to_owned(),
                path: path.to_owned(),
            })
        };
        found.insert(
            path.to_owned(),
            (side(old_mode, old_object), side(new_mode, new_object)),
        );
    }
    Ok(found)
}

/// Finishes a step that a crash broke off, where this is the tree that was to follow. Until then it is no picture of its branch: whoever takes
/// it for one undoes the step. Names what has been changed by others since, in which case it is not finished.
pub async fn catch_up(tree: &Repository) -> Result<Vec<String>> {
    let Ok(text) = fs::read_to_string(note(tree)) else {
        return Ok(Vec::new());
    };
    let _turn = turn::on(tree.common_dir()).await;
    let tree = tree.again().await?;
    match tree.branch().await?.as_deref() == text.lines().next() {
        true => settle(&tree).await,
        false => Ok(Vec::new()),
    }
}

/// Finishes a step that a crash broke off. Names what has been changed by others since, in which case it is not finished.
pub async fn settle(main: &Repository) -> Result<Vec<String>> {
    let note = note(main);
    let Ok(text) = fs::read_to_string(&note) else {
        return Ok(Vec::new());
    };
    wait_for_the_dying(main).await;
    let mut lines = text.lines();
    if let (Some(branch), Some(old), Some(new)) = (lines.next(), lines.next(), lines.next()) {
        let there = main.branch().await?.as_deref() == Some(branch);
        if there && main.head().await?.as_deref() == Some(new) {
            let changed = finish(main, old, new).await?;
            if !changed.is_empty() {
                return Ok(changed);
            }
        }
    }
    // Otherwise the branch never moved, or people have moved on with it: then the tree is theirs.
    fs::remove_file(&note).context("cannot forget a step")?;
    Ok(Vec::new())
}

async fn wait_for_the_dying(main: &Repository) {
    for _ in 0..MAX_LOOKS {
        if !locks::somebody_works_in_tree(main.git_dir(), main.work_tree()) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Brings the files that differ to the new side, those of them that are on the old one, gone, or half written.
async fn finish(main: &Repository, old: &str, new: &str) -> Result<Vec<String>> {
    let differing = differences(main, old, new).await?;
    let changed = changed_by_others(main, &differing).await?;
    if !changed.is_empty() {
        return Ok(changed);
    }
    let known = main.call(["ls-files", "-z"]).bytes().await?;
    let known: HashSet<&[u8]> = listed(&known).collect();
    let mut paths = Vec::new();
    let is_new = |path: &[u8]| differing.get(path).is_some_and(|(_, new)| new.is_some());
    for path in differing.keys() {
        // What gives way to a file of the name of its directory goes with that.
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let gives_way = ends.map(|(end, _)| &path[..end]).any(is_new);
        if is_new(path) || (known.contains(path.as_slice()) && !gives_way) {
            paths.extend_from_slice(path);
            paths.push(0);
        }
    }
    if !paths.is_empty() {
        let words = [
            "restore",
            "--staged",
            "--worktree",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        let source = format!("--source={new}");
        main.call(words.into_iter().chain([source.as_str()]))
            .variable("GIT_LITERAL_PATHSPECS", "1")
            .input(paths)
            .done()
            .await?;
    }
    Ok(Vec::new())
}

/// Files that are neither what they were nor what they are to be, nor a beginning of that.
async fn changed_by_others(
    main: &Repository,
    differing: &BTreeMap<Vec<u8>, Sides>,
) -> Result<Vec<String>> {
    let side = |pick: fn(&Sides) -> &Option<Entry>| -> Vec<Entry> {
        differing
            .values()
            .filter_map(|sides| pick(sides).clone())
            .collect()
    };
    let not_old = unlike(main, &side(|sides| &sides.0)).await?;
    let not_new = unlike(main, &side(|sides| &sides.1)).await?;
    let mut changed = Vec::new();
    for (path, (old, new)) in differing {
        let there = main.work_tree().join(OsStr::from_bytes(path));
        let Ok(facts) = fs::symlink_metadata(&there) else {
            continue;
        };
        let is = |side: &Option<Entry>, unlike: &HashSet<Vec<u8>>| {
            side.is_some() && !unlike.contains(path)
        };
        if is(old, &not_old) || is(new, &not_new) {
            continue;
        }
        let ours = match new {
            // What was below it is looked at by its own names; only what git does not know must not be there.
            _ if facts.is_dir() => !holds_others(main, path, differing).await?,
            Some(new) if facts.is_file() && facts.len() <= MAX_COMPARED_BYTES => {
                let content = fs::read(&there).unwrap_or_default();
                is_beginning(main, new, &content).await?
            }
            _ => false,
        };
        if !ours {
            changed.push(shown(path));
        }
    }
    Ok(changed)
}

/// Whether there is anything below a path that is not of the step.
async fn holds_others(
    main: &Repository,
    path: &[u8],
    differing: &BTreeMap<Vec<u8>, Sides>,
) -> Result<bool> {
    let others = main.call(["ls-files", "--others", "-z"]).bytes().await?;
    Ok(listed(&others).any(|other| meet(other, path) && !differing.contains_key(other)))
}

/// Whether this is how far git came in writing the file.
async fn is_beginning(main: &Repository, entry: &Entry, content: &[u8]) -> Result<bool> {
    let path = format!("--path={}", shown(&entry.path));
    let whole = main
        .call(["cat-file", "--filters", &path, &entry.object])
        .bytes()
        .await?;
    Ok(whole.starts_with(content))
}

/// Which of these files are not so in the tree. Asked of an index of its own, so that git compares as it does for any other.
pub async fn unlike(tree: &Repository, entries: &[Entry]) -> Result<HashSet<Vec<u8>>> {
    let index = tree.git_dir().join("ralphd-compare");
    let _ = fs::remove_file(&index);
    let mut input = Vec::new();
    for entry in entries {
        input.extend_from_slice(format!("{} {} 0\t", entry.mode, entry.object).as_bytes());
        input.extend_from_slice(&entry.path);
        input.push(0);
    }
    let call = |words: &[&'static str]| {
        let index = index.to_string_lossy().into_owned();
        tree.call(words.iter().copied())
            .variable("GIT_INDEX_FILE", index)
    };
    call(&["update-index", "-z", "--index-info"])
        .input(input)
        .done()
        .await?;
    call(&["update-index", "-q", "--refresh"])
        .ends_with(&[0, 1])
        .await?;
    let words = [
        "diff-files",
        "-z",
        "--name-only",
        "--no-renames",
        "--ignore-submodules=dirty",
    ];
    let said = call(&words).bytes().await?;
    let _ = fs::remove_file(&index);
    Ok(listed(&said).map(<[u8]>::to_vec).collect())
}

/// Whether there is anything at a path of the tree.
pub fn is_there(tree: &Repository, path: &[u8]) -> bool {
    let there = tree.work_tree().join(OsStr::from_bytes(path));
    fs::symlink_metadata(there).is_ok()
}

fn note(main: &Repository) -> PathBuf {
    main.common_dir().join(CORNER).join("step")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_cannot_both_be() {
        for (one, other, expected) in [
            ("a", "a", true),
            ("a/b", "a", true),
            ("a", "a/", true),
            ("a/", "a/b/c", true),
            ("a", "ab", false),
            ("a/b", "a/c", false),
        ] {
            assert_eq!(
                meet(one.as_bytes(), other.as_bytes()),
                expected,
                "{one} {other}"
            );
        }
    }
}
