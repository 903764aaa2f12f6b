//! A merge that git cannot make alone: laid out in a tree of its own, where somebody edits files; or given up. What is left there is judged in
//! `conclude`. It must not lose what somebody has done in such a tree.

use super::conclude::{existing_tree, stage};
use super::follow::Entry;
use super::merge::{Sum, contains, entries_at, existing, seal, sum_in_words, working_branch};
use super::names::{branch_ref, checked_ref, shown};
use super::removal::{holds_work, take_away};
use super::repository::Repository;
use super::turn;
use super::worktree::{Start, create_branch, find_tree, make_tree, settled, trees};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// In git's record of the tree: the two commits, and the tree that was laid out.
const SIDES: &str = "ralphd-merge";
/// What git said of the conflicts.
const CONFLICTS: &str = "ralphd-conflicts";
/// The files in conflict as they were laid out.
const LAID: &str = "ralphd-laid";
/// How often the two sides are read until they hold still.
const MAX_TRIES: u32 = 20;

/// A merge as it was laid out.
pub(super) struct Laid {
    pub ours: String,
    pub theirs: String,
    tree: String,
    pub sum: Sum,
    /// The files in conflict.
    pub files: Vec<Entry>,
}

impl Laid {
    /// Nothing where the tree is not one of these.
    pub fn read(tree: &Repository) -> Result<Option<Self>> {
        let read = |name| {
            fs::read(tree.git_dir().join(name))
                .with_context(|| format!("cannot read {name} of a merge"))
        };
        if !tree.git_dir().join(SIDES).exists() {
            return Ok(None);
        }
        let sides = shown(&read(SIDES)?);
        let [ours, theirs, laid] = sides.lines().collect::<Vec<_>>()[..] else {
            bail!(
                "the record of a merge is damaged: {}",
                tree.git_dir().display()
            );
        };
        Ok(Some(Self {
            ours: ours.to_owned(),
            theirs: theirs.to_owned(),
            tree: laid.to_owned(),
            sum: Sum::read(false, &read(CONFLICTS)?)?,
            files: Sum::read(false, &read(LAID)?)?
                .conflicts
                .into_iter()
                .map(|stage| stage.entry)
                .collect(),
        }))
    }

    pub fn is_under_way(&self, tree: &Repository) -> bool {
        let head = fs::read_to_string(tree.git_dir().join("MERGE_HEAD"));
        head.is_ok_and(|head| head.trim() == self.theirs)
    }
}

/// Lays the merge of a branch out in a tree of its own, with the conflicts in the files; or finds it again with what was done so far. One that
/// was given up, with nothing else in its tree, is laid out anew.
pub async fn lay_out_conflict(main: &Repository, place: &Path, branch: &str) -> Result<Repository> {
    let reference = checked_ref(branch)?;
    let turn = turn::on(main.common_dir()).await;
    let main = main.again().await?;
    let place = settled(place)?;
    if let Some(tree) = find_tree(&main, &place, &turn).await? {
        let Some(laid) = Laid::read(&tree)? else {
            bail!(
                "{} is a tree in which no merge was laid out",
                place.display()
            );
        };
        let under_way = laid.is_under_way(&tree) || holds(&tree, &laid).await?;
        if under_way || holds_work(&tree).await?.is_some() {
            return Ok(tree);
        }
        take_away(&main, tree.git_dir(), &place, None, &turn).await?;
    }
    let working = working_branch(&main).await?;
    let (ours, theirs, said) = still_sum(&main, &branch_ref(&working), &reference).await?;
    if contains(&main, &theirs, &ours).await? {
        bail!("{branch} is in {working} already: there is no conflict to lay out");
    }
    let sum = Sum::read(false, &said)?;
    let start = Start {
        branch: &temporary_branch(&main, &working, &ours).await?,
        filled_with: &sum.tree,
        beside: vec![
            (SIDES, format!("{ours}\n{theirs}\n{}\n", sum.tree).into()),
            (LAID, laid_files(&main, &sum).await?),
            (CONFLICTS, said),
            ("MERGE_HEAD", format!("{theirs}\n").into()),
            ("MERGE_MODE", b"no-ff".to_vec()),
            (
                "MERGE_MSG",
                format!("Merge {branch} into {working}\n").into(),
            ),
        ],
    };
    make_tree(&main, &place, start).await
}

/// The merge with the names of both sides in the markers. It is of these two commits: an agent may move its branch any time.
async fn still_sum(
    main: &Repository,
    ours: &str,
    theirs: &str,
) -> Result<(String, String, Vec<u8>)> {
    for _ in 0..MAX_TRIES {
        let before = (existing(main, ours).await?, existing(main, theirs).await?);
        let (_, said) = sum_in_words(main, ours, theirs).await?;
        if before == (existing(main, ours).await?, existing(main, theirs).await?) {
            return Ok((before.0, before.1, said));
        }
    }
    bail!("{theirs} does not hold still");
}

