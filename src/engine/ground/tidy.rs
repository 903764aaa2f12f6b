//! After the end of a session: the trees of its tasks are taken away, their branches stay; the lock in a user's own checkout is opened.
//! What is in a tree and in no commit yet is committed to its branch first; nothing is ever lost by tidying.

use crate::clock::now_ms;
use crate::engine::House;
use crate::store::driver::Sql;
use crate::store::workspaces::{self, Workspace};
use crate::workspace::git::{self, Ground, Moment, Removal};
use anyhow::{Context, Result};
use std::path::Path;

/// Does what is left to do after sessions that have ended. What fails is tried again at the next round.
pub async fn tidy(house: &House) -> Result<()> {
    let untidy = house.store.read(workspaces::untidy).await?;
    for place in untidy {
        let path = place.path.clone();
        if let Err(error) = tidy_one(house, place).await {
            tracing::warn!("{path} is not tidied up: {error:#}");
        }
    }
    Ok(())
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
    if let Some(main) = house.repository(Path::new(main_path)).await? {
        if let Some(tree) = git::tree_at(&main, path).await? {
            commit_rest(house, &place, Ground::Own(tree)).await?;
        }
        if let Removal::Kept(why) = git::remove_tree(&main, path).await? {
            anyhow::bail!("{why}");
        }
    }
    let (done, session) = (place.path.clone(), place.untidy_session_id.clone());
    let forget = move |sql: &mut dyn Sql| {
        workspaces::set_untidy(sql, &done, None)?;
        if let Some(session) = &session {
            workspaces::release_one(sql, &done, session, now_ms())?;
        }
        workspaces::forget(sql, &done).map(|_| ())
    };
    house.store.write(forget).await?;
    // Only where it is empty.
    if let Some(all) = path.parent() {
        let _ = std::fs::remove_dir(all);
    }
    Ok(())
}

/// What an agent left that was ended in the middle.
async fn commit_rest(house: &House, place: &Workspace, tree: Ground) -> Result<()> {
    let session = place.untidy_session_id.clone().context("a session")?;
    let mask = house.secrets.mask();
    let name = Path::new(&place.path).file_name().unwrap_or_default();
    // Beyond all iterations: it is the last state of this one tree.
    const LAST_STATES: i64 = 1_000_000_000;
    let number: i64 = name.to_string_lossy().parse().unwrap_or(0);
    git::record(
        &tree,
        &Moment {
            session: &session,
            number: LAST_STATES + number,
            task: place.task_id.as_deref(),
            at_ms: place.used_at_ms,
            subject: "What was left when the session ended".to_owned(),
            commits: true,
            since: None,
            mask: &mask,
            large_bytes: house.config.git.large_file_bytes,
        },
    )
    .await?;
    Ok(())
}
