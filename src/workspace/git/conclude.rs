//! Judges what somebody has made of a conflict. It must not take anybody's word for it: a merge is one when its history holds both sides, and
//! nothing of the conflict is left in the files.

use super::conflict::{Laid, holds, set_aside, unlisted};
use super::follow::{self, Entry};
use super::markers;
use super::merge::{Merged, Sum, contains, existing, join, seal, sum};
use super::names::{checked_ref, shown};
use super::removal::named;
use super::repository::Repository;
use super::turn;
use crate::workspace::letters;
use anyhow::{Context, Result, bail};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

/// What git itself keeps of a merge under way.
const UNDER_WAY: [&str; 4] = ["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"];
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
    let laid = laid_out(&tree)?;
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

/// What keeps a laid-out merge from being one, each in words.
pub async fn left_of_conflict(main: &Repository, tree: &Repository) -> Result<Vec<String>> {
    let _turn = turn::on(main.common_dir()).await;
    let tree = tree.again().await?;
    left_to_do(&tree, &laid_out(&tree)?).await
}

fn laid_out(tree: &Repository) -> Result<Laid> {
    let Some(laid) = Laid::read(tree)? else {
        bail!(
            "{} is a tree in which no merge was laid out",
            tree.work_tree().display()
        );
    };
    Ok(laid)
}

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
        set_aside(tree, &head).await?;
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

pub(super) async fn existing_tree(tree: &Repository, commit: &str) -> Result<String> {
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
pub(super) async fn stage(tree: &Repository, laid: &Laid) -> Result<()> {
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
