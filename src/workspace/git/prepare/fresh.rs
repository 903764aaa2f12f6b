//! A clone into an empty workspace. It is made aside, with a record of what is to be checked out, and moved in at one stroke: a `.git` in
//! the workspace is always a whole one. It must not write anything to the source.

use super::offer::{self, Offer, Target};
use super::record::{Record, Step};
use super::{Prepared, Unprepared, Wanted, exclude, look};
use crate::clock;
use crate::files;
use crate::model::git::Source;
use crate::workspace::git::repository::{DOT_GIT, Repository};
use crate::workspace::git::tool::{GitFailed, Tool};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// How the directories begin in which clones are made, inside the workspace: it is the same disk, and it goes away with it.
const ASIDE: &str = ".ralphd-cloning-";

/// Takes away what a clone that was cut off has left.
pub async fn clear_leftovers(workspace: &Path) -> Result<()> {
    let mut leftovers: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(workspace)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(ASIDE) {
            leftovers.push(entry.path());
        }
    }
    for leftover in leftovers {
        remove(leftover).await?;
    }
    Ok(())
}

async fn remove(directory: PathBuf) -> Result<()> {
    let removed = tokio::task::spawn_blocking(move || {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("cannot remove {}", directory.display()))
    });
    removed.await?
}

/// Clones the source into the workspace and checks out what is wanted.
pub async fn clone(
    tool: &Tool,
    workspace: &Path,
    source: &Source,
    wanted: &Wanted<'_>,
) -> Result<Prepared> {
    let aside = workspace.join(format!("{ASIDE}{}", clock::new_id()));
    files::make_private_directory(&aside)?;
    let made = make(tool, &aside, source, wanted).await;
    let moved = made.and_then(|()| move_in(&aside, workspace));
    let removed = remove(aside).await;
    moved.and(removed)?;
    let repository = super::open(tool, workspace).await?;
    let mut record = Record::read(&repository).context("the record of a new clone is gone")?;
    record.finish(&repository).await?;
    exclude::letters(&repository, wanted.letters).await?;
    Ok(Prepared {
        base: record.base,
        branch: record.branch,
        notes: look::standing(&repository).await?,
        safety: None,
    })
}

/// A clone with nothing checked out, and a record of what is to be.
async fn make(tool: &Tool, aside: &Path, source: &Source, wanted: &Wanted<'_>) -> Result<()> {
    let reference = wanted.reference.as_deref();
    let address = source.address(wanted.shallow);
    let offer = offer::ask(tool, aside, &address, reference, wanted.clone_timeout)
        .await
        .map_err(|error| explain(error, source))?;
    let target = offer
        .choose(reference, wanted.shallow)
        .map_err(|why| Unprepared(format!("{source} {why}")))?;
    let fetched = match wanted.shallow {
        true => {
            init(tool, aside, offer.object_format()).await?;
            shallow(tool, aside, &address, &target, wanted).await
        }
        false => whole(tool, aside, source, wanted).await,
    };
    fetched.map_err(|error| explain(error, source))?;
    let repository = Repository::open(tool, aside)
        .await?
        .context("git made no clone")?;
    let base = base(&repository, source, &offer, &target, wanted).await?;
    if let Some(base) = &base {
        exclude::refuse_in_the_way(&repository, base, wanted.letters).await?;
    }
    let branch = wanted.branch.clone().or(match &target {
        Target::Branch(name) => Some(name.clone()),
        Target::Nothing => repository.branch().await?,
        Target::Tag(_) | Target::Commit(_) => None,
    });
    if let (None, Some(branch)) = (&base, &branch) {
        let full = format!("refs/heads/{branch}");
        repository
            .call(["symbolic-ref", "HEAD", &full])
            .done()
            .await?;
    }
    let record = Record {
        source: source.to_string(),
        reference: wanted.reference.clone(),
        follows: target.follows(),
        shallow: wanted.shallow,
        session: wanted.session.to_owned(),
        base: base.clone(),
        branch: branch.clone(),
        under_way: base.map(|commit| Step { branch, commit }),
    };
    record.write(repository.git_dir())
}

