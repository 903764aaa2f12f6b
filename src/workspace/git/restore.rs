//! A tree taken back to a point, or forward again. What it goes away from gets a name first: nothing is ever lost. Begun again after a crash,
//! it ends right. Ignored files and the letters to the daemon stay where they are.

use super::commit::commit_tree;
use super::ground::Ground;
use super::references::{Orders, ROOT, abandoned_name};
use super::repository::{DOT_GIT, Repository};
use super::seen;
use super::stage::Stage;
use super::survey::survey;
use super::under_way;
use crate::model::mask::Mask;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Ignored files in the way of a point's files are kept with the rest, up to this.
const MAX_IN_THE_WAY: usize = 10_000;
/// Names that a second try may need.
const MAX_NAMES: usize = 100;

/// Where to go.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// Who goes.
    pub session: &'a str,
    pub commit: &'a str,
    /// Where the branch was at that point (`Facts::head`); nothing: it stays where it is.
    pub head: Option<&'a str>,
    /// The branch that the tree was on (`Facts::branch`); nothing: on none.
    pub branch: Option<&'a str>,
    /// The time by which what is left behind is named.
    pub at_ms: i64,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The name under which the tree and the commits are kept that were left; nothing where all of it has a name already.
    pub abandoned: Option<String>,
}

/// Takes the tree to a point.
pub async fn restore(ground: &Ground, to: &Point<'_>) -> Result<Restored> {
    let ground = &ground.again().await?;
    let repository = ground.repository();
    let Some(target) = repository.commit_of(to.commit).await? else {
        bail!("the point {} is not in this repository any more", to.commit);
    };
    seen::forget_point(repository);
    let left = leave(ground, &target).await?;
    let abandoned = keep(repository, to, &left).await?;
    let words = ["read-tree", "--reset", "-u", target.as_str()];
    repository.call(words).done().await?;
    match ground {
        Ground::Shadow(_) => {
            let mut orders = Orders::new("ralphd: restore".to_owned());
            orders.set_head(&target, left.head.as_deref());
            orders.carry_out(repository, to.at_ms).await?;
        }
        Ground::Own(_) => move_branch(repository, to, &left).await?,
    }
    Ok(Restored { abandoned })
}

/// What the tree goes away from.
struct Left {
    head: Option<String>,
    branch: Option<String>,
    /// The files as they were.
    tree: String,
}

/// Puts the whole tree into the index, so that git knows what is to go, and what it would step on.
async fn leave(ground: &Ground, target: &str) -> Result<Left> {
    let repository = ground.repository();
    let Some(survey) = survey(ground, &Mask::default(), true).await? else {
        bail!("the workspace holds too much to be kept, so it cannot be taken back");
    };
    if let Some(path) = survey.choice.unreadable.first() {
        bail!("{} cannot be read, and would be lost", path.display());
    }
    let stage = Stage::own(repository);
    stage.apply(&survey.choice).await?;
    let mut tree = stage.tree().await?;
    let in_the_way = in_the_way(repository, &tree, target).await?;
    if !in_the_way.is_empty() {
        stage.add(&in_the_way).await?;
        tree = stage.tree().await?;
    }
    Ok(Left {
        head: survey.look.head,
        branch: survey.look.branch,
        tree,
    })
}

/// Files that no commit holds, in places that the point needs.
async fn in_the_way(repository: &Repository, tree: &str, target: &str) -> Result<Vec<OsString>> {
    let words = [
        "diff-tree",
        "-r",
        "-z",
        "--name-only",
        "--no-renames",
        "--diff-filter=A",
        tree,
        target,
    ];
    let said = repository.call(words).bytes().await?;
    let mut found = Vec::new();
    for path in said
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
    {
        collect(
            repository.work_tree(),
            Path::new(OsStr::from_bytes(path)),
            &mut found,
        )?;
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// What stands where this path, or a directory above it, is to be.
fn collect(work_tree: &Path, path: &Path, found: &mut Vec<OsString>) -> Result<()> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    for part in parts
        .into_iter()
        .filter(|part| !part.as_os_str().is_empty())
    {
        match std::fs::symlink_metadata(work_tree.join(part)) {
            Err(_) => return Ok(()),
            Ok(facts) if facts.is_dir() && part != path => {}
            Ok(facts) if facts.is_dir() => return collect_below(work_tree, part, found),
            Ok(_) => {
                found.push(part.as_os_str().to_owned());
                return Ok(());
            }
        }
    }
    Ok(())
}

fn collect_below(work_tree: &Path, top: &Path, found: &mut Vec<OsString>) -> Result<()> {
    let mut directories: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        let listing = std::fs::read_dir(work_tree.join(&directory))
            .with_context(|| format!("cannot look into {}", directory.display()))?;
        for entry in listing {
            let entry = entry.with_context(|| format!("cannot list {}", directory.display()))?;
            let path = directory.join(entry.file_name());
            ensure!(
                entry.file_name() != DOT_GIT && found.len() < MAX_IN_THE_WAY,
                "{} is in the way of a file of that point, and holds too much to be kept; move it away",
                top.display()
            );
            match entry.file_type()?.is_dir() {
                true => directories.push(path),
                false => found.push(path.into_os_string()),
            }
        }
    }
    Ok(())
}

