//! A merge that git cannot make alone: laid out in a tree of its own, where somebody edits files, then judged by what is there. It must not take
//! anybody's word for it: a merge is one when its history holds both sides, and nothing of the conflict is left in the files.

use super::follow::{self, Entry};
use super::markers;
use super::merge::{
    Merged, Sum, contains, entries_at, existing, join, seal, sum, sum_in_words, working_branch,
};
use super::names::{branch_ref, checked_ref, shown};
use super::repository::Repository;
use super::turn;
use super::worktree::{
    Start, create_branch, find_tree, holds_work, make_tree, named, record_of, settled, take_away,
    trees,
};
use crate::workspace::letters;
use anyhow::{Context, Result, bail};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// In git's record of the tree: the two commits, and the tree that was laid out.
const SIDES: &str = "ralphd-merge";
/// What git said of the conflicts.
const CONFLICTS: &str = "ralphd-conflicts";
/// The files in conflict as they were laid out.
const LAID: &str = "ralphd-laid";
/// What git itself keeps of a merge under way.
const UNDER_WAY: [&str; 4] = ["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"];
/// How often the two sides are read until they hold still.
const MAX_TRIES: u32 = 20;
const SUBMODULE: &str = "160000";

/// What became of a laid-out merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concluded {
    Merged {
        commit: String,
    },
    /// What is left to do, each in words.
    Unresolved(Vec<String>),
    /// Resolved, but the main tree has changes in these that are not committed.
    Blocked(Vec<String>),
}

/// A merge as it was laid out.
struct Laid {
    ours: String,
    theirs: String,
    tree: String,
    sum: Sum,
    files: Vec<Entry>,
}

