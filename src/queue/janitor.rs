//! Keeps the queue honest: renews the leases of those who work, takes tasks back from those who died.
//! A death counts against a task only when it took the running turn with it; a turn that survived is simply adopted.

use super::identity;
use crate::clock::now_ms;
use crate::engine::ground::cleanup;
use crate::engine::{House, commanded, ground, poisoned, summed_up, turn_record};
use crate::model::task::TaskStep;
use crate::process::{self, Sighting};
use crate::store::driver::Sql;
use crate::store::iterations;
use crate::store::sessions;
use crate::store::tasks::{self, Claim, Running};
use crate::store::workers;
use crate::store::workspaces::{self, Workspace};
use anyhow::Result;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Going back to a point of a session takes no longer.
const SHORT_WORK_MS: i64 = 10 * 60 * 1000;
const CLEANUP_EVERY: Duration = Duration::from_secs(3600);
/// No correction of the clock's pace is as large.
const SET_BACK_MS: i64 = 60 * 1000;
/// A task whose claimants died of it so often is not given to another.
const MAX_DEATHS: i64 = 3;
/// Workers that ended longer ago than this are dropped from the table.
const FORGET_WORKERS_AFTER_MS: i64 = 7 * 24 * 3600 * 1000;

/// One heartbeat: this worker lives, its claims hold, dead claimants' tasks come back.
pub async fn round(house: &House, worker_id: &str, claims: Vec<Claim>) -> Result<()> {
    let (worker, lease) = (worker_id.to_owned(), house.lease_until_ms());
    let held = claims.clone();
    let (running, left) = house
        .store
        .write_quietly(move |sql| {
            workers::beat(sql, &worker, now_ms())?;
            for claim in &held {
                tasks::renew(sql, claim, lease)?;
            }
            Ok((tasks::running(sql)?, Left::look(sql)?))
        })
        .await?;
    rescue(house, worker_id, running, &claims).await?;
    tidy_up(house, left).await
}

/// At the start of a daemon: whatever dead claimants left behind is taken back at once.
pub async fn recover(house: &House, worker_id: &str) -> Result<()> {
    let before = now_ms() - FORGET_WORKERS_AFTER_MS;
    house
        .store
        .write(move |sql| workers::forget(sql, before))
        .await?;
    let running = house.store.read(tasks::running).await?;
    rescue(house, worker_id, running, &[]).await?;
    forget_ended_turns(house).await?;
    let left = house.store.read(Left::look).await?;
    tidy_up(house, left).await
}

/// What ended sessions have left in and around their workspaces, and what those left who died over something short.
struct Left {
    held: Vec<String>,
    untidy: Vec<Workspace>,
}

impl Left {
    /// Looked up beside the heartbeat: an idle daemon is not woken for it again.
    fn look(sql: &mut dyn Sql) -> Result<Self> {
        Ok(Self {
            held: workspaces::left_held(sql, now_ms() - SHORT_WORK_MS)?,
            untidy: workspaces::untidy(sql)?,
        })
    }
}

async fn tidy_up(house: &House, left: Left) -> Result<()> {
    let Left { held, untidy } = left;
    if !held.is_empty() {
        house
            .store
            .write(move |sql| workspaces::free(sql, &held, now_ms()))
            .await?;
    }
    ground::tidy(house, untidy).await;
    Ok(())
}

