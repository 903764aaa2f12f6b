//! Gives a branch to the repository that the work came from. Never by force, never under another name, and never under the feet of somebody who
//! has that branch checked out. That it is not taken is an answer in words, not an error.

use super::names::{branch_ref, checked_ref, listed};
use super::repository::{DOT_GIT, Repository};
use super::tool::GitFailed;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// Not taken, and why.
    Refused(String),
}

/// Pushes a branch to the repository at this address or path.
pub async fn push(
    repository: &Repository,
    to: &str,
    branch: &str,
    timeout: Duration,
) -> Result<Pushed> {
    let reference = checked_ref(branch)?;
    if to.is_empty() || to.starts_with('-') || to.chars().any(char::is_control) {
        bail!("{to:?} is no address to push to");
    }
    let repository = repository.again().await?;
    if let Some(setting) = led_astray(&repository, to).await? {
        return Ok(Pushed::Refused(format!(
            "a setting of the repository ({setting}) is about this address; remove it"
        )));
    }
    if let Some(path) = local(to)
        && is_checked_out(&repository, &path, branch).await?
    {
        return Ok(Pushed::Refused(format!(
            "{branch} is checked out in {to}; push another branch, or check out another one there"
        )));
    }
    let both = format!("{reference}:{reference}");
    // Said again what could be set otherwise. The far side's program, or a local one would be taken from the settings.
    let words = [
        "push",
        "--no-verify",
        "--no-follow-tags",
        "--no-signed",
        "--no-mirror",
        "--no-prune",
        "--recurse-submodules=no",
        "--receive-pack=git-receive-pack",
        "--",
        to,
        &both,
    ];
    let pushed = repository.call_out(words)?.within(timeout).done().await;
    match pushed {
        Ok(()) => Ok(Pushed::Done),
        Err(error) => match error.downcast::<GitFailed>() {
            Ok(failed) => Ok(Pushed::Refused(in_short(&failed.complaint))),
            Err(error) => Err(error),
        },
    }
}

/// A setting for a remote of the very name of the address: it may name a program, or another address.
async fn led_astray(repository: &Repository, to: &str) -> Result<Option<String>> {
    let names = repository
        .call(["config", "--list", "--name-only", "-z", "--includes"])
        .bytes()
        .await?;
    let prefix = format!("remote.{to}.");
    let mut names = listed(&names).map(String::from_utf8_lossy);
    Ok(names
        .find(|name| name.starts_with(&prefix))
        .map(String::from))
}

/// The directory that an address means on this machine.
fn local(to: &str) -> Option<PathBuf> {
    let path = Path::new(to.strip_prefix("file://").unwrap_or(to));
    path.is_dir().then(|| path.to_owned())
}

async fn is_checked_out(repository: &Repository, path: &Path, branch: &str) -> Result<bool> {
    let own = path.join(DOT_GIT);
    let git_dir = if own.exists() { own } else { path.to_owned() };
    let listing = repository
        .tool()
        .call(path, ["worktree", "list", "--porcelain", "-z"])
        .variable("GIT_DIR", git_dir.to_string_lossy())
        .bytes()
        .await;
    // What is no repository is found out by the push, which says so better.
    let Ok(listing) = listing else {
        return Ok(false);
    };
    let line = format!("branch {}", branch_ref(branch));
    Ok(listed(&listing).any(|part| part == line.as_bytes()))
}

/// Git's words without its advice, and without what is known anyway.
fn in_short(complaint: &str) -> String {
    let told = |line: &&str| {
        !line.starts_with("hint:")
            && !line.starts_with("To ")
            && !line.starts_with("error: failed to push")
    };
    let lines: Vec<&str> = complaint
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .filter(told)
        .collect();
    match lines.is_empty() {
        true => complaint.to_owned(),
        false => lines.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_git_in_short() {
        let complaint = "To /srv/x\n ! [rejected]        a -> a (fetch first)\nerror: failed to push some refs to '/srv/x'\nhint: Updates were rejected";
        assert_eq!(
            in_short(complaint),
            "! [rejected]        a -> a (fetch first)"
        );
        assert_eq!(
            in_short("took longer than 3 s and was ended"),
            "took longer than 3 s and was ended"
        );
    }
}
