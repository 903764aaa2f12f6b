//! Work in the user's own checkout, because it was asked for: a lock file says so, the tree is kept as it was under a ref, and the work goes
//! on a branch of its own. It must not change a file of the tree, nor throw the user off what is under way there.

use super::everything::stage_all;
use super::{Prepared, Unprepared, Wanted, exclude, look};
use crate::clock;
use crate::workspace::git::repository::Repository;
use crate::workspace::git::tool::Tool;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// In git's directory of the tree.
pub const LOCK_FILE: &str = "ralphd.lock";
const INDEX_FILE: &str = "ralphd-safety-index";

/// The name under which the tree is kept as a session found it.
pub fn safety_reference(session: &str) -> String {
    format!("refs/ralphd/safety/{session}")
}

/// Makes the user's own checkout ready.
pub async fn prepare(tool: &Tool, workspace: &Path, wanted: &Wanted<'_>) -> Result<Prepared> {
    let Some(repository) = Repository::in_place(tool, workspace).await? else {
        bail!(Unprepared(format!(
            "{} is not the top of a git checkout; in_place works only there, for the tree is kept in its repository first",
            workspace.display()
        )));
    };
    let lock = repository.git_dir().join(LOCK_FILE);
    let again = holder(&lock)?.is_some_and(|holder| holder.session == wanted.session);
    if !again {
        refuse_under_way(&repository).await?;
        refuse_another_reference(&repository, wanted).await?;
        take_lock(&lock, wanted.session)?;
    }
    let mut notes = Vec::new();
    notes.extend(look::dirt(&repository).await?.map(|dirt| dirt.note()));
    let safety = keep(&repository, wanted.session, &mut notes).await?;
    let base = repository.commit_of(&format!("{safety}^1")).await?;
    exclude::letters(&repository, wanted.letters).await?;
    if let Some(branch) = &wanted.branch {
        go_on_branch(&repository, branch, base.as_deref()).await?;
    }
    notes.extend(look::standing(&repository).await?);
    Ok(Prepared {
        base,
        branch: repository.branch().await?,
        notes,
        safety: Some(safety),
    })
}

/// Gives the checkout back. Another session's lock stays.
pub async fn release_in_place(tool: &Tool, workspace: &Path, session: &str) -> Result<()> {
    let Some(repository) = Repository::in_place(tool, workspace).await? else {
        return Ok(());
    };
    let lock = repository.git_dir().join(LOCK_FILE);
    match holder(&lock)? {
        Some(holder) if holder.session == session => {
            fs::remove_file(&lock).with_context(|| format!("cannot remove {}", lock.display()))
        }
        _ => Ok(()),
    }
}

async fn refuse_under_way(repository: &Repository) -> Result<()> {
    let unmerged = repository
        .call(["ls-files", "--unmerged", "-z"])
        .bytes()
        .await?;
    let what = match look::under_way(repository.git_dir()) {
        None if !unmerged.is_empty() => Some("merge"),
        other => other,
    };
    match what {
        Some(what) => bail!(Unprepared(format!(
            "a {what} is under way in {}; end it first",
            repository.work_tree().display()
        ))),
        None => Ok(()),
    }
}

async fn refuse_another_reference(repository: &Repository, wanted: &Wanted<'_>) -> Result<()> {
    let Some(reference) = &wanted.reference else {
        return Ok(());
    };
    let asked = repository.commit_of(reference).await?;
    if asked.is_none() || asked != repository.head().await? {
        bail!(Unprepared(format!(
            "{} is not at {reference:?}, and in_place works on what is checked out; check it out there first, or leave out the ref",
            repository.work_tree().display()
        )));
    }
    Ok(())
}

/// Who works in a checkout.
struct Holder {
    session: String,
    since: String,
}

fn holder(lock: &Path) -> Result<Option<Holder>> {
    let text = match fs::read_to_string(lock) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", lock.display())),
    };
    let said = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or("unknown").trim().to_owned()
    };
    Ok(Some(Holder {
        session: said("session:"),
        since: said("since:"),
    }))
}

