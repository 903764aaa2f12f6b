//! The daemon: open, recover, start everything, and stop it in reverse.
//! It must hold no state of its own; what it needs tomorrow is in the rows.

use crate::api::{Api, Listener};
use crate::clock::now_ms;
use crate::config::Environment;
use crate::engine::House;
use crate::files;
use crate::lock::{self, Lock};
use crate::model::event::EventType;
use crate::queue::{Scheduler, identity, janitor, wake};
use crate::report;
use crate::store::events::{self, About};
use crate::store::workers::{self, Role};
use crate::trigger::webhook::Hooks;
use crate::trigger::{cron, inbox, rows};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The file that the daemon of a state directory holds locked; its text is the daemon's pid.
pub const LOCK_FILE: &str = "ralphd.lock";

/// Runs the daemon until `shutdown` turns true. `ready` is called once requests are taken. The lock is held to the end.
pub async fn run(
    house: Arc<House>,
    _lock: Lock,
    mut shutdown: watch::Receiver<bool>,
    ready: impl FnOnce(),
) -> Result<()> {
    // Before anything is touched: an address that is taken is noticed at once.
    let listener = Listener::bind(&house).await?;
    let (stop_working, working) = watch::channel(false);
    let (stop_telling, telling) = watch::channel(false);
    let hooks = Hooks::open(&house.config, &Environment::of_process(), &house.secrets)?;
    let api = Api::open(house.clone(), hooks, working.clone()).await?;
    if let Some(listener) = &listener {
        listener.announce(&api)?;
    }
    let worker = identity::of_this_process(Role::Serve);
    let worker_id = worker.id.clone();
    let start =
        json!({"worker": worker.id, "pid": worker.pid, "version": env!("CARGO_PKG_VERSION")});
    house
        .store
        .write(move |sql| {
            workers::register(sql, &worker)?;
            events::add(
                sql,
                About::default(),
                EventType::DaemonStarted,
                now_ms(),
                &start,
            )
        })
        .await?;
    janitor::recover(&house, &worker_id).await?;
    let mut inboxes = Vec::new();
    for inbox in inbox::all(&house) {
        inboxes.push(inbox.open().await?);
    }
    let mut ways_in = JoinSet::new();
    for inbox in inboxes {
        ways_in.spawn(inbox.run(working.clone()));
    }
    ways_in.spawn(rows::run(house.clone(), working.clone()));
    ways_in.spawn(cron::run(house.clone(), working.clone()));
    if let Some(listener) = listener {
        ways_in.spawn(listener.run(api, working.clone()));
    }
    let listening = wake::listen(house.store.clone(), house.state.clone(), telling.clone());
    let mut background = JoinSet::new();
    background.spawn(async { log_end("listening for other processes", listening.await) });
    background.spawn(report::run(house.clone(), telling.clone()));
    background.spawn(report::notify::run(house.clone(), telling.clone()));
    background.spawn(janitor::keep_room(house.clone(), telling.clone()));
    background.spawn(report::mirror::run(house.clone(), telling.clone()));
    #[cfg(feature = "otel")]
    background.spawn(report::telemetry::run(house.clone(), telling.clone()));
    background.spawn(report::digest::run(house.clone(), working.clone()));
    background.spawn(watchdog(house.clone(), worker_id.clone(), telling));
    let queue = tokio::spawn(Scheduler::new(house.clone(), worker_id.clone(), working).run());
    ready();
    // Whoever asked for the daemon is gone when the channel is: that is a shutdown too.
    let _ = shutdown.wait_for(|down| *down).await;
    stop_working.send_replace(true);
    while ways_in.join_next().await.is_some() {}
    queue.await.context("the queue broke down")?;
    stop_telling.send_replace(true);
    while background.join_next().await.is_some() {}
    report::write_owed(&house).await?;
    house
        .store
        .write(move |sql| {
            workers::stop(sql, &worker_id, now_ms())?;
            events::add(
                sql,
                About::default(),
                EventType::DaemonStopped,
                now_ms(),
                &json!({"worker": worker_id}),
            )
        })
        .await
}

fn log_end(what: &str, result: Result<()>) {
    if let Err(error) = result {
        tracing::error!("{what} ended: {error:#}");
    }
}

/// Takes the state directory for this process alone, or says who has it. Taken before the database is opened, so that
/// a second daemon of another version does not so much as touch it.
pub fn lock(state: &Path) -> Result<Lock> {
    files::make_private_directory(state)?;
    let path = state.join(LOCK_FILE);
    if let Some(mut lock) = lock::take(&path)? {
        lock.inscribe(&std::process::id().to_string())?;
        return Ok(lock);
    }
    let pid = lock::holder(&path)?.map_or("unknown".to_owned(), |pid| pid.to_string());
    bail!(
        "a daemon with pid {pid} already works on {}",
        state.display()
    )
}

/// The pid of the daemon that works on a state directory.
pub fn running_pid(state: &Path) -> Option<i32> {
    lock::holder(&state.join(LOCK_FILE)).ok().flatten()
}

/// Tells systemd that we live, but only after a write that reached the disk: a daemon that cannot write is not alive.
async fn watchdog(house: Arc<House>, worker_id: String, mut shutdown: watch::Receiver<bool>) {
    let Some(interval) = sd_notify::watchdog_enabled() else {
        return;
    };
    while !*shutdown.borrow() {
        let id = worker_id.clone();
        let wrote = house
            .store
            .write_quietly(move |sql| workers::beat(sql, &id, now_ms()))
            .await;
        match wrote {
            Ok(()) => notify(&[sd_notify::NotifyState::Watchdog]),
            Err(error) => {
                tracing::error!("no watchdog ping, the database cannot be written: {error:#}")
            }
        }
        tokio::select! {
            _ = tokio::time::sleep(interval.max(Duration::from_secs(2)) / 2) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// Tells systemd, if it listens.
pub fn notify(state: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("cannot notify systemd: {error}");
    }
}
