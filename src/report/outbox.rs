//! Writes the answer of each ended session: `<stem>.<short-id>.md`, and the same for machines beside it.

use super::answer;
use super::changes::{Traces, changes};
use crate::clock::now_ms;
use crate::engine::House;
use crate::files;
use crate::model::id::short;
use crate::store::sessions::{self, Session};
use crate::store::{humans, iterations, tasks};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// Sessions reported in one go.
const BATCH: u32 = 100;
/// A full disk is looked at again after this long.
const RETRY: std::time::Duration = std::time::Duration::from_secs(5);
/// Leaves room in a file name for the id and the ending.
const MAX_STEM_BYTES: usize = 200;

/// Writes what is owed until shutdown, woken by commits.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let mut commits = house.store.commits();
    while !*shutdown.borrow() {
        commits.borrow_and_update();
        let failed = write_owed(&house)
            .await
            .inspect_err(|error| tracing::error!("the outbox: {error:#}"))
            .is_err();
        tokio::select! {
            _ = commits.changed(), if !failed => {}
            _ = tokio::time::sleep(RETRY), if failed => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// Writes the reports that are owed now.
pub async fn write_owed(house: &House) -> Result<()> {
    loop {
        let owed = house
            .store
            .read(|sql| sessions::unreported(sql, BATCH))
            .await?;
        if owed.is_empty() {
            return Ok(());
        }
        for session in owed {
            // What a sub-agent came to is part of its parent's answer.
            if session.parent_session_id.is_none() {
                write_one(house, &session).await?;
            }
            let id = session.id;
            house
                .store
                .write(move |sql| sessions::set_reported(sql, &id, now_ms()))
                .await?;
        }
    }
}

async fn write_one(house: &House, session: &Session) -> Result<()> {
    let id = session.id.clone();
    let (tasks, iterations, humans, traces) = house
        .store
        .read(move |sql| {
            Ok((
                tasks::planned(sql, &id)?,
                iterations::of_session(sql, &id)?,
                humans::of_session(sql, &id)?,
                Traces::find(sql, &id)?,
            ))
        })
        .await?;
    let mask = house.secrets.mask();
    let changes = changes(&house.git, &house.state, session, &traces, &mask).await;
    let facts = answer::Facts {
        session,
        tasks: &tasks,
        iterations: &iterations,
        humans: &humans,
        changes: changes.as_ref(),
        logs: house.log_directory(&session.id),
    };
    let outbox = house.state.join("outbox");
    files::make_private_directory(&outbox)?;
    // The text last: whoever waits for it finds both.
    files::write_whole(&json_path(&outbox, session), facts.json()?.as_bytes())?;
    files::write_whole(&text_path(&outbox, session), facts.text().as_bytes())
}

/// Where the answer for people is.
pub fn text_path(outbox: &Path, session: &Session) -> PathBuf {
    outbox.join(format!("{}.md", stem(session)))
}

/// Where the answer for machines is.
pub fn json_path(outbox: &Path, session: &Session) -> PathBuf {
    outbox.join(format!("{}.json", stem(session)))
}

fn stem(session: &Session) -> String {
    let mut end = session.origin.len().min(MAX_STEM_BYTES);
    while !session.origin.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}.{}", &session.origin[..end], short(&session.id))
}