/// Takes the lock with all that it says, or not at all: two cannot have it.
fn take_lock(lock: &Path, session: &str) -> Result<()> {
    let since = clock::iso(clock::now_ms());
    let text = format!(
        "session: {session}\nsince: {since}\n\nralphd works in this checkout for that session, and removes this file when it ends.\nTo end it: ralphd cancel {session}\nWhere ralphd itself is gone, delete this file. The tree as it was: {}\n",
        safety_reference(session)
    );
    let draft = lock.with_extension(format!("{}.tmp", clock::new_id()));
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create_new(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::hard_link(&draft, lock)
    };
    let taken = write();
    let _ = fs::remove_file(&draft);
    match taken {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match holder(lock)? {
            Some(holder) if holder.session == session => Ok(()),
            Some(holder) => bail!(Unprepared(format!(
                "locked by session {} since {} ({})",
                holder.session,
                holder.since,
                lock.display()
            ))),
            None => bail!("{} came and went; try again", lock.display()),
        },
        other => other.with_context(|| format!("cannot write {}", lock.display())),
    }
}

/// Keeps the tree as it is, with all that is not committed and not ignored, as a commit. Index, tree and HEAD stay as they are.
async fn keep(repository: &Repository, session: &str, notes: &mut Vec<String>) -> Result<String> {
    let reference = safety_reference(session);
    if repository.commit_of(&reference).await?.is_some() {
        return Ok(reference);
    }
    let index = repository.git_dir().join(INDEX_FILE);
    // What it knows of files that did not change saves reading them.
    match fs::copy(repository.git_dir().join("index"), &index) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let _ = fs::remove_file(&index);
        }
        copied => {
            copied.with_context(|| format!("cannot write {}", index.display()))?;
        }
    }
    let kept = commit_tree(repository, &index, session, notes).await;
    let _ = fs::remove_file(&index);
    let words = ["update-ref", &reference, &kept?];
    repository.call(words).done().await?;
    Ok(reference)
}

async fn commit_tree(
    repository: &Repository,
    index: &Path,
    session: &str,
    notes: &mut Vec<String>,
) -> Result<String> {
    let inside = stage_all(repository, Some(index)).await?;
    notes.extend(
        inside.iter().map(|path| {
            format!("{path} is a repository of its own and not part of the safety copy")
        }),
    );
    let written = repository
        .call(["write-tree"])
        .variable("GIT_INDEX_FILE", index.to_string_lossy());
    let tree = written.text().await?;
    let message = format!("The tree as session {session} found it");
    let mut words = vec!["commit-tree", tree.as_str(), "-m", message.as_str()];
    let head = repository.head().await?;
    if let Some(head) = &head {
        words.extend(["-p", head.as_str()]);
    }
    let author = &repository.tool().author;
    let mut call = repository.call(words);
    for role in ["AUTHOR", "COMMITTER"] {
        call = call
            .variable(&format!("GIT_{role}_NAME"), author.name.as_str())
            .variable(&format!("GIT_{role}_EMAIL"), author.email.as_str());
    }
    call.text().await
}

/// Makes the branch where the tree is and goes on it: the commit stays the same, so index and tree do, too.
async fn go_on_branch(repository: &Repository, branch: &str, base: Option<&str>) -> Result<()> {
    if repository.branch().await?.as_deref() == Some(branch) {
        return Ok(());
    }
    let full = format!("refs/heads/{branch}");
    let head = repository.head().await?;
    match (repository.commit_of(&full).await?, &head) {
        (Some(tip), Some(head)) if tip != *head => bail!(Unprepared(format!(
            "{} is not on the branch {branch} any more, where the work of this session is; check it out there",
            repository.work_tree().display()
        ))),
        (None, Some(head)) if base == Some(head) => {
            repository
                .call(["update-ref", &full, head, ""])
                .done()
                .await?;
        }
        (None, Some(_)) => bail!(Unprepared(format!(
            "{} was moved to another commit while it was being made ready; try again",
            repository.work_tree().display()
        ))),
        _ => {}
    }
    let words = ["symbolic-ref", "-m", "ralphd: begin to work", "HEAD", &full];
    repository.call(words).done().await
}
