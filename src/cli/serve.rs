//! `ralphd serve`: the daemon in the foreground, as systemd or a terminal runs it.

use super::desk::Desk;
use super::exit::Exit;
use super::memory;
use crate::config::{LogFormat, LogLevel};
use crate::daemon;
use crate::model::mask::Mask;
use crate::secrets::Vault;
use anyhow::{Context, Result};
use sd_notify::NotifyState;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Two threads: one may wait for a slow disk while the other keeps the promises of time.
const WORKER_THREADS: usize = 2;
/// What a planned step calls is deep, and without optimisation it needs more than the usual 2 MiB. What is not used is not there.
const WORKER_STACK_BYTES: usize = 4 << 20;

/// Files that may be open at the same time, where the system allows it.
const OPEN_FILES: u64 = 16_384;

/// By then all that belongs to the start is done.
const START_IS_OVER: Duration = Duration::from_secs(5);

pub fn serve(desk: Desk) -> Result<Exit> {
    memory::give_back_buffers();
    start_log(&desk);
    make_room_for_connections();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .thread_stack_size(WORKER_STACK_BYTES)
        .enable_all()
        .build()?;
    runtime.block_on(work(desk))?;
    // Reads that hang on a dead disk must not keep a stopped daemon alive.
    runtime.shutdown_background();
    Ok(Exit::Done)
}

/// Each connection is an open file, and the usual limit is lower than [http] max_connections.
fn make_room_for_connections() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES);
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!("cannot raise the limit of open files to {wanted}: {error}");
        }
    }
}

async fn work(desk: Desk) -> Result<()> {
    let lock = daemon::lock(&desk.state)?;
    let house = desk.house()?;
    let (down, shutdown) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: running agents are ended, their tasks are parked");
        daemon::notify(&[
            NotifyState::Stopping,
            NotifyState::Status("stopping: ending running agents"),
        ]);
        down.send_replace(true);
    });
    let state = desk.state.clone();
    let ready = move || {
        tracing::info!(pid = std::process::id(), state = %state.display(), "ready");
        let status = format!("working on {}", state.display());
        daemon::notify(&[NotifyState::Ready, NotifyState::Status(&status)]);
        tokio::spawn(async {
            tokio::time::sleep(START_IS_OVER).await;
            memory::give_back_the_start();
        });
    };
    daemon::run(house, lock, shutdown, ready).await
}

/// The journal is read by more people than the secrets are meant for.
struct MaskedStderr(Vault);

impl MakeWriter<'_> for MaskedStderr {
    type Writer = MaskedLine;

    fn make_writer(&self) -> MaskedLine {
        MaskedLine(self.0.mask())
    }
}

/// One line of the log; it comes in one piece.
struct MaskedLine(Arc<Mask>);

impl Write for MaskedLine {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        std::io::stderr().write_all(self.0.text(&line).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

fn start_log(desk: &Desk) {
    let global = &desk.global;
    let level = match (global.quiet, global.verbose, desk.config.log.level) {
        (true, _, _) => LevelFilter::ERROR,
        (_, 1, _) => LevelFilter::DEBUG,
        (_, 2.., _) => LevelFilter::TRACE,
        (_, _, LogLevel::Error) => LevelFilter::ERROR,
        (_, _, LogLevel::Warn) => LevelFilter::WARN,
        (_, _, LogLevel::Info) => LevelFilter::INFO,
        (_, _, LogLevel::Debug) => LevelFilter::DEBUG,
        (_, _, LogLevel::Trace) => LevelFilter::TRACE,
    };
    let coloured = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt()
        .with_writer(MaskedStderr(desk.secrets.clone()))
        .with_max_level(level)
        .with_target(false)
        .with_ansi(coloured);
    match desk.config.log.format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
