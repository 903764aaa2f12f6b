//! The shim's loop: one poll over signals and output, the clocks, and the end of the whole tree.
//! It must not block anywhere but in the poll, and it ends only when no process of the turn is left.

use std::collections::HashSet;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::cgroup::Cgroup;
use super::pump::{BUFFER_BYTES, Flow, Pump};
use super::tree::{self, Identity};
use super::{Cause, Exit, Program, signals};

/// For what outlives the agent: it was not asked to, so it gets less time than the agent.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
const KILL_PAUSE: Duration = Duration::from_millis(5);
/// A process stuck in the kernel does not die of SIGKILL, but neither will it run again.
const KILL_MAX: Duration = Duration::from_secs(30);
/// Ten years: further is "never", and the clock's arithmetic stays in range.
const FAR_MS: u64 = 10 * 366 * 24 * 3600 * 1000;

enum Phase {
    Running,
    /// SIGTERM was sent.
    Ending {
        kill_at: Instant,
    },
    /// SIGKILL, again and again, until none is left.
    Killing {
        give_up_at: Instant,
    },
}

pub struct Watch<'a> {
    program: &'a Program,
    signals: BorrowedFd<'a>,
    cgroup: Option<&'a Cgroup>,
    agent: Pid,
    streams: [Pump; 2],
    buffer: Vec<u8>,
    deadline: Instant,
    last_output: Instant,
    phase: Phase,
    cause: Cause,
    stop_asked: bool,
    exit: Option<Exit>,
    leftovers_met: bool,
    warned: HashSet<Identity>,
    leftovers: HashSet<Identity>,
}

/// What the loop saw.
pub struct Seen {
    pub exit: Exit,
    pub cause: Cause,
    pub streams: [Pump; 2],
    pub leftovers: u32,
}

impl<'a> Watch<'a> {
    pub fn new(
        program: &'a Program,
        signals: BorrowedFd<'a>,
        cgroup: Option<&'a Cgroup>,
        agent: Pid,
        streams: [Pump; 2],
    ) -> Self {
        let now = Instant::now();
        Self {
            program,
            signals,
            cgroup,
            agent,
            streams,
            buffer: vec![0; BUFFER_BYTES],
            deadline: now + milliseconds(program.deadline_ms),
            last_output: now,
            phase: Phase::Running,
            cause: Cause::Finished,
            stop_asked: false,
            exit: None,
            leftovers_met: false,
            warned: HashSet::new(),
            leftovers: HashSet::new(),
        }
    }