impl Laid {
    /// Nothing where the tree is not one of these.
    fn read(tree: &Repository) -> Result<Option<Self>> {
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

    fn is_under_way(&self, tree: &Repository) -> bool {
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
        take_away(&main, tree.git_dir(), &place, &turn).await?;
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
fn unlisted(path: &[u8], object: &str) -> Vec<u8> {
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

/// Judges what was made of a laid-out merge; where it is one, it is committed and the working branch moves to it.
pub async fn conclude_conflict(
    main: &Repository,
    tree: &Repository,
    branch: &str,
    message: &str,
    at_ms: i64,
) -> Result<Concluded> {
    let reference = checked_ref(branch)?;
    let _turn = turn::on(main.common_dir()).await;
    let (main, tree) = (main.again().await?, tree.again().await?);
    let Some(laid) = Laid::read(&tree)? else {
        bail!(
            "{} is a tree in which no merge was laid out",
            tree.work_tree().display()
        );
    };
    let blocking = follow::settle(&main).await?;
    if !blocking.is_empty() {
        return Ok(Concluded::Blocked(blocking));
    }
    let left = left_to_do(&tree, &laid).await?;
    if !left.is_empty() {
        return Ok(Concluded::Unresolved(left));
    }
    let commit = commit(&tree, &laid, message, at_ms).await?;
    let joined = join(&main, &commit, Some(&laid.ours), message, at_ms).await?;
    let commit = match joined {
        Merged::Already => commit,
        Merged::Clean { commit } => commit,
        Merged::Blocked { paths } => return Ok(Concluded::Blocked(paths)),
        Merged::Conflict { paths } => {
            return Ok(Concluded::Unresolved(vec![format!(
                "the working branch has moved on meanwhile and conflicts in {}",
                named(&paths)
            )]));
        }
    };
    if !contains(&main, &existing(&main, &reference).await?, &commit).await? {
        return Ok(Concluded::Unresolved(vec![format!(
            "{branch} has moved on since; what is new in it is not merged"
        )]));
    }
    Ok(Concluded::Merged { commit })
}

/// Whether both sides are in the history of the tree.
async fn holds(tree: &Repository, laid: &Laid) -> Result<bool> {
    Ok(contains(tree, &laid.theirs, "HEAD").await? && contains(tree, &laid.ours, "HEAD").await?)
}

/// What keeps the tree from being a merge, in words.
async fn left_to_do(tree: &Repository, laid: &Laid) -> Result<Vec<String>> {
    let under_way = laid.is_under_way(tree) && contains(tree, &laid.ours, "HEAD").await?;
    if !under_way && !holds(tree, laid).await? {
        let words = "the merge was given up: its history has only one of the two sides";
        return Ok(vec![words.to_owned()]);
    }
    let mut left = markers::left(tree, &laid.sum).await?;
    for (path, words) in untouched(tree, laid).await? {
        let of_path = format!("{path}: ");
        if !left.iter().any(|said| said.starts_with(&of_path)) {
            left.push(words);
        }
    }
    Ok(left)
}

/// Conflicts of which nobody has touched any side: the path, and what to say of it.
async fn untouched(tree: &Repository, laid: &Laid) -> Result<Vec<(String, String)>> {
    let said = tree.call(["ls-files", "--unmerged", "-z"]).bytes().await?;
    let open: HashSet<Vec<u8>> = Sum::read(false, &[b"\0", said.as_slice()].concat())?
        .conflicts
        .into_iter()
        .map(|stage| stage.entry.path)
        .collect();
    let comparable: Vec<Entry> = laid
        .files
        .iter()
        .filter(|file| file.mode != SUBMODULE)
        .cloned()
        .collect();
    let changed = follow::unlike(tree, &comparable).await?;
    let is_touched = |path: &Vec<u8>| {
        !open.contains(path)
            || match laid.files.iter().find(|file| file.path == *path) {
                Some(file) => file.mode != SUBMODULE && changed.contains(path),
                None => follow::is_there(tree, path),
            }
    };
    let mut words = Vec::new();
    for group in groups(&laid.sum) {
        if !group.iter().any(is_touched) {
            let names: Vec<String> = group.iter().map(|path| shown(path)).collect();
            let submodule = laid
                .files
                .iter()
                .any(|file| file.mode == SUBMODULE && group.contains(&file.path));
            let advice = if submodule {
                "say which commit it is to be with git"
            } else {
                "edit or delete it, or git add it as it is"
            };
            words.push((
                names[0].clone(),
                format!("{}: still in conflict; {advice}", names.join(", ")),
            ));
        }
    }
    Ok(words)
}

/// Paths in conflict, together with those that they are in conflict with.
fn groups(sum: &Sum) -> Vec<Vec<Vec<u8>>> {
    let mut groups: Vec<Vec<Vec<u8>>> = Vec::new();
    let open: HashSet<&Vec<u8>> = sum
        .conflicts
        .iter()
        .map(|stage| &stage.entry.path)
        .collect();
    let alone = sum
        .conflicts
        .iter()
        .map(|stage| vec![stage.entry.path.clone()]);
    for mut group in sum.groups.iter().cloned().chain(alone) {
        group.retain(|path| open.contains(path));
        let (met, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|other| other.iter().any(|path| group.contains(path)));
        let mut whole: Vec<Vec<u8>> = met.into_iter().flatten().chain(group).collect();
        whole.sort();
        whole.dedup();
        groups = apart;
        if !whole.is_empty() {
            groups.push(whole);
        }
    }
    groups.sort();
    groups
}

/// The merge as a commit, on the branch of its tree. What an agent committed itself stays, unless it has letters in it.
async fn commit(tree: &Repository, laid: &Laid, message: &str, at_ms: i64) -> Result<String> {
    stage(tree, laid).await?;
    let content = tree.call(["write-tree"]).text().await?;
    let head = existing(tree, "HEAD").await?;
    let commit = if !holds(tree, laid).await? {
        seal(tree, &content, &[&head, &laid.theirs], message, at_ms).await?
    } else if has_letters(tree, laid, &head).await? {
        let aside = format!("refs/ralphd/aside/{head}");
        tree.call(["update-ref", &aside, &head]).done().await?;
        seal(tree, &content, &[&laid.ours, &laid.theirs], message, at_ms).await?
    } else if existing_tree(tree, &head).await? == content {
        head.clone()
    } else {
        seal(tree, &content, &[&head], message, at_ms).await?
    };
    if commit != head {
        let words = ["update-ref", "-m", "ralphd: merge", "HEAD", &commit, &head];
        tree.call(words).done().await?;
    }
    for name in UNDER_WAY {
        let path = tree.git_dir().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(commit)
}

async fn existing_tree(tree: &Repository, commit: &str) -> Result<String> {
    tree.call(["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
        .text()
        .await
}

/// Whether what was committed beside the two sides speaks of letters.
async fn has_letters(tree: &Repository, laid: &Laid, head: &str) -> Result<bool> {
    let (ours, theirs) = (format!("^{}", laid.ours), format!("^{}", laid.theirs));
    let words = [
        "rev-list",
        "--full-history",
        "--max-count=1",
        head,
        &ours,
        &theirs,
        "--",
        letters::DIRECTORY,
    ];
    let said = tree
        .call(words)
        .variable("GIT_LITERAL_PATHSPECS", "1")
        .text()
        .await?;
    Ok(!said.is_empty())
}

/// Stages all that is in the tree, but letters: of those the index has what the merge itself makes.
async fn stage(tree: &Repository, laid: &Laid) -> Result<()> {
    // Git would ask the repositories of submodules how they are, with all their own settings.
    let known = tree.call(["ls-files", "-s", "-z"]).bytes().await?;
    let mut input = b".\0".to_vec();
    let mut known_letters = Vec::new();
    let prefix = format!("{}/", letters::DIRECTORY);
    for entry in Sum::read(false, &[b"\0", known.as_slice()].concat())?.conflicts {
        let entry = entry.entry;
        if entry.mode == SUBMODULE {
            input.extend_from_slice(b":(exclude,top,literal)");
            input.extend_from_slice(&entry.path);
            input.push(0);
        }
        if entry.path.starts_with(prefix.as_bytes()) || entry.path == letters::DIRECTORY.as_bytes()
        {
            known_letters.push(entry);
        }
    }
    input.extend_from_slice(format!(":(exclude,top,literal){}\0", letters::DIRECTORY).as_bytes());
    let words = [
        "add",
        "--all",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
    ];
    tree.call(words).input(input).done().await?;
    let made = sum(tree, &laid.ours, &laid.theirs).await?;
    let said = tree
        .call([
            "ls-tree",
            "-r",
            "-z",
            "--full-tree",
            &made.tree,
            "--",
            letters::DIRECTORY,
        ])
        .bytes()
        .await?;
    let mut input: Vec<u8> = known_letters
        .iter()
        .flat_map(|entry| unlisted(&entry.path, &entry.object))
        .collect();
    // `mode type object<TAB>path` is another form that is read.
    input.extend_from_slice(&said);
    if input.is_empty() {
        return Ok(());
    }
    tree.call(["update-index", "-z", "--index-info"])
        .input(input)
        .done()
        .await
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
    let (branch, head) = (tree.branch().await?, existing(&tree, "HEAD").await?);
    let record = record_of(&main, &place)?.context("the record of the tree is gone")?;
    take_away(&main, &record, &place, &turn).await?;
    let working = working_branch(&main).await?;
    if let Some(branch) = branch
        && branch.starts_with(&format!("{working}-merge-"))
        && contains(&main, &head, &branch_ref(&working)).await?
    {
        main.call(["update-ref", "-d", &branch_ref(&branch), &head])
            .done()
            .await?;
    }
    Ok(())
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
