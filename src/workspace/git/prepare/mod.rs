//! Making a workspace ready for work on a repository, whatever state it was left in: empty, cut off half way, used by another session before.
//! Nothing of anybody's is overwritten; where that would be needed, it refuses. It may be killed at any instant and called again.
//! It must not touch the repository that it clones from, nor decide when a workspace is free.
//!
//! ```text
//!  fresh     empty: clone aside, with a record of what is to be checked out; move in; check out
//!  renew     a clone of ours: finish what was cut off, fetch, go forward where nobody's work is in the way
//!  in_place  the user's own checkout: lock, safety copy, branch
//!  record    what a workspace was made from, and which step is under way
//!  offer     the branches and tags of a source, and which of them is meant
//!  look      what people should know: uncommitted files, submodules, large files left out
//!  exclude   the letters of agents are no part of the work
//!  everything  the whole tree of a user, for the safety copy
//! ```

mod everything;
mod exclude;
mod fresh;
mod in_place;
mod look;
mod offer;
mod record;
mod renew;

use super::repository::{DOT_GIT, Repository};
use super::tool::Tool;
use crate::files;
use crate::model::git::{Source, check_reference};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::time::Duration;

pub use in_place::{LOCK_FILE, release_in_place, safety_reference};

/// What the workspace is to be.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    pub source: Option<Source>,
    /// A branch, a tag or a commit of the source; none: whatever it has checked out.
    pub reference: Option<String>,
    pub shallow: bool,
    /// The workspace is the source: a directory that a person works in.
    pub in_place: bool,
    /// The branch to work on; none: the one that is checked out.
    pub branch: Option<String>,
    pub session: &'a str,
    /// The directory of the letters.
    pub letters: &'a str,
    pub clone_timeout: Duration,
}

/// A workspace that is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The commit that the work of this session starts from.
    pub base: Option<String>,
    pub branch: Option<String>,
    /// What people and the agent should know.
    pub notes: Vec<String>,
    /// Where the tree is kept as the user left it.
    pub safety: Option<String>,
}

/// A workspace that cannot be made ready until somebody changes something: what, where, what instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprepared(pub String);

impl std::fmt::Display for Unprepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Unprepared {}

/// Makes the workspace ready. Called again, for the same session, it finds it ready.
pub async fn prepare(tool: &Tool, workspace: &Path, wanted: &Wanted<'_>) -> Result<Prepared> {
    for name in [&wanted.reference, &wanted.branch].into_iter().flatten() {
        check_reference(name).map_err(|why| Unprepared(format!("a ref {why}")))?;
    }
    if wanted.in_place {
        return in_place::prepare(tool, workspace, wanted).await;
    }
    files::make_private_directory(workspace)?;
    fresh::clear_leftovers(workspace).await?;
    let has_git = workspace.join(DOT_GIT).symlink_metadata().is_ok();
    match (&wanted.source, has_git) {
        (None, false) => Ok(Prepared::default()),
        (None, true) => as_it_is(tool, workspace, wanted).await,
        (Some(source), true) => renew::renew(tool, workspace, source, wanted).await,
        (Some(source), false) => {
            refuse_what_is_there(workspace, wanted.letters)?;
            fresh::clone(tool, workspace, source, wanted).await
        }
    }
}

/// Takes over a repository that was made from a point of another workspace, as if it had been cloned from the same source.
pub async fn adopt(tool: &Tool, workspace: &Path, wanted: &Wanted<'_>) -> Result<Prepared> {
    let repository = open(tool, workspace).await?;
    exclude::letters(&repository, wanted.letters).await?;
    let (base, branch) = (repository.head().await?, repository.branch().await?);
    if let Some(source) = &wanted.source {
        let record = record::Record {
            source: source.to_string(),
            reference: wanted.reference.clone(),
            follows: None,
            shallow: wanted.shallow,
            session: wanted.session.to_owned(),
            base: base.clone(),
            branch: branch.clone(),
            under_way: None,
        };
        record.write(repository.git_dir())?;
    }
    Ok(Prepared {
        base,
        branch,
        ..Prepared::default()
    })
}

/// A repository that somebody made here: nothing is changed.
async fn as_it_is(tool: &Tool, workspace: &Path, wanted: &Wanted<'_>) -> Result<Prepared> {
    let repository = open(tool, workspace).await?;
    if let Some(mut record) = record::Record::read(&repository) {
        record.finish(&repository).await?;
    }
    exclude::letters(&repository, wanted.letters).await?;
    let mut notes = Vec::new();
    notes.extend(look::dirt(&repository).await?.map(|dirt| dirt.note()));
    notes.extend(look::standing(&repository).await?);
    Ok(Prepared {
        base: repository.head().await?,
        branch: repository.branch().await?,
        notes,
        safety: None,
    })
}

/// The repository of a workspace, which must be one that works.
async fn open(tool: &Tool, workspace: &Path) -> Result<Repository> {
    let repository = Repository::open(tool, workspace)
        .await?
        .context("the repository of the workspace is gone")?;
    let (code, _) = repository
        .call(["rev-parse", "--git-dir"])
        .ends_with(&[0, 128])
        .await?;
    if code != 0 {
        bail!(Unprepared(format!(
            "{} is no git repository that works; repair or remove it",
            repository.git_dir().display()
        )));
    }
    Ok(repository)
}

fn refuse_what_is_there(workspace: &Path, letters: &str) -> Result<()> {
    let entries = std::fs::read_dir(workspace)
        .with_context(|| format!("cannot look into {}", workspace.display()))?;
    for entry in entries {
        if entry?.file_name() != letters {
            bail!(Unprepared(format!(
                "{} is not empty and no git repository; nothing in it is overwritten. Use another workspace, or empty it",
                workspace.display()
            )));
        }
    }
    Ok(())
}
