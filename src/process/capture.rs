//! Short programs (`--version`, a hook, a command of a tool): run, output in memory, gone at the deadline with all they
//! started. Not for agents: a captured program dies with the interest in it. It must not interpret what they say.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::MemfdFlags;
use rustix::pipe::PipeFlags;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

use super::kept::Kept;
use super::warden::{self, Orders, Report};
use super::{Exit, Fence, TURN_VARIABLE, agent, allowed_environment};

const BUFFER_BYTES: usize = 64 * 1024;
/// What the end of everything may take once it was ordered. Beyond it the kernel itself is stuck.
const ENDING_MAX: Duration = Duration::from_secs(10);

/// What to run and within which bounds.
#[derive(Clone)]
pub struct Errand {
    pub argv: Vec<String>,
    pub environment: Surroundings,
    pub cwd: Option<PathBuf>,
    /// What it reads from standard input; it need not. None: empty.
    pub input: Option<Vec<u8>>,
    pub deadline: Duration,
    /// Kept of each stream: its beginning and its end.
    pub cap_bytes: usize,
    /// Whether both streams come as one, in the order of their bytes.
    pub together: bool,
    pub fence: Option<Arc<Fence>>,
}

/// The variables a program gets. The mark of a turn comes along either way.
#[derive(Clone)]
pub enum Surroundings {
    /// The allowed ones of our own, and these, which win.
    Allowed(Vec<(String, String)>),
    /// These only.
    Whole(Vec<(String, String)>),
}

impl Errand {
    /// With the allowed environment, empty input, and the streams apart.
    pub fn new(argv: Vec<String>, deadline: Duration, cap_bytes: usize) -> Self {
        Self {
            argv,
            environment: Surroundings::Allowed(Vec::new()),
            cwd: None,
            input: None,
            deadline,
            cap_bytes,
            together: false,
            fence: None,
        }
    }

    fn variables(&self) -> Vec<(String, String)> {
        let mut variables = match &self.environment {
            Surroundings::Whole(whole) => whole.clone(),
            Surroundings::Allowed(added) => {
                let mut variables = allowed_environment(&[]);
                variables.retain(|(name, _)| added.iter().all(|(other, _)| other != name));
                variables.extend(added.iter().cloned());
                variables
            }
        };
        // By it a crashed turn's processes are found, these among them.
        if let Ok(mark) = std::env::var(TURN_VARIABLE) {
            variables.retain(|(name, _)| name != TURN_VARIABLE);
            variables.push((TURN_VARIABLE.to_owned(), mark));
        }
        variables
    }
}

/// What a short program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub exit: Exit,
    pub timed_out: bool,
    /// Both streams where they were wanted together.
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// A stream was longer than the cap; a note stands where something is missing.
    pub truncated: bool,
    /// Processes that outlived the program and were ended.
    pub leftovers_killed: u32,
}

/// Runs the errand in a session of its own. That it does not start is an answer, not an error. When this returns,
/// nothing of it runs any more; when it is dropped, everything of it is ended at once.
pub async fn capture(errand: &Errand) -> Result<Captured> {
    let mut watched = match start(errand)? {
        Ok(watched) => watched,
        Err(reason) => return Ok(not_started(reason)),
    };
    let timed_out = tokio::time::timeout(errand.deadline, watched.until_told())
        .await
        .is_err();
    watched.leash = None;
    if timed_out {
        let _ = tokio::time::timeout(ENDING_MAX, watched.until_told()).await;
    }
    let _ = tokio::time::timeout(ENDING_MAX, watched.warden.wait()).await;
    for stream in watched.streams.iter_mut().flatten() {
        stream.drain();
    }
    Ok(watched.captured(timed_out, errand))
}

fn not_started(reason: String) -> Captured {
    Captured {
        exit: Exit::NotStarted(reason),
        timed_out: false,
        stdout: Vec::new(),
        stderr: Vec::new(),
        truncated: false,
        leftovers_killed: 0,
    }
}

