//! A workspace that was cloned before: what was cut off is finished, then news of the source are fetched for a new session. It stays on the
//! branch that is checked out, and goes forward only where nobody's work is in the way. It must not overwrite or drop anything.

use super::look::{self, Dirt};
use super::offer::{self, Offer, Target};
use super::record::{Record, Step};
use super::{Prepared, Unprepared, Wanted, exclude};
use crate::model::git::Source;
use crate::workspace::git::repository::Repository;
use crate::workspace::git::tool::{GitFailed, Tool};
use anyhow::{Result, bail};
use std::path::Path;

const ALL_BRANCHES: &str = "+refs/heads/*:refs/remotes/origin/*";

/// Makes a clone ready for a session.
pub async fn renew(
    tool: &Tool,
    workspace: &Path,
    source: &Source,
    wanted: &Wanted<'_>,
) -> Result<Prepared> {
    let repository = super::open(tool, workspace).await?;
    let mut record = known(&repository, workspace, source)?;
    record.finish(&repository).await?;
    let mut notes = Vec::new();
    if record.session != wanted.session {
        begin(&repository, &mut record, source, wanted, &mut notes).await?;
    }
    exclude::letters(&repository, wanted.letters).await?;
    notes.extend(look::standing(&repository).await?);
    Ok(Prepared {
        base: record.base,
        branch: record.branch,
        notes,
        safety: None,
    })
}

fn known(repository: &Repository, workspace: &Path, source: &Source) -> Result<Record> {
    let place = workspace.display();
    let Some(record) = Record::read(repository) else {
        bail!(Unprepared(format!(
            "{place} holds a repository that was not cloned from {source}; use another workspace, or leave out the repository"
        )));
    };
    if !source.is(&record.source) {
        bail!(Unprepared(format!(
            "{place} was cloned from {}, not from {source}; use another workspace",
            record.source
        )));
    }
    Ok(record)
}

/// The first time in this workspace for a session.
async fn begin(
    repository: &Repository,
    record: &mut Record,
    source: &Source,
    wanted: &Wanted<'_>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let dirt = look::dirt(repository).await?;
    notes.extend(dirt.as_ref().map(Dirt::note));
    let under_way = look::under_way(repository.git_dir());
    notes.extend(under_way.map(|what| format!("a {what} is under way in the tree")));
    let clean = dirt.is_none() && under_way.is_none();
    let offer = match fetch(repository, record, source, wanted).await {
        Ok(offer) => offer,
        Err(error) => match error.downcast_ref::<GitFailed>() {
            Some(failed) => {
                notes.push(format!(
                    "{source} could not be fetched, work goes on with what is here: {}",
                    failed.complaint
                ));
                kept(repository).await?
            }
            None => return Err(error),
        },
    };
    match &wanted.reference {
        Some(other) if record.reference.as_ref() != Some(other) => {
            if !clean {
                let what = dirt.map_or("work of git under way".to_owned(), |dirt| {
                    format!("uncommitted changes ({})", dirt.files())
                });
                bail!(Unprepared(format!(
                    "{} has {what} and is to go to {other:?}; commit or remove them, or use another workspace",
                    repository.work_tree().display(),
                )));
            }
            switch(repository, record, source, &offer, wanted, notes).await?;
        }
        _ => forward(repository, record, clean, notes).await?,
    }
    record.session = wanted.session.to_owned();
    record.base = repository.head().await?;
    record.branch = repository.branch().await?;
    record.write(repository.git_dir())
}

/// Fetches the branches, and what is asked for beside them.
async fn fetch(
    repository: &Repository,
    record: &Record,
    source: &Source,
    wanted: &Wanted<'_>,
) -> Result<Offer> {
    let address = source.address(record.shallow);
    let reference = wanted.reference.as_deref().or(record.reference.as_deref());
    let tool = repository.tool();
    // Not in the tree: its settings must not have a say.
    let outside = Path::new("/");
    let offer = offer::ask(tool, outside, &address, reference, wanted.clone_timeout).await?;
    let mut refspecs: Vec<String> = Vec::new();
    let target = offer.choose(reference, record.shallow).ok();
    match record.shallow {
        true => refspecs.extend(target.and_then(|target| target.refspec())),
        false => {
            refspecs.push(ALL_BRANCHES.to_owned());
            if let Some(Target::Tag(_)) = &target {
                refspecs.extend(absent(repository, &target).await?);
            }
        }
    }
    if refspecs.is_empty() {
        return Ok(offer);
    }
    let mut words = vec![
        "fetch",
        "--quiet",
        "--prune",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
    ];
    words.extend(["--", &address]);
    words.extend(refspecs.iter().map(String::as_str));
    let call = repository.call_out(words)?.within(wanted.clone_timeout);
    call.done().await?;
    Ok(offer)
}

