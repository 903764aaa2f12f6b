//! Trees of tasks beside the main one: each a linked tree of git's on a branch of its own.
//!
//! Git's own record of a tree (`worktrees/NAME` in the repository) is the truth; the `.git` file in the tree is for agents, and what they make
//! of it leads nobody astray. A record appears whole, by one rename, before the directory does, and says whether the tree is still to be filled
//! or being removed: whatever a crash leaves is finished by the next call. Records are locked, so that no `git worktree prune` takes them.
//! It must not touch what somebody has done in a tree.

use super::names::{checked_ref, listed, shown};
use super::removal::{finish_removal, remove_all};
use super::repository::{DOT_GIT, Foreign, Repository};
use super::turn::{self, Turn};
use crate::files;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Our own corner of a repository: records that are not yet, or no longer, git's.
pub(super) const CORNER: &str = "ralphd";
/// In a record: the tree is still to be filled with what this names; nobody has worked in it.
const FILL: &str = "ralphd-fill";
/// In a record: the tree is going, and the branch that is named with it.
pub(super) const REMOVE: &str = "ralphd-remove";
/// Says to leave files as they are: somebody has worked there, and only the record was lost.
const AS_FOUND: &str = "as found";
const LOCK_REASON: &str = "ralphd keeps this tree";

/// A linked tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub place: PathBuf,
    /// None when its HEAD is on no branch.
    pub branch: Option<String>,
    pub head: Option<String>,
}

/// What a tree that is yet to be made starts with.
pub(super) struct Start<'a> {
    pub branch: &'a str,
    /// The tree or commit that the files are taken from.
    pub filled_with: &'a str,
    /// Further files in git's record.
    pub beside: Vec<(&'static str, Vec<u8>)>,
}

/// The tree of a task: made, or found again as it was left. A branch that is there already is kept where it is.
pub async fn add_tree(
    main: &Repository,
    place: &Path,
    branch: &str,
    from: &str,
) -> Result<Repository> {
    let reference = checked_ref(branch)?;
    let turn = turn::on(main.common_dir()).await;
    let main = main.again().await?;
    let place = settled(place)?;
    if let Some(found) = find_tree(&main, &place, &turn).await? {
        return Ok(found);
    }
    if main.commit_of(&reference).await?.is_none() {
        create_branch(&main, &reference, from).await?;
    }
    let start = Start {
        branch,
        filled_with: "HEAD",
        beside: Vec::new(),
    };
    make_tree(&main, &place, start).await
}

/// A branch where there is none yet.
pub(super) async fn create_branch(main: &Repository, reference: &str, from: &str) -> Result<()> {
    let Some(commit) = main.commit_of(from).await? else {
        bail!("there is no commit {from:?} to start {reference} from");
    };
    // An empty old value: it must not exist.
    let words = [
        "update-ref",
        "-m",
        "ralphd: a task starts",
        reference,
        &commit,
        "",
    ];
    main.call(words).done().await
}

/// The tree of a task as it was left; nothing where there is none.
pub async fn tree_at(main: &Repository, place: &Path) -> Result<Option<Repository>> {
    let turn = turn::on(main.common_dir()).await;
    let main = main.again().await?;
    find_tree(&main, &settled(place)?, &turn).await
}

/// All linked trees.
pub async fn trees(main: &Repository) -> Result<Vec<Tree>> {
    let said = main
        .call(["worktree", "list", "--porcelain", "-z"])
        .bytes()
        .await?;
    let mut trees = Vec::new();
    for line in listed(&said) {
        let (key, value) = line.split_at(
            line.iter()
                .position(|byte| *byte == b' ')
                .unwrap_or(line.len()),
        );
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match (key, trees.last_mut()) {
            (b"worktree", _) => trees.push(Tree {
                place: PathBuf::from(OsStr::from_bytes(value)),
                branch: None,
                head: None,
            }),
            (b"HEAD", Some(tree)) => tree.head = Some(shown(value)),
            (b"branch", Some(tree)) => {
                tree.branch = Some(shown(value.strip_prefix(b"refs/heads/").unwrap_or(value)));
            }
            _ => {}
        }
    }
    // The first is the main one.
    Ok(trees.split_off(1.min(trees.len())))
}

/// The tree at this place as git's record has it, finished if it was only begun; nothing where there is none.
pub(super) async fn find_tree(
    main: &Repository,
    place: &Path,
    turn: &Turn,
) -> Result<Option<Repository>> {
    let Some(record) = record_of(main, place)? else {
        return Ok(None);
    };
    if record.join(REMOVE).exists() {
        finish_removal(main, &record, place, turn).await?;
        return Ok(None);
    }
    let missing = !place.exists();
    stand(&record, place)?;
    let tree = main.linked(&record, place).await?;
    if record.join(FILL).exists() {
        fill(&tree).await?;
    } else if missing {
        // Whoever deleted it: what was staged is still there.
        tree.call(["checkout-index", "--all", "--force", "--index"])
            .done()
            .await?;
    }
    Ok(Some(tree))
}