    pub fn run(mut self) -> Seen {
        while !self.reap() && self.advance(Instant::now()) {
            self.wait();
        }
        self.drain();
        Seen {
            exit: self.exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw())),
            cause: self.cause,
            streams: self.streams,
            leftovers: u32::try_from(self.leftovers.len()).unwrap_or(u32::MAX),
        }
    }

    /// Collects the dead; true when nobody is left. Orphans come to the shim as their reaper, so "no child" means
    /// "no descendant": an answer of the kernel that no fork can race, which a walk over `/proc` is not.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => self.exit = Some(exit_of(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Moves the turn towards its end; false when what is left cannot be killed.
    fn advance(&mut self, now: Instant) -> bool {
        match self.phase {
            Phase::Running if self.exit.is_some() => self.end_leftovers(now + LEFTOVER_GRACE),
            Phase::Running => {
                if let Some(cause) = self.reason_to_end(now) {
                    self.cause = cause;
                    self.phase = Phase::Ending {
                        kill_at: now + milliseconds(self.program.kill_grace_ms),
                    };
                    self.terminate();
                }
            }
            Phase::Ending { kill_at } if now >= kill_at => {
                self.phase = Phase::Killing {
                    give_up_at: now + KILL_MAX,
                };
                self.kill();
            }
            Phase::Ending { kill_at } if self.exit.is_some() && !self.leftovers_met => {
                self.end_leftovers(kill_at.min(now + LEFTOVER_GRACE));
            }
            Phase::Ending { .. } => {}
            Phase::Killing { give_up_at } if now >= give_up_at => {
                eprintln!(
                    "ralphd shim: {} processes did not end",
                    tree::descendants(own_pid()).len()
                );
                return false;
            }
            Phase::Killing { .. } => self.kill(),
        }
        true
    }

    fn reason_to_end(&self, now: Instant) -> Option<Cause> {
        if self.stop_asked {
            return Some(Cause::Stopped);
        }
        if now >= self.deadline {
            return Some(Cause::TimedOut);
        }
        let silent = self.silent_at().is_some_and(|at| now >= at);
        silent.then_some(Cause::Silent)
    }

    fn silent_at(&self) -> Option<Instant> {
        Some(self.last_output + milliseconds(self.program.silence_ms?))
    }

    /// The agent's own words come first: what was left behind may fill the pipes with its own.
    fn end_leftovers(&mut self, kill_at: Instant) {
        self.leftovers_met = true;
        self.drain();
        self.phase = Phase::Ending { kill_at };
        self.terminate();
    }

    /// SIGTERM once to everybody: many agents take a second one as "at once, without cleaning up".
    fn terminate(&mut self) {
        let group = self.exit.is_none().then_some(self.agent);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, Signal::TERM);
        }
        for member in tree::descendants(own_pid()) {
            let reached = group.is_some_and(|group| member.group == group.as_raw_nonzero().get());
            if self.warned.insert(member.identity()) && !reached {
                tree::signal(&member, Signal::TERM);
            }
            if group.is_none() {
                self.leftovers.insert(member.identity());
            }
        }
    }

    /// One by one first, because that counts; then the group, because nothing can fork out of it.
    fn kill(&mut self) {
        for member in tree::freeze(own_pid()) {
            let is_agent = member.pid == self.agent.as_raw_nonzero().get();
            if tree::signal(&member, Signal::KILL) && !is_agent {
                self.leftovers.insert(member.identity());
            }
        }
        if let Some(cgroup) = self.cgroup {
            cgroup.kill();
        }
    }

    fn drain(&mut self) {
        for stream in &mut self.streams {
            stream.drain(&mut self.buffer);
        }
    }

    /// Sleeps until a signal, output, or the next clock.
    fn wait(&mut self) {
        let until = self.next_clock();
        let left = until.saturating_duration_since(Instant::now());
        let (stop, ready) = self.poll(left);
        self.stop_asked |= stop;
        for (stream, ready) in self.streams.iter_mut().zip(ready) {
            if ready && matches!(stream.step(&mut self.buffer), Flow::Bytes(_)) {
                self.last_output = Instant::now();
            }
        }
    }

    fn next_clock(&self) -> Instant {
        match self.phase {
            Phase::Running => self
                .silent_at()
                .map_or(self.deadline, |silent| silent.min(self.deadline)),
            Phase::Ending { kill_at } => kill_at,
            Phase::Killing { .. } => Instant::now() + KILL_PAUSE,
        }
    }

    /// Whether to stop, and which streams have something.
    fn poll(&self, left: Duration) -> (bool, [bool; 2]) {
        let mut waited = vec![PollFd::from_borrowed_fd(self.signals, PollFlags::IN)];
        let sources = self.streams.each_ref().map(Pump::source);
        waited.extend(
            sources
                .iter()
                .flatten()
                .map(|pipe| PollFd::from_borrowed_fd(*pipe, PollFlags::IN)),
        );
        let timeout = Timespec::try_from(left).ok();
        if rustix::event::poll(&mut waited, timeout.as_ref()).is_err() {
            return (false, [false; 2]);
        }
        let mut answers = waited.iter().map(|entry| !entry.revents().is_empty());
        let stop = answers.next() == Some(true) && signals::stop_asked(self.signals);
        let ready = sources.map(|source| source.is_some() && answers.next() == Some(true));
        (stop, ready)
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn milliseconds(wanted: u64) -> Duration {
    Duration::from_millis(wanted.min(FAR_MS))
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Signal(0),
    }
}