/// A branch for the merge: one that is new, or that a crash left unused.
async fn temporary_branch(main: &Repository, working: &str, ours: &str) -> Result<String> {
    let used: Vec<Option<String>> = trees(main)
        .await?
        .into_iter()
        .map(|tree| tree.branch)
        .collect();
    let mut number = 1;
    loop {
        let name = format!("{working}-merge-{number}");
        let reference = checked_ref(&name)?;
        match main.commit_of(&reference).await? {
            None => {
                create_branch(main, &reference, ours).await?;
                return Ok(name);
            }
            Some(commit) if commit == ours && !used.contains(&Some(name.clone())) => {
                return Ok(name);
            }
            Some(_) => number += 1,
        }
    }
}

/// In the words of a merge: a tree, then the files.
async fn laid_files(main: &Repository, sum: &Sum) -> Result<Vec<u8>> {
    let paths: Vec<Vec<u8>> = sum
        .conflicts
        .iter()
        .map(|stage| stage.entry.path.clone())
        .collect();
    let mut text = sum.tree.clone().into_bytes();
    text.push(0);
    for entry in entries_at(main, &sum.tree, &paths).await? {
        text.extend(line(&entry.mode, &entry.object, 0, &entry.path));
    }
    Ok(text)
}

/// As `git update-index --index-info` reads it.
fn line(mode: &str, object: &str, stage: u8, path: &[u8]) -> Vec<u8> {
    let mut line = format!("{mode} {object} {stage}\t").into_bytes();
    line.extend_from_slice(path);
    line.push(0);
    line
}

/// A path taken out of the index, with all its sides.
pub(super) fn unlisted(path: &[u8], object: &str) -> Vec<u8> {
    line("0", &"0".repeat(object.len()), 0, path)
}

/// Tells the index of a tree that is being filled of the conflicts in it.
pub(super) async fn lay_stages(tree: &Repository) -> Result<()> {
    let Some(laid) = Laid::read(tree)? else {
        return Ok(());
    };
    let stages = &laid.sum.conflicts;
    if stages.is_empty() {
        return Ok(());
    }
    let mut input: Vec<u8> = stages
        .iter()
        .flat_map(|stage| unlisted(&stage.entry.path, &stage.entry.object))
        .collect();
    for stage in stages {
        let entry = &stage.entry;
        input.extend(line(&entry.mode, &entry.object, stage.number, &entry.path));
    }
    tree.call(["update-index", "-z", "--index-info"])
        .input(input)
        .done()
        .await
}

/// Whether both sides are in the history of the tree.
pub(super) async fn holds(tree: &Repository, laid: &Laid) -> Result<bool> {
    Ok(contains(tree, &laid.theirs, "HEAD").await? && contains(tree, &laid.ours, "HEAD").await?)
}

/// The laid-out tree goes. What somebody has done in it stays on its branch; a branch with nothing of its own goes too.
pub async fn abandon_conflict(main: &Repository, place: &Path) -> Result<()> {
    let turn = turn::on(main.common_dir()).await;
    let main = main.again().await?;
    let place = settled(place)?;
    let Some(tree) = find_tree(&main, &place, &turn).await? else {
        return Ok(());
    };
    let Some(laid) = Laid::read(&tree)? else {
        bail!(
            "{} is a tree in which no merge was laid out",
            place.display()
        );
    };
    keep_unfinished(&tree, &laid).await?;
    let head = existing(&tree, "HEAD").await?;
    let working = working_branch(&main).await?;
    let goes_too = match tree.branch().await? {
        Some(branch) => {
            let ours = branch.starts_with(&format!("{working}-merge-"));
            let has_own = !contains(&main, &head, &branch_ref(&working)).await?;
            (ours && !has_own).then(|| (branch_ref(&branch), head))
        }
        None => {
            set_aside(&main, &head).await?;
            None
        }
    };
    take_away(&main, tree.git_dir(), &place, goes_too, &turn).await
}

/// A name for a commit that no branch has.
pub(super) async fn set_aside(main: &Repository, commit: &str) -> Result<()> {
    let aside = format!("refs/ralphd/aside/{commit}");
    main.call(["update-ref", &aside, commit]).done().await
}

/// Commits what is in the tree when it is other than what was laid out. Not as a merge: it is none.
async fn keep_unfinished(tree: &Repository, laid: &Laid) -> Result<()> {
    stage(tree, laid).await?;
    let content = tree.call(["write-tree"]).text().await?;
    let head = existing(tree, "HEAD").await?;
    if content == laid.tree || content == existing_tree(tree, &head).await? {
        return Ok(());
    }
    let date = tree
        .call(["log", "-1", "--format=%ct", &head])
        .text()
        .await?;
    let date = date.trim().parse::<i64>().unwrap_or(0).saturating_mul(1000);
    let commit = seal(tree, &content, &[&head], "An unfinished merge\n", date).await?;
    tree.call([
        "update-ref",
        "-m",
        "ralphd: an unfinished merge",
        "HEAD",
        &commit,
        &head,
    ])
    .done()
    .await
}
