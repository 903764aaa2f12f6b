//! After the end of a session: the trees of its tasks are taken away, their branches stay; the lock in a user's own checkout is opened.
//! What is in a tree and in no commit yet is committed to its branch first; nothing is ever lost by tidying.

use crate::clock::now_ms;
use crate::engine::House;
use crate::store::driver::Sql;
use crate::store::workspaces::{self, Workspace};
use crate::workspace::git::{self, Ground, Moment, Removal};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// What the directories of laid-out merges begin with.
const CONFLICT: &str = "merge-";
/// The numbers of last states, beyond all iterations.
const LAST_STATES: i64 = 1_000_000_000;

/// Does what sessions that have ended left to do in these places. What fails is tried again at the next round.
pub async fn tidy(house: &House, untidy: Vec<Workspace>) {
    for place in untidy {
        let path = place.path.clone();
        if let Err(error) = tidy_one(house, place).await {
            tracing::warn!("{path} is not tidied up: {error:#}");
        }
    }
}

async fn tidy_one(house: &House, place: Workspace) -> Result<()> {
    let path = Path::new(&place.path);
    if let Some(main_path) = place.main_path.clone() {
        return remove_tree(house, place, &main_path).await;
    }
    let session = place.untidy_session_id.clone().unwrap_or_default();
    git::release_in_place(&house.git, path, &session).await?;
    let done = place.path.clone();
    let done = move |sql: &mut dyn Sql| workspaces::set_untidy(sql, &done, None);
    house.store.write(done).await
}

async fn remove_tree(house: &House, place: Workspace, main_path: &str) -> Result<()> {
    let path = Path::new(&place.path);
    let session = place.untidy_session_id.clone().unwrap_or_default();
    if let Some(main) = house.repository(Path::new(main_path)).await? {
        if let Some(tree) = git::tree_at(&main, path).await? {
            commit_rest(house, &place, Ground::Own(tree)).await?;
        }
        if is_conflict(path) {
            git::abandon_conflict(&main, path).await?;
        } else if let Removal::Kept(why) = git::remove_tree(&main, path).await? {
            // Said once; it stays in the list of workspaces.
            tracing::warn!("{} is kept: {why}", path.display());
            let kept = place.path.clone();
            let kept = move |sql: &mut dyn Sql| workspaces::set_untidy(sql, &kept, None);
            return house.store.write(kept).await;
        }
    }
    house.forget_tree(path, &session).await
}

/// A merge that was laid out for somebody to resolve.
fn is_conflict(tree: &Path) -> bool {
    let name = tree.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(CONFLICT)
}

impl House {
    /// The tree of a task is gone.
    pub(in crate::engine) async fn forget_tree(&self, place: &Path, session: &str) -> Result<()> {
        let (gone, session) = (place.to_string_lossy().into_owned(), session.to_owned());
        let forget = move |sql: &mut dyn Sql| {
            workspaces::set_untidy(sql, &gone, None)?;
            workspaces::release_one(sql, &gone, &session, now_ms())?;
            workspaces::forget(sql, &gone).map(|_| ())
        };
        self.store.write(forget).await?;
        // Only where it is empty.
        if let Some(all) = place.parent() {
            let _ = std::fs::remove_dir(all);
        }
        Ok(())
    }

    /// Where the conflict of a `merge` task is laid out.
    pub(in crate::engine) fn conflict_tree(&self, session: &str, order: i64) -> PathBuf {
        self.trees_of(session).join(format!("{CONFLICT}{order}"))
    }
}

/// What an agent left that was ended in the middle.
async fn commit_rest(house: &House, place: &Workspace, tree: Ground) -> Result<()> {
    let session = place.untidy_session_id.clone().context("a session")?;
    let name = Path::new(&place.path).file_name().unwrap_or_default();
    let state = LastState {
        session: &session,
        task: place.task_id.as_deref(),
        order: name.to_string_lossy().parse().unwrap_or(0),
        at_ms: place.used_at_ms,
        subject: "What was left when the session ended",
    };
    state.commit(house, &tree).await
}

/// The state in which a task leaves its tree, beside those of iterations.
pub(super) struct LastState<'a> {
    pub session: &'a str,
    pub task: Option<&'a str>,
    pub order: i64,
    pub at_ms: i64,
    pub subject: &'a str,
}

impl LastState<'_> {
    /// Commits it to the tree's branch.
    pub async fn commit(&self, house: &House, tree: &Ground) -> Result<()> {
        let mask = house.secrets.mask();
        let moment = Moment {
            session: self.session,
            number: LAST_STATES + self.order,
            task: self.task,
            at_ms: self.at_ms,
            subject: self.subject.to_owned(),
            commits: true,
            since: None,
            mask: &mask,
            large_bytes: house.config.git.large_file_bytes,
        };
        git::record(tree, &moment).await?;
        Ok(())
    }
}