/// Makes a tree where git has no record of one. Files that are there already are somebody's work, and stay as they are.
pub(super) async fn make_tree(
    main: &Repository,
    place: &Path,
    start: Start<'_>,
) -> Result<Repository> {
    if let Some(other) = at_work_on(main, start.branch).await? {
        bail!(
            "the branch {} is at work in {} already",
            start.branch,
            other.display()
        );
    }
    if main.common_dir().join("reftable").exists() {
        bail!(Foreign(
            "the repository keeps its branches in a reftable, which is not known here".to_owned()
        ));
    }
    let worked_in = match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => false,
    };
    let fill_with = if worked_in {
        AS_FOUND
    } else {
        start.filled_with
    };
    let record = register(main, place, &start, fill_with)?;
    stand(&record, place)?;
    let tree = main.linked(&record, place).await?;
    fill(&tree).await?;
    Ok(tree)
}

/// The tree that is on a branch, the main one among them.
async fn at_work_on(main: &Repository, branch: &str) -> Result<Option<PathBuf>> {
    if main.branch().await?.as_deref() == Some(branch) {
        return Ok(Some(main.work_tree().to_owned()));
    }
    let mut trees = trees(main).await?.into_iter();
    let found = trees.find(|tree| tree.branch.as_deref() == Some(branch));
    Ok(found.map(|tree| tree.place))
}

/// Writes git's record of a tree; it appears whole or not at all.
fn register(
    main: &Repository,
    place: &Path,
    start: &Start<'_>,
    fill_with: &str,
) -> Result<PathBuf> {
    let making = corner(main)?.join("making");
    remove_all(&making)?;
    files::make_private_directory(&making)?;
    let mut git_file = place.join(DOT_GIT).as_os_str().as_bytes().to_vec();
    git_file.push(b'\n');
    let own: [(&str, Vec<u8>); 5] = [
        ("HEAD", format!("ref: refs/heads/{}\n", start.branch).into()),
        ("commondir", b"../..\n".to_vec()),
        ("gitdir", git_file),
        ("locked", LOCK_REASON.into()),
        (FILL, fill_with.into()),
    ];
    for (name, content) in own.iter().chain(&start.beside) {
        fs::write(making.join(name), content)
            .with_context(|| format!("cannot write {name} of a tree"))?;
    }
    let records = main.common_dir().join("worktrees");
    fs::create_dir_all(&records).with_context(|| format!("cannot make {}", records.display()))?;
    let record = free_name(&records, place);
    fs::rename(&making, &record).with_context(|| format!("cannot make {}", record.display()))?;
    Ok(record)
}

fn free_name(records: &Path, place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    let mut record = records.join(&name);
    let mut number = 1;
    while fs::symlink_metadata(&record).is_ok() {
        number += 1;
        record = records.join(format!("{name}-{number}"));
    }
    record
}

/// The directory, and the file in it by which git finds the record from there.
fn stand(record: &Path, place: &Path) -> Result<()> {
    match fs::symlink_metadata(place) {
        Ok(facts) if facts.is_dir() => {}
        Ok(_) => bail!(Foreign(format!("{} is not a directory", place.display()))),
        Err(_) => files::make_private_directory(place)?,
    }
    let git_file = place.join(DOT_GIT);
    let mut leads_to = b"gitdir: ".to_vec();
    leads_to.extend_from_slice(record.as_os_str().as_bytes());
    leads_to.push(b'\n');
    match fs::symlink_metadata(&git_file) {
        // A repository that the agent made there itself; it may hold commits, and ours is not found through it.
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(facts)
            if facts.is_file() && fs::read(&git_file).is_ok_and(|content| content == leads_to) =>
        {
            Ok(())
        }
        _ => files::write_whole(&git_file, &leads_to),
    }
}

/// Fills a tree that nobody has worked in yet.
async fn fill(tree: &Repository) -> Result<()> {
    let mark = tree.git_dir().join(FILL);
    let with = fs::read_to_string(&mark).context("cannot read what the tree starts with")?;
    match with.as_str() {
        AS_FOUND => tree.call(["read-tree", "HEAD"]).done().await?,
        with => {
            tree.call(["read-tree", "--reset", "-u", with])
                .done()
                .await?
        }
    }
    super::conflict::lay_stages(tree).await?;
    fs::remove_file(&mark).context("cannot note that the tree is filled")
}

/// Git's record of the tree at a place.
fn record_of(main: &Repository, place: &Path) -> Result<Option<PathBuf>> {
    let records = main.common_dir().join("worktrees");
    let entries = match fs::read_dir(&records) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", records.display()));
        }
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|record| place_of(record).is_some_and(|other| other == place))
        .collect();
    found.sort();
    Ok(found.into_iter().next())
}

/// The place that a record is of.
fn place_of(record: &Path) -> Option<PathBuf> {
    let content = fs::read(record.join("gitdir")).ok()?;
    let git_file = record.join(OsStr::from_bytes(content.trim_ascii_end()));
    settled(git_file.parent()?).ok()
}

/// A place by the one path that it is known by here.
pub(super) fn settled(place: &Path) -> Result<PathBuf> {
    let (Some(above), Some(name)) = (place.parent(), place.file_name()) else {
        bail!("{} is no place for a tree", place.display());
    };
    // As far as there is something: the rest cannot be a link.
    Ok(match above.canonicalize() {
        Ok(above) => above.join(name),
        Err(_) if above.parent().is_some() => settled(above)?.join(name),
        Err(_) => place.to_owned(),
    })
}

pub(super) fn corner(main: &Repository) -> Result<PathBuf> {
    let corner = main.common_dir().join(CORNER);
    files::make_private_directory(&corner)?;
    Ok(corner)
}
