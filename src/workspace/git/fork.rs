//! A point's files in another directory, to go on from there: a repository of its own where the point is in one, else plain files.
//! The place that the point is from stays untouched.

use super::ground::Ground;
use super::repository::Repository;
use crate::workspace::fingerprint::hash_of;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;

/// Fills a directory, which must be empty or missing, with the files of a point; a repository there stands on the new branch `branch`.
/// Cut short, it leaves a directory to be emptied before the next try.
pub async fn check_out(ground: &Ground, commit: &str, into: &Path, branch: &str) -> Result<()> {
    let Some(commit) = ground.repository().commit_of(commit).await? else {
        bail!("the point {commit} is not in this repository any more");
    };
    std::fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
    let mut listing =
        std::fs::read_dir(into).with_context(|| format!("cannot look into {}", into.display()))?;
    ensure!(listing.next().is_none(), "{} is not empty", into.display());
    match ground {
        Ground::Own(repository) => clone(repository, &commit, into, branch).await,
        Ground::Shadow(repository) => plain_files(repository, &commit, into).await,
    }
}

/// Objects are shared by hard links, where the disk is the same.
async fn clone(repository: &Repository, commit: &str, into: &Path, branch: &str) -> Result<()> {
    let (from, to) = (
        repository.common_dir().to_string_lossy(),
        into.to_string_lossy(),
    );
    let words = ["clone", "--quiet", "--no-checkout", "--", &from, &to];
    let above = into.parent().context("a clone needs a directory")?;
    repository.tool().call(above, words).done().await?;
    let Some(cloned) = Repository::open(repository.tool(), into).await? else {
        bail!("git clone made no repository in {}", into.display());
    };
    // A shallow repository is not copied whole.
    if cloned.commit_of(commit).await?.is_none() {
        let words = ["fetch", "--quiet", "--no-tags", "--", &from, commit];
        cloned.call(words).done().await?;
    }
    let words = [
        "checkout",
        "--quiet",
        "--no-track",
        "-b",
        branch,
        commit,
        "--",
    ];
    cloned.call(words).done().await?;
    lead_home(repository, &cloned).await
}

/// What is pushed from there goes where it would go from here.
async fn lead_home(repository: &Repository, cloned: &Repository) -> Result<()> {
    let words = ["config", "--local", "--get", "remote.origin.url"];
    let (code, address) = repository.call(words).ends_with(&[0, 1]).await?;
    let address = String::from_utf8_lossy(&address);
    let words = match (code, address.trim_end()) {
        (0, address) if !address.is_empty() => vec!["config", "remote.origin.url", address],
        _ => vec!["remote", "remove", "origin"],
    };
    cloned.call(words).done().await
}

async fn plain_files(repository: &Repository, commit: &str, into: &Path) -> Result<()> {
    let index = format!("ralphd.fork-{:016x}.index", hash_of(into));
    let index = repository.git_dir().join(index);
    let _ = std::fs::remove_file(&index);
    let there = Repository::beside(repository.tool(), repository.git_dir(), into).await?;
    let words = ["read-tree", "--reset", "-u", commit];
    let call = there.call(words);
    let call = call.variable("GIT_INDEX_FILE", index.to_string_lossy());
    let done = call.done().await;
    let _ = std::fs::remove_file(&index);
    done
}