/// All branches and tags; the objects of a local source are linked to, not copied.
async fn whole(tool: &Tool, aside: &Path, source: &Source, wanted: &Wanted<'_>) -> Result<()> {
    let address = source.address(false);
    let aside_name = aside.to_string_lossy();
    let mut words = vec![
        "clone",
        "--quiet",
        "--no-checkout",
        "--template=",
        "--origin=origin",
        "--no-recurse-submodules",
    ];
    // What a source borrows from others would be borrowed by the clone as well, and break with them.
    if source.path().is_some_and(borrows) {
        words.push("--no-local");
    }
    words.extend(["--", &address, &aside_name]);
    let call = tool.call(aside, words).within(wanted.clone_timeout);
    call.done().await
}

fn borrows(source: &Path) -> bool {
    [source.join(DOT_GIT), source.to_owned()]
        .iter()
        .any(|git_dir| git_dir.join("objects/info/alternates").exists())
}

async fn init(tool: &Tool, aside: &Path, object_format: &str) -> Result<()> {
    let format = format!("--object-format={object_format}");
    let words = ["init", "--quiet", "--template=", &format];
    tool.call(aside, words).done().await
}

/// One commit and nothing before it.
async fn shallow(
    tool: &Tool,
    aside: &Path,
    address: &str,
    target: &Target,
    wanted: &Wanted<'_>,
) -> Result<()> {
    let Some(refspec) = target.refspec() else {
        return Ok(());
    };
    let repository = Repository::open(tool, aside)
        .await?
        .context("git made no repository")?;
    let words = [
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--",
        address,
        &refspec,
    ];
    repository
        .call_out(words)?
        .within(wanted.clone_timeout)
        .done()
        .await
}

/// The commit to start from; nothing in a source without any.
async fn base(
    repository: &Repository,
    source: &Source,
    offer: &Offer,
    target: &Target,
    wanted: &Wanted<'_>,
) -> Result<Option<String>> {
    let Some(name) = target.local() else {
        return Ok(None);
    };
    if let Some(commit) = repository.commit_of(&name).await? {
        return Ok(Some(commit));
    }
    // A commit that no branch and no tag leads to has to be asked for by itself.
    let words = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--",
        &source.address(false),
        &name,
    ];
    if matches!(target, Target::Commit(_)) {
        let call = repository.call_out(words)?.within(wanted.clone_timeout);
        call.ends_with(&[0, 1, 128]).await?;
    }
    match repository.commit_of(&name).await? {
        Some(commit) => Ok(Some(commit)),
        None => bail!(Unprepared(format!("{source} {}", offer.lacks(&name)))),
    }
}

/// Puts the clone in its place: all of it or nothing, also when the power fails.
fn move_in(aside: &Path, workspace: &Path) -> Result<()> {
    let from = aside.join(DOT_GIT);
    let put = || -> std::io::Result<()> {
        sync_small(&from)?;
        fs::rename(&from, workspace.join(DOT_GIT))?;
        File::open(workspace)?.sync_all()
    };
    put().with_context(|| format!("cannot move the clone into {}", workspace.display()))
}

/// Git sees to its objects, but not to its settings and names.
fn sync_small(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != "objects" {
            sync_small(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

/// What git says of a source that is on this machine will be the same the next time.
fn explain(error: anyhow::Error, source: &Source) -> anyhow::Error {
    let Some(failed) = error.downcast_ref::<GitFailed>() else {
        return error;
    };
    if failed.complaint.contains("dubious ownership") {
        return Unprepared(format!(
            "{source} belongs to another user, whose repositories git does not read; copy it, or give its URL"
        ))
        .into();
    }
    match source {
        Source::Path(_) => {
            Unprepared(format!("cannot clone {source}: {}", failed.complaint)).into()
        }
        Source::Url(_) => error.context(format!("cannot clone {source}")),
    }
}
