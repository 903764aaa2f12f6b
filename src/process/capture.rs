//! Short programs (`--version`, a probe): run, output in memory, gone at the deadline with all they started.
//! Not for agents: a captured program dies with the daemon's interest in it.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::pidfd::Handle;
use super::{Exit, TURN_VARIABLE, agent, allowed_environment, sweep};

const BUFFER_BYTES: usize = 16 * 1024;
/// What a pipe holds by default, and then some.
const DRAIN_MAX_BYTES: usize = 1024 * 1024;

/// What a short program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub exit: Exit,
    pub timed_out: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// A stream was longer than the cap.
    pub truncated: bool,
}

/// Runs `argv` with the allowed environment and empty input, in a process group of its own, for at most `deadline`,
/// keeping at most `cap_bytes` of each stream. That it does not start is an answer, not an error.
pub async fn capture(
    argv: &[String],
    cwd: Option<&Path>,
    deadline: Duration,
    cap_bytes: usize,
) -> Result<Captured> {
    capture_with(argv, &[], cwd, deadline, cap_bytes).await
}

/// The same with some variables of the environment set besides, which win over the allowed ones.
pub async fn capture_with(
    argv: &[String],
    environment: &[(String, String)],
    cwd: Option<&Path>,
    deadline: Duration,
    cap_bytes: usize,
) -> Result<Captured> {
    let mark = format!("capture-{}", uuid::Uuid::now_v7());
    let mut streams = (Kept::new(cap_bytes), Kept::new(cap_bytes));
    let mut leash = match start(argv, environment, cwd, &mark)? {
        Ok(child) => Leash { child, mark },
        Err(reason) => return Ok(captured(Exit::NotStarted(reason), false, streams)),
    };
    let pid = leash
        .child
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .context("the program has no process id")?;
    let handle = Handle::open(pid)
        .context("watch the program")?
        .context("the program was reaped by someone else")?;
    let mut stdout = leash
        .child
        .stdout
        .take()
        .context("the program has no stdout")?;
    let mut stderr = leash
        .child
        .stderr
        .take()
        .context("the program has no stderr")?;
    let read = until_ended(&handle, &mut stdout, &mut stderr, &mut streams);
    let timed_out = tokio::time::timeout(deadline, read).await.is_err();
    streams
        .0
        .drain(stdout.into_owned_fd().context("release stdout")?);
    streams
        .1
        .drain(stderr.into_owned_fd().context("release stderr")?);
    leash.kill_group();
    let status = leash.child.wait().await.context("reap the program")?;
    Ok(captured(exit_of(status), timed_out, streams))
}

fn start(
    argv: &[String],
    environment: &[(String, String)],
    cwd: Option<&Path>,
    mark: &str,
) -> Result<Result<Child, String>> {
    let (name, arguments) = argv
        .split_first()
        .context("no program named: argv is empty")?;
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env_clear()
        .envs(allowed_environment(&[]))
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env(TURN_VARIABLE, mark);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = cwd {
        if !cwd.is_dir() {
            return Ok(Err(format!("working directory missing: {}", cwd.display())));
        }
        command.current_dir(cwd);
    }
    Ok(command
        .spawn()
        .map_err(|error| agent::why_not(name, cwd.unwrap_or(Path::new(".")), &error)))
}

/// Ends with the program, not with its pipes: a child it left behind may hold those for ever.
async fn until_ended(
    handle: &Handle,
    stdout: &mut ChildStdout,
    stderr: &mut ChildStderr,
    kept: &mut (Kept, Kept),
) {
    loop {
        tokio::select! {
            _ = handle.ended() => return,
            () = kept.0.read(stdout), if kept.0.open => {}
            () = kept.1.read(stderr), if kept.1.open => {}
        }
    }
}

fn captured(exit: Exit, timed_out: bool, (stdout, stderr): (Kept, Kept)) -> Captured {
    Captured {
        exit,
        timed_out,
        truncated: stdout.truncated || stderr.truncated,
        stdout: stdout.bytes,
        stderr: stderr.bytes,
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

/// The program and all it started, ended when this goes out of scope, be it because the caller lost interest.
struct Leash {
    child: Child,
    mark: String,
}

impl Leash {
    /// The group's number is the program's own, safe to use while that is not reaped.
    fn kill_group(&self) {
        let group = self
            .child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.kill_group();
        sweep(&self.mark);
    }
}

struct Kept {
    bytes: Vec<u8>,
    cap_bytes: usize,
    truncated: bool,
    open: bool,
}

impl Kept {
    fn new(cap_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            cap_bytes,
            truncated: false,
            open: true,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let fitting = bytes.len().min(self.cap_bytes - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..fitting]);
        self.truncated |= fitting < bytes.len();
    }

    async fn read(&mut self, pipe: &mut (impl AsyncRead + Unpin)) {
        let mut buffer = [0; BUFFER_BYTES];
        match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => self.open = false,
            Ok(read) => self.keep(&buffer[..read]),
        }
    }

    /// Takes what the pipe still holds, without waiting.
    fn drain(&mut self, pipe: OwnedFd) {
        if rustix::io::ioctl_fionbio(&pipe, true).is_err() {
            return;
        }
        let mut buffer = [0; BUFFER_BYTES];
        for _ in 0..DRAIN_MAX_BYTES / BUFFER_BYTES {
            match rustix::io::read(&pipe, &mut buffer) {
                Ok(read) if read > 0 => self.keep(&buffer[..read]),
                _ => return,
            }
        }
    }
}
