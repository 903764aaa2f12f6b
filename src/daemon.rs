//! The daemon: open, recover, start everything, and stop it in reverse.
//! It must hold no state of its own; what it needs tomorrow is in the rows.

use crate::clock::now_ms;
use crate::engine::House;
use crate::model::event::EventType;
use crate::queue::{Scheduler, identity, janitor, wake};
use crate::report;
use crate::store::events::{self, About};
use crate::store::workers::{self, Role};
use crate::trigger::{inbox, rows};
use anyhow::{Context, Result, bail};
use rustix::fs::FlockOperation;
use serde_json::json;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The file that the daemon of a state directory holds locked; its text is the daemon's pid.
pub const LOCK_FILE: &str = "ralphd.lock";

/// A daemon that was killed while it started a shim leaves its lock to the half-started child for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_POLL: Duration = Duration::from_millis(10);

/// Runs the daemon until `shutdown` turns true. `ready` is called once requests are taken.
pub async fn run(
    house: Arc<House>,
    mut shutdown: watch::Receiver<bool>,
    ready: impl FnOnce(),
) -> Result<()> {
    let _lock = lock(&house.state).await?;
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
    let (stop_working, working) = watch::channel(false);
    let (stop_telling, telling) = watch::channel(false);
    let mut ways_in = JoinSet::new();
    for inbox in inboxes {
        ways_in.spawn(inbox.run(working.clone()));
    }
    ways_in.spawn(rows::run(house.clone(), working.clone()));
    let listening = wake::listen(house.store.clone(), house.state.clone(), telling.clone());
    let mut background = JoinSet::new();
    background.spawn(async { log_end("listening for other processes", listening.await) });
    background.spawn(report::run(house.clone(), telling.clone()));
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

/// Takes the state directory for this process alone, or says who has it.
async fn lock(state: &Path) -> Result<File> {
    let path = state.join(LOCK_FILE);
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let until = Instant::now() + LOCK_PATIENCE;
    while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() < until {
            tokio::time::sleep(LOCK_POLL).await;
            continue;
        }
        let mut pid = String::new();
        file.read_to_string(&mut pid)?;
        bail!(
            "a daemon with pid {} already works on {}",
            pid.trim(),
            state.display()
        );
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

/// The pid of the daemon that works on a state directory, as far as its lock file and the process table tell.
pub fn running_pid(state: &Path) -> Option<i32> {
    let pid = std::fs::read_to_string(state.join(LOCK_FILE))
        .ok()?
        .trim()
        .parse()
        .ok()?;
    let alive = rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid)?);
    (alive != Err(rustix::io::Errno::SRCH)).then_some(pid)
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
            .write(move |sql| workers::beat(sql, &id, now_ms()))
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