/// A tag that is not here yet; one that is stays as it is.
async fn absent(repository: &Repository, target: &Option<Target>) -> Result<Option<String>> {
    let Some(name) = target.as_ref().and_then(Target::local) else {
        return Ok(None);
    };
    let known = repository.commit_of(&name).await?.is_some();
    Ok((!known)
        .then(|| target.as_ref().and_then(Target::refspec))
        .flatten())
}

/// What was fetched earlier.
async fn kept(repository: &Repository) -> Result<Offer> {
    let names = |pattern: &'static str| {
        repository
            .call(["for-each-ref", "--format=%(refname)", pattern])
            .text()
    };
    let strip = |said: String, prefix: &str| -> Vec<String> {
        said.lines()
            .filter_map(|name| name.strip_prefix(prefix))
            .filter(|name| *name != "HEAD")
            .map(str::to_owned)
            .collect()
    };
    Ok(Offer {
        branches: strip(names("refs/remotes/origin/").await?, "refs/remotes/origin/"),
        tags: strip(names("refs/tags/").await?, "refs/tags/"),
        ..Offer::default()
    })
}

/// To another reference than the workspace was made from. The branch that is left stays.
async fn switch(
    repository: &Repository,
    record: &mut Record,
    source: &Source,
    offer: &Offer,
    wanted: &Wanted<'_>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let reference = wanted.reference.as_deref();
    let refuse = |why: String| Unprepared(format!("{source} {why}"));
    let target = offer.choose(reference, record.shallow).map_err(refuse)?;
    let found = match target.local() {
        Some(name) => repository.commit_of(&name).await?,
        None => None,
    };
    let Some(commit) = found else {
        bail!(refuse(offer.lacks(reference.unwrap_or("HEAD"))));
    };
    exclude::refuse_in_the_way(repository, &commit, wanted.letters).await?;
    let left = leave(repository).await?;
    let branch = wanted.branch.clone().or(target.follows());
    let commit = match &branch {
        // One that was worked on before is picked up where it was left.
        Some(branch) => repository
            .commit_of(&format!("refs/heads/{branch}"))
            .await?
            .unwrap_or(commit),
        None => commit,
    };
    record.reference = wanted.reference.clone();
    record.follows = target.follows();
    record
        .step(
            repository,
            Step {
                branch: branch.clone(),
                commit,
            },
        )
        .await?;
    if left != branch {
        notes.extend(left.map(|left| format!("the branch {left} is kept as it was")));
    }
    forward(repository, record, true, notes).await
}

/// The branch that is left; work that is on none gets a name, so that it stays.
async fn leave(repository: &Repository) -> Result<Option<String>> {
    if let Some(branch) = repository.branch().await? {
        return Ok(Some(branch));
    }
    if let Some(head) = repository.head().await? {
        let name = format!("refs/ralphd/left/{head}");
        repository.call(["update-ref", &name, &head]).done().await?;
    }
    Ok(None)
}

/// Takes over what is new in the source where there is nothing of our own on top of it; else says how the two stand.
async fn forward(
    repository: &Repository,
    record: &mut Record,
    clean: bool,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(followed) = record.follows.clone() else {
        return Ok(());
    };
    let Some(news) = repository.commit_of(&offer::tracking(&followed)).await? else {
        notes.push(format!("the source has no branch {followed} any more"));
        return Ok(());
    };
    let (ahead, behind) = apart(repository, &news).await?;
    let step = Step {
        branch: repository.branch().await?,
        commit: news,
    };
    match (ahead, behind) {
        (_, 0) => {}
        (0, _) if clean => {
            record.step(repository, step).await?;
            notes.push(format!(
                "brought forward by {} of {followed}",
                commits(behind)
            ));
        }
        (0, _) => notes.push(format!(
            "behind {followed} by {}, and not brought forward",
            commits(behind)
        )),
        _ => notes.push(format!(
            "diverged from {followed}: ahead {ahead}, behind {behind}"
        )),
    }
    Ok(())
}

/// By how many commits the tree is ahead of another one, and behind it.
async fn apart(repository: &Repository, other: &str) -> Result<(u64, u64)> {
    if repository.head().await?.is_none() {
        return Ok((0, 1));
    }
    let range = format!("HEAD...{other}");
    let words = ["rev-list", "--left-right", "--count", &range, "--"];
    let said = repository.call(words).text().await?;
    let mut counts = said
        .split_whitespace()
        .map(|count| count.parse().unwrap_or(0));
    Ok((counts.next().unwrap_or(0), counts.next().unwrap_or(0)))
}

fn commits(count: u64) -> String {
    match count {
        1 => "1 commit".to_owned(),
        more => format!("{more} commits"),
    }
}