/// Gives a name to what has none.
async fn keep(repository: &Repository, to: &Point<'_>, left: &Left) -> Result<Option<String>> {
    let mut tips: Vec<String> = left.head.iter().cloned().collect();
    if let Some(branch) = to.branch {
        tips.extend(
            repository
                .commit_of(&format!("refs/heads/{branch}"))
                .await?,
        );
    }
    tips.extend(under_way::merged_commits(repository));
    tips.dedup();
    let mut parents = Vec::new();
    for tip in tips {
        if !is_kept(repository, &tip).await? {
            parents.push(tip);
        }
    }
    let known = ["for-each-ref", "--format=%(tree)", ROOT];
    let known = repository.call(known).text().await?;
    if parents.is_empty() && known.lines().any(|tree| tree == left.tree) {
        return Ok(None);
    }
    if parents.is_empty() {
        parents.extend(left.head.clone());
    }
    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
    let message = format!("What was left behind\n\nRalphd-Session: {}\n", to.session);
    let commit = commit_tree(repository, &left.tree, &parents, to.at_ms, message).await?;
    let name = free_name(repository, to, &commit).await?;
    let mut orders = Orders::new("ralphd: restore".to_owned());
    orders.set(&name, &commit);
    orders.carry_out(repository, to.at_ms).await?;
    Ok(Some(name))
}

async fn is_kept(repository: &Repository, commit: &str) -> Result<bool> {
    let words = ["for-each-ref", "--count=1", "--contains", commit, ROOT];
    Ok(!repository.call(words).text().await?.is_empty())
}

/// A name that stands for nothing else: the tree may have been left half-way before.
async fn free_name(repository: &Repository, to: &Point<'_>, commit: &str) -> Result<String> {
    let name = abandoned_name(to.session, to.at_ms)?;
    for number in 0..MAX_NAMES {
        let name = match number {
            0 => name.clone(),
            number => format!("{name}-{number}"),
        };
        match repository.commit_of(&name).await? {
            None => return Ok(name),
            Some(other) if other == commit => return Ok(name),
            Some(_) => {}
        }
    }
    bail!("{name} was left half-way {MAX_NAMES} times")
}

/// Takes the branch where it was, and the index with it.
async fn move_branch(repository: &Repository, to: &Point<'_>, left: &Left) -> Result<()> {
    let Some(head) = to.head else {
        return Ok(());
    };
    let Some(head) = repository.commit_of(head).await? else {
        bail!("the commit {head} is not in this repository any more");
    };
    let mut orders = Orders::new("ralphd: restore".to_owned());
    match to.branch {
        None => orders.set_head(&head, left.head.as_deref()),
        Some(branch) => orders.set(&format!("refs/heads/{branch}"), &head),
    }
    orders.carry_out(repository, to.at_ms).await?;
    if let Some(branch) = to.branch
        && left.branch.as_deref() != Some(branch)
    {
        let branch = format!("refs/heads/{branch}");
        let words = ["symbolic-ref", "-m", "ralphd: restore", "HEAD", &branch];
        repository.call(words).done().await?;
    }
    if head != to.commit {
        // What was in no commit at that point is in none now.
        let words = ["read-tree", "-m", head.as_str()];
        repository.call(words).done().await?;
    }
    under_way::forget(repository);
    Ok(())
}