fn start(errand: &Errand) -> Result<Result<Watched, String>> {
    anyhow::ensure!(!errand.argv.is_empty(), "no program named: argv is empty");
    if let Some(cwd) = &errand.cwd
        && !cwd.is_dir()
    {
        return Ok(Err(format!("working directory missing: {}", cwd.display())));
    }
    let (leash_end, leash) = pipe()?;
    let (report, report_end) = pipe()?;
    let (first, first_end) = pipe()?;
    let second = if errand.together { None } else { Some(pipe()?) };
    let fence = errand.fence.clone();
    let Ok(orders) = Orders::new(
        &errand.argv,
        &errand.variables(),
        leash_end,
        report_end,
        fence,
    ) else {
        return Ok(Err(
            "a NUL byte stands in its arguments or environment".to_owned()
        ));
    };
    // Only the vehicle of the fork: the warden's orders say what is run.
    let mut command = Command::new(&errand.argv[0]);
    command.stdin(input(errand.input.as_deref())?);
    command.stderr(match &second {
        Some((_, end)) => end.try_clone()?,
        None => first_end.try_clone()?,
    });
    command.stdout(first_end);
    if let Some(cwd) = &errand.cwd {
        command.current_dir(cwd);
    }
    warden::post(&mut command, orders);
    let warden = match command.spawn() {
        Ok(warden) => warden,
        Err(error) => return Ok(Err(format!("cannot start {}: {error}", errand.argv[0]))),
    };
    let second = second.map(|(pipe, _)| Stream::new(pipe, errand.cap_bytes));
    Ok(Ok(Watched {
        warden,
        leash: Some(leash),
        report: Receiver::from_owned_fd(report).context("listen to the warden")?,
        told: Vec::new(),
        streams: [
            Some(Stream::new(first, errand.cap_bytes)?),
            second.transpose()?,
        ],
    }))
}

fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).context("make a pipe")
}

/// A file that exists in memory only: whether and when the program reads it blocks nobody.
fn input(bytes: Option<&[u8]>) -> Result<Stdio> {
    let Some(bytes) = bytes else {
        return Ok(Stdio::null());
    };
    let memory =
        rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC).context("keep the input")?;
    let mut file = File::from(memory);
    file.write_all(bytes).context("keep the input")?;
    file.rewind().context("keep the input")?;
    Ok(file.into())
}

/// A program under way. Dropping it lets go of the leash, upon which the warden ends everything.
struct Watched {
    warden: Child,
    leash: Option<OwnedFd>,
    report: Receiver,
    told: Vec<u8>,
    streams: [Option<Stream>; 2],
}

impl Watched {
    /// Reads along until the warden has told how it ended.
    async fn until_told(&mut self) {
        let [first, second] = &mut self.streams;
        let mut buffer = [0; 64];
        loop {
            tokio::select! {
                read = self.report.read(&mut buffer) => match read {
                    Ok(read) if read > 0 => self.told.extend_from_slice(&buffer[..read]),
                    _ => return,
                },
                () = read_some(first) => {}
                () = read_some(second) => {}
            }
        }
    }

    fn captured(self, timed_out: bool, errand: &Errand) -> Captured {
        let report = Report::parse(&self.told);
        let cwd = errand.cwd.as_deref().unwrap_or(Path::new("."));
        let exit = match &report {
            Report::NotStarted(error) => {
                Exit::NotStarted(agent::why_not(&errand.argv[0], cwd, error))
            }
            Report::Ended { status, .. } => exit_of(ExitStatus::from_raw(*status)),
            // Somebody killed the warden; what it guarded is then nobody's here.
            Report::Silent => Exit::Signal(libc::SIGKILL),
        };
        let [first, second] = self.streams.map(|stream| stream.map(|stream| stream.kept));
        let truncated = [&first, &second]
            .into_iter()
            .flatten()
            .any(Kept::is_truncated);
        Captured {
            exit,
            timed_out,
            truncated,
            stdout: first.map(Kept::into_bytes).unwrap_or_default(),
            stderr: second.map(Kept::into_bytes).unwrap_or_default(),
            leftovers_killed: match report {
                Report::Ended { leftovers, .. } => leftovers,
                _ => 0,
            },
        }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

async fn read_some(stream: &mut Option<Stream>) {
    match stream {
        Some(stream) if stream.open => stream.read().await,
        _ => std::future::pending().await,
    }
}

struct Stream {
    pipe: Receiver,
    kept: Kept,
    buffer: Vec<u8>,
    open: bool,
}

impl Stream {
    fn new(pipe: OwnedFd, cap_bytes: usize) -> Result<Self> {
        Ok(Self {
            pipe: Receiver::from_owned_fd(pipe).context("listen to the program")?,
            kept: Kept::new(cap_bytes),
            buffer: vec![0; BUFFER_BYTES],
            open: true,
        })
    }

    async fn read(&mut self) {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.open = false,
            Ok(read) => self.kept.keep(&self.buffer[..read]),
        }
    }

    /// Takes what the pipe still holds, without waiting. Nobody writes any more, so it has an end.
    fn drain(&mut self) {
        const DRAIN_MAX_READS: usize = 64;
        for _ in 0..DRAIN_MAX_READS {
            match rustix::io::read(&self.pipe, &mut self.buffer) {
                Ok(read) if read > 0 => self.kept.keep(&self.buffer[..read]),
                _ => return,
            }
        }
    }
}