/// Removes workspaces that were not used for long, where the configuration wants that, until shutdown.
pub async fn keep_room(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let Some(after) = house.config.workspaces.cleanup_after else {
        return;
    };
    while !*shutdown.borrow() {
        match cleanup::cleanup(&house, now_ms() - after.as_millis(), false).await {
            Ok((gone, _)) => {
                for place in gone {
                    tracing::info!("removed {}, unused for {after}", place.known.workspace.path);
                }
            }
            Err(error) => tracing::error!("workspaces are not cleaned up: {error:#}"),
        }
        tokio::select! {
            () = tokio::time::sleep(CLEANUP_EVERY) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// A daemon that died between recording a turn's end and removing its files left those behind.
async fn forget_ended_turns(house: &House) -> Result<()> {
    for entry in std::fs::read_dir(house.state.join("turns"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_over(house, &name).await? {
            continue;
        }
        // What can still run here: a summary of a session that ended without it, or a turn that was given up by a daemon that died then.
        let supervisor = &house.roster.supervision().supervisor;
        if let Err(error) = supervisor.end(&entry.path()).await {
            tracing::warn!("an ended turn's files stay: {error:#}");
        }
    }
    Ok(())
}

/// Whether nobody will ask for this turn any more. The row comes before the files: without a row the session is gone altogether.
async fn is_over(house: &House, turn: &str) -> Result<bool> {
    if let Some(task) = commanded(turn) {
        let task = task.to_owned();
        return house
            .store
            .read(move |sql| Ok(!tasks::is_open(sql, &task)?))
            .await;
    }
    let summed_up = summed_up(turn).map(str::to_owned);
    let iteration = match &summed_up {
        Some(iteration) => iteration.clone(),
        None => turn.trim_end_matches(".verify").to_owned(),
    };
    house
        .store
        .read(move |sql| {
            let Some(iteration) = iterations::get(sql, &iteration)? else {
                return Ok(true);
            };
            match summed_up {
                // A summary comes after the end of its iteration, and the loop that goes on reads it.
                Some(_) => {
                    let session = sessions::get(sql, &iteration.session_id)?;
                    Ok(session.is_none_or(|session| session.ended_at_ms.is_some()))
                }
                None => Ok(iteration.ended_at_ms.is_some()),
            }
        })
        .await
}

async fn rescue(
    house: &House,
    worker_id: &str,
    running: Vec<Running>,
    held: &[Claim],
) -> Result<()> {
    for task in running {
        if held.contains(&task.claim) || !is_abandoned(house, worker_id, &task).await? {
            continue;
        }
        let (state, iteration) = (house.state.clone(), task.iteration_id.clone());
        let gone =
            tokio::task::spawn_blocking(move || clear_up(&state, iteration.as_deref())).await??;
        // A task we left ourselves, for want of disk space or the like, has killed nobody.
        let died_with_its_turn = gone && task.claim.worker_id != worker_id;
        take_back(house, task, died_with_its_turn).await?;
    }
    Ok(())
}

/// Nobody works on it any more: the claimant is dead, or (on another host, or of our own) its lease has run out.
async fn is_abandoned(house: &House, worker_id: &str, task: &Running) -> Result<bool> {
    let expired = task.lease_until_ms < now_ms();
    if task.claim.worker_id == worker_id {
        // One that ends much later than any given now is from before the clock was set back.
        let from_the_future = task.lease_until_ms - house.lease_until_ms() > SET_BACK_MS;
        return Ok(expired || from_the_future);
    }
    let id = task.claim.worker_id.clone();
    let worker = house.store.read(move |sql| workers::get(sql, &id)).await?;
    let alive = worker.as_ref().and_then(identity::is_alive);
    Ok(alive.map_or(expired, |alive| !alive))
}

/// Whether a running turn is gone with its claimant; then whatever it started is gone too.
/// A turn that had not begun cannot have killed anybody: daemons that are killed early must not add up to poison.
fn clear_up(state: &Path, iteration: Option<&str>) -> Result<bool> {
    let Some(iteration) = iteration else {
        return Ok(false);
    };
    match process::look(&turn_record(state, iteration))? {
        Sighting::Running { .. } | Sighting::Ended(_) | Sighting::NeverStarted => Ok(false),
        Sighting::Lost => {
            let killed = process::sweep(iteration);
            tracing::warn!(iteration, killed, "a turn vanished with its shim");
            Ok(true)
        }
    }
}

async fn take_back(house: &House, task: Running, died_with_its_turn: bool) -> Result<()> {
    let deaths = task.death_count + i64::from(died_with_its_turn);
    let poison = died_with_its_turn && deaths >= MAX_DEATHS;
    let claim = task.claim;
    tracing::info!(
        session = claim.session_id,
        deaths,
        "task taken back from a dead claimant"
    );
    house
        .store
        .write(move |sql| {
            let at_ms = now_ms();
            let why = format!("{deaths} claimants in a row died while working on it");
            let step = if poison {
                TaskStep::Fail
            } else {
                TaskStep::Rescue
            };
            let taken = tasks::rescue(sql, &claim, step, died_with_its_turn, &why, at_ms)?;
            match taken && poison {
                true => poisoned(sql, &claim, &why),
                false => Ok(()),
            }
        })
        .await
}
