//! The daemon's side of a turn: start its shim, or adopt one that runs, wait, ask it to stop.
//! It must keep nothing in memory that a killed daemon would miss: every step begins with a look at the directory.

use std::fs::{DirBuilder, File};
use std::io::{Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::MemfdFlags;
use rustix::process::Signal;
use tokio::process::{Child, Command};
use tokio::sync::watch::Receiver;

use super::pidfd::Handle;
use super::{Outcome, Program, Sighting, TURN_VARIABLE, forget, look, turn};

/// A shim that dies before its start mark did no harm, but one that does so again and again will not recover.
const SHIM_STARTS_MAX: usize = 3;
const LOCK_POLL: Duration = Duration::from_millis(1);
const SHIM_TAIL_BYTES: usize = 2000;

/// Runs turns, each by a shim of its own.
#[derive(Clone, Debug)]
pub struct Supervisor {
    shim: PathBuf,
}

impl Default for Supervisor {
    /// The running binary is the shim, even after its file was replaced by a newer one.
    fn default() -> Self {
        Self::with_shim("/proc/self/exe")
    }
}

impl Supervisor {
    /// `shim` is a program that calls [`super::shim_main`] on `shim DIR`.
    pub fn with_shim(shim: impl Into<PathBuf>) -> Self {
        Self { shim: shim.into() }
    }

    /// Starts the turn, or adopts it when its shim already runs, or just reads how it ended. Never starts it twice,
    /// whoever else calls this for the same directory, now or before.
    ///
    /// `environment` is the agent's complete environment. It is handed over by inheritance and never written down,
    /// for it may hold secrets; the turn's mark is added. When `stop` turns true, the shim is asked to end the turn,
    /// and its end is still waited for. Dropping the future leaves the turn running.
    pub async fn run(
        &self,
        record: &Path,
        program: &Program,
        environment: &[(String, String)],
        mut stop: Receiver<bool>,
    ) -> Result<Outcome> {
        let record =
            std::path::absolute(record).with_context(|| format!("resolve {}", record.display()))?;
        let mut starts = 0;
        let mut complaints = String::new();
        loop {
            match look(&record)? {
                Sighting::Ended(ended) => return Ok(Outcome::Ended(ended)),
                Sighting::Lost => return Ok(Outcome::Lost),
                Sighting::Running { shim_pid } => {
                    if let Some(shim) = adopt(&record, shim_pid)? {
                        wait_for_end(&record, &shim, &mut stop).await?;
                    }
                }
                Sighting::NeverStarted if starts == SHIM_STARTS_MAX => {
                    bail!(
                        "{}: the shim ended {starts} times before the agent's start: {}",
                        record.display(),
                        complaints
                    );
                }
                Sighting::NeverStarted => {
                    starts += 1;
                    let mut started = self.start(&record, program, environment)?;
                    if let Some(shim) = &started.shim {
                        wait_for_end(&record, shim, &mut stop).await?;
                    }
                    // Only to leave no zombie: how the turn went is in the directory.
                    let _ = started.child.wait().await;
                    complaints = said_in(&started.complaints);
                }
            }
        }
    }

    /// Ends a turn that nobody waits for any more, with all that it started; where none runs there is nothing to do.
    pub async fn end(&self, record: &Path) -> Result<()> {
        loop {
            match look(record)? {
                Sighting::Running { shim_pid } => {
                    if let Some(shim) = adopt(record, shim_pid)? {
                        shim.signal(Signal::TERM).context("ask the shim to stop")?;
                        shim.ended().await.context("wait for the shim")?;
                    }
                }
                Sighting::Lost => {
                    let mark = record.file_name().unwrap_or_default().to_string_lossy();
                    super::sweep_aside(mark.into_owned()).await;
                    return forget(record);
                }
                Sighting::Ended(_) | Sighting::NeverStarted => return forget(record),
            }
        }
    }

    fn start(
        &self,
        record: &Path,
        program: &Program,
        environment: &[(String, String)],
    ) -> Result<Started> {
        let mark = record
            .file_name()
            .with_context(|| format!("{} has no name", record.display()))?;
        let directory = record
            .parent()
            .context("a turn's record needs a directory")?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .with_context(|| format!("create {}", directory.display()))?;
        let text = serde_json::to_vec(program).context("encode the program")?;
        let mut stdin = in_memory("ralphd-program")?;
        stdin
            .write_all(&text)
            .and_then(|()| stdin.rewind())
            .context("hand over the program")?;
        // Its complaints, if any, are kept in memory: a file for them would be made and removed for every iteration.
        let complaints = in_memory("ralphd-complaints")?;
        let stderr = complaints.try_clone().context("share the shim's stderr")?;
        // No code between fork and exec: so the standard library can spawn without copying the daemon's page tables.
        let child = Command::new(&self.shim)
            .arg0("ralphd")
            .arg("shim")
            .arg(record)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env(TURN_VARIABLE, mark)
            .stdin(stdin)
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("start the shim {}", self.shim.display()))?;
        let pid = child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .context("the shim has no process id")?;
        // Not reaped yet, so the number is surely its own.
        Ok(Started {
            child,
            shim: Handle::open(pid).context("watch the shim")?,
            complaints,
        })
    }
}

/// The shim that holds the turn. The lock is asked again once the descriptor is open: if the same number still
/// holds it, the descriptor is the shim's and not that of a process which got its number.
fn adopt(record: &Path, pid: i32) -> Result<Option<Handle>> {
    let Some(shim) = Handle::open(pid).context("watch the shim")? else {
        return Ok(None);
    };
    Ok((turn::holder(record)? == Some(pid)).then_some(shim))
}

async fn wait_for_end(record: &Path, shim: &Handle, stop: &mut Receiver<bool>) -> Result<()> {
    tokio::select! {
        ended = shim.ended() => return ended.context("wait for the shim"),
        () = asked(stop) => {}
    }
    // A shim has its signals in hand once it holds the lock; before, it would just die of this one.
    while turn::holder(record)? != Some(shim.pid) {
        if let Ok(ended) = tokio::time::timeout(LOCK_POLL, shim.ended()).await {
            return ended.context("wait for the shim");
        }
    }
    shim.signal(Signal::TERM).context("ask the shim to stop")?;
    shim.ended().await.context("wait for the shim")
}

/// A sender that is gone can no longer ask.
async fn asked(stop: &mut Receiver<bool>) {
    if stop.wait_for(|asked| *asked).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// A file that is nowhere on the disk.
fn in_memory(name: &str) -> Result<File> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC);
    file.map(File::from).context("make a file in memory")
}

/// A shim that was just started, and where it complains.
struct Started {
    child: Child,
    shim: Option<Handle>,
    complaints: File,
}

/// The end of what a shim had to say.
fn said_in(complaints: &File) -> String {
    let mut tail = vec![0; SHIM_TAIL_BYTES];
    let length = complaints.metadata().map_or(0, |facts| facts.len());
    let start = length.saturating_sub(SHIM_TAIL_BYTES as u64);
    let read = complaints.read_at(&mut tail, start).unwrap_or(0);
    match String::from_utf8_lossy(&tail[..read]).trim() {
        "" => "it said nothing".to_owned(),
        said => said.to_owned(),
    }
}
