//! The only place in ralphd that starts a program: its words, and the map of the parts.
//!
//! A turn of an agent outlives the daemon. The daemon starts its own binary as a *shim* on a
//! record of the turn, one file; the shim owns the agent: its output files, its exit status, its whole process tree. The two share
//! nothing but that file, so either may die without the other noticing.
//!
//! ```text
//!  daemon side                          the turn's record            shim side (no tokio, one thread)
//!  supervise  start, adopt, stop   ──►  (program by stdin)      ──►  shim       claim the turn, record its end
//!  look       how does it stand    ◄──  record                  ◄──  agent      start the program, contained
//!  pidfd      wait for a process        (turn: names, lock)          watch      poll loop: time, signals, end of the tree
//!  sweep      end a lost turn's tree                                 pump       capped copy of one stream
//!  growing    read while it grows  ◄──  (the output files)     ◄──  signals · cgroup
//!  capture    short programs, each under a warden (which ends what they leave), within a fence (confine) where wanted
//!                               tree: find and signal processes by /proc (both sides)
//! ```
//!
//! It must not know what an agent says or what a turn is for, and it never writes an environment to disk.

mod agent;
mod capture;
mod cgroup;
mod confine;
mod environment;
mod growing;
mod kept;
mod look;
mod pidfd;
mod pump;
mod shim;
mod signals;
mod supervise;
mod sweep;
mod tree;
mod turn;
mod warden;
mod watch;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use capture::{Captured, Errand, Surroundings, capture};
pub use cgroup::cgroup_delegated;
pub use confine::{Fence, Ground, system_ground, tool_ground};
pub use environment::allowed_environment;
pub use growing::Growing;
pub use look::{forget, look, variable_of_turn};
pub use shim::shim_main;
pub use supervise::Supervisor;
pub use sweep::{sweep, sweep_aside};

/// The variable that marks every process of a turn; its value is the file name of the turn's record.
pub const TURN_VARIABLE: &str = "RALPHD_TURN";

/// What to run and within which bounds. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// A file given as standard input, so that its end comes by itself; none: `/dev/null`.
    pub stdin: Option<PathBuf>,
    /// Created or emptied, mode 0600.
    pub stdout: PathBuf,
    /// Created with the first byte.
    pub stderr: PathBuf,
    /// Per stream. Of a longer one the beginning and the end are kept, with a note between them.
    pub output_cap_bytes: u64,
    pub deadline_ms: u64,
    /// The longest time without a byte on either stream; none: no such limit.
    pub silence_ms: Option<u64>,
    /// From SIGTERM to SIGKILL.
    pub kill_grace_ms: u64,
    #[serde(default)]
    pub limits: Limits,
    /// Names of variables whose values are masked in the output, beside those that say so themselves (`*_KEY` …).
    #[serde(default)]
    pub secret_names: Vec<String>,
    /// Secrets that may come up in the output although they are not in its environment.
    #[serde(default)]
    pub secrets: Vec<String>,
}

/// Resource limits of the agent and what it starts. A value above the daemon's own hard limit is lowered to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub open_files: Option<u64>,
    /// Counted by the kernel over all processes of the user, not only the agent's; not applied to root.
    pub processes: Option<u64>,
    pub file_size_bytes: Option<u64>,
    /// Private writable memory of one process. Not its address space: JavaScript engines reserve far more than they use.
    pub memory_bytes: Option<u64>,
    pub cpu_seconds: Option<u64>,
}

/// How the agent's own process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It never ran, and why.
    NotStarted(String),
}

/// Why the turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Finished,
    TimedOut,
    Silent,
    Stopped,
}

/// A turn that is over: nothing of it runs any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub exit: Exit,
    pub cause: Cause,
    /// What the agent wrote, kept or not.
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// Something of it is not in the files: the cap, or a full disk.
    pub truncated: bool,
    /// Processes beside the agent that outlived it, or its grace, and were ended.
    pub leftovers_killed: u32,
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
}

/// How a turn stands, by its record alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    NeverStarted,
    Running {
        shim_pid: i32,
    },
    Ended(Ended),
    /// It started, its shim is gone, and no end was recorded. [`sweep()`] before the work starts again.
    Lost,
}

/// What [`Supervisor::run`] brings home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ended(Ended),
    /// See [`Sighting::Lost`].
    Lost,
}

/// The wall clock, for stamps only: deadlines go by the monotonic clock.
fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
