//! Agents: named workers that take one turn with a fresh context and come back with their final words.
//! An agent must not judge itself: whether it is done is decided in `engine/ralph`.

pub mod builtin;
mod command;
pub use command::{commission_environment, error_file, profile};
pub mod key;
pub mod provider;
pub mod roster;
pub mod stream;
pub mod tool;

use crate::model::failure::Failure;
use crate::model::usage::Usage;
use anyhow::Result;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use stream::{StepReport, ToolCall};
use tokio::sync::{mpsc, watch};

/// For whom a program works; it finds this in its environment.
#[derive(Clone, Debug)]
pub struct Commission {
    pub session_id: String,
    pub task_id: String,
    /// The count as the prompt tells it: the n of «iteration n of m».
    pub iteration: i64,
    pub workspace: PathBuf,
}

/// Everything an agent needs for one turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The iteration's id.
    pub id: String,
    pub commission: Commission,
    pub prompt_file: PathBuf,
    pub output_file: PathBuf,
    /// Where the supervision of this turn keeps its record.
    pub turn_record: PathBuf,
    pub timeout: Duration,
    pub silence: Option<Duration>,
    /// Names of environment variables the request wants passed on.
    pub environment: Vec<String>,
    /// The final words shall be JSON of this schema; programs of others have it in their prompt.
    pub answer_schema: Option<Json>,
    /// Turns true when the turn is to be ended now.
    pub stop: watch::Receiver<bool>,
    /// Where the agent says what it has used and done so far.
    pub reports: mpsc::Sender<TurnReport>,
}

/// What a running turn tells of itself.
#[derive(Clone, Debug, Default)]
pub struct TurnReport {
    /// All that it has used so far.
    pub usage: Usage,
    /// The tool calls that ended since the last report.
    pub tool_calls: Vec<ToolCall>,
    /// The replies of the model since the last report, where the agent tells of them.
    pub steps: Vec<StepCost>,
}

/// What one reply of a model used, and what that cost where it has a price.
#[derive(Clone, Debug)]
pub struct StepCost {
    pub step: StepReport,
    pub cost_usd: Option<f64>,
}

/// How a turn came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// By itself.
    Finished,
    /// Killed: it took too long, or was silent for too long.
    TimedOut,
    /// Ended on purpose, by a person or the daemon.
    Stopped,
    /// Ended by the daemon because it passed a limit of cost, tokens or tool calls.
    Overspent,
    /// Ended by its own guard because it repeated the same call.
    DoomLoop,
    /// Vanished together with its shim; nothing is known of it.
    Lost,
}

/// What a turn left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: TurnEnd,
    pub final_text: String,
    /// Set when the agent failed rather than spoke: its words are not believed then.
    pub failure: Option<Failure>,
    pub exit_code: Option<i64>,
    pub exit_signal: Option<i64>,
    pub usage: Usage,
    /// The tool stopped at a limit of its own: not done, and it counts even without words.
    pub unfinished: bool,
    /// The model it worked with, as far as that is known.
    pub model: Option<String>,
    /// Remarks for people: denied permissions and the like.
    pub warnings: Vec<String>,
}

/// A future that can be stored in a trait object.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A worker.
pub trait Agent: Send + Sync {
    /// Takes one turn. Called again for the same turn after a crash, it finds the turn and goes on waiting for it.
    fn run(&self, turn: Turn) -> Pending<'_, Result<Outcome>>;

    /// What a turn that is over has used, by the output that it left. It blocks.
    fn used(&self, output: &Path) -> Result<Usage>;
}
