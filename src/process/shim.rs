//! The shim's main: claims a turn, runs its agent once, and records how it ended.
//! No tokio, no threads: it is started for every iteration and has to be quick and small. It must never run a turn
//! that was started before, whatever became of it.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result};

use super::cgroup::Cgroup;
use super::pump::{Pump, Sink};
use super::turn::{self, Recorded};
use super::watch::{Seen, Watch};
use super::{Cause, Ended, Exit, Program, agent, now_ms, signals};
use crate::model::mask::{Mask, is_secret_name};

/// Long enough for any path; the record of the end has a fixed room.
const REASON_MAX_CHARS: usize = 800;
const PROGRAM_MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Runs as the shim of the turn of this record; returns the exit code. To be called first in `main`, before anything opens a
/// file or starts a thread. What goes wrong before the agent's start is said on stderr, which the daemon reads.
pub fn shim_main(record: &Path) -> i32 {
    match serve(record) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("ralphd shim: {error:#}");
            1
        }
    }
}

fn serve(record: &Path) -> Result<()> {
    signals::close_inherited();
    // `/proc/self/exe` would show as "exe" in a list of processes; a refusal is no harm.
    let _ = rustix::thread::set_name(c"ralphd-shim");
    let signals = signals::take_over().context("take over the signals")?;
    // Fails only where the shim leads a group already, which is as good.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .context("become the reaper of orphans")?;
    let mark = record
        .file_name()
        .context("the turn has no name")?
        .to_string_lossy()
        .into_owned();
    // From here on the record is known by its open file alone: another of the same name is not reached.
    let Some(held) = turn::take(record)? else {
        return Ok(());
    };
    if held.recorded()? != Recorded::Nothing {
        return Ok(());
    }
    let program = read_program()?;
    held.start()?;
    held.end(&run_turn(&program, &signals, &mark))
}

/// What to run comes on stdin, from the daemon's memory: nothing of it lies on the disk.
fn read_program() -> Result<Program> {
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(PROGRAM_MAX_BYTES)
        .read_to_end(&mut text)
        .context("read the program")?;
    serde_json::from_slice(&text).context("understand the program")
}

fn run_turn(program: &Program, signals: &OwnedFd, mark: &str) -> Ended {
    let started_at_ms = now_ms();
    let seen = if signals::stop_asked(signals.as_fd()) {
        Err((Cause::Stopped, "stopped before it started".to_owned()))
    } else {
        run_agent(program, signals, mark).map_err(|reason| (Cause::Finished, reason))
    };
    let ended = Ended {
        exit: Exit::Code(0),
        cause: Cause::Finished,
        stdout_bytes: 0,
        stderr_bytes: 0,
        truncated: false,
        leftovers_killed: 0,
        started_at_ms,
        ended_at_ms: now_ms(),
    };
    match seen {
        Ok(seen) => Ended {
            exit: seen.exit,
            cause: seen.cause,
            stdout_bytes: seen.streams[0].seen_bytes(),
            stderr_bytes: seen.streams[1].seen_bytes(),
            truncated: seen.streams.iter().any(Pump::truncated),
            leftovers_killed: seen.leftovers,
            ..ended
        },
        Err((cause, reason)) => Ended {
            exit: Exit::NotStarted(reason.chars().take(REASON_MAX_CHARS).collect()),
            cause,
            ..ended
        },
    }
}

fn run_agent(program: &Program, signals: &OwnedFd, mark: &str) -> Result<Seen, String> {
    let stdout = create(&program.stdout)?;
    // What an earlier run of the same turn said there is not this one's.
    let _ = std::fs::remove_file(&program.stderr);
    let cgroup = Cgroup::create(mark);
    let seen = agent::start(program, cgroup.as_ref().and_then(Cgroup::entrance)).map(|agent| {
        let cap_bytes = program.output_cap_bytes;
        let own = readable_environment()
            .filter(|(name, _)| is_secret_name(name, &program.secret_names))
            .map(|(_, value)| value);
        let mask = Mask::new(own.chain(program.secrets.iter().cloned()));
        let streams = [
            Pump::new(agent.stdout, Sink::Open(stdout), cap_bytes, mask.stream()),
            Pump::new(
                agent.stderr,
                Sink::OnDemand(program.stderr.clone()),
                cap_bytes,
                mask.stream(),
            ),
        ];
        Watch::new(
            program,
            signals.as_fd(),
            cgroup.as_ref(),
            agent.pid,
            streams,
        )
        .run()
    });
    if let Some(cgroup) = cgroup {
        cgroup.remove();
    }
    let mut seen = seen?;
    seen.streams[0].finish(&program.stdout);
    seen.streams[1].finish(&program.stderr);
    Ok(seen)
}

/// The agent's environment is the shim's own.
fn readable_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn create(path: &Path) -> Result<File, String> {
    turn::private(false)
        .truncate(true)
        .open(path)
        .map_err(|error| format!("cannot create {}: {error}", path.display()))
}
