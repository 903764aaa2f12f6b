//! What runs a claimed task: `conduct` the one that plans the others, `exec` those of a plan, `ralph` the loop, `delegate` what another
//! agent does; `work` is how each of them is begun and left, `ground` what they stand on.
//! It must not choose which task comes next (that is `queue/`) nor speak SQL (that is `store/`).

mod conduct;
mod delegate;
mod exec;
mod failing;
pub mod ground;
pub mod mission;
pub mod prompt;
mod ralph;
pub mod work;
pub mod workflows;

pub use failing::{fail, poisoned};

use crate::agent::roster::Roster;
use crate::clock::now_ms;
use crate::config::Config;
use crate::model::task::TaskKind;
use crate::secrets::Vault;
use crate::store::Store;
use crate::store::tasks::Claim;
use crate::workspace::git::Tool;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use work::Work;
pub use work::{Door, Doors, end_what_runs};

const SUMMARY: &str = ".summary";
const COMMAND: &str = ".command.";

/// What every part of the running program shares.
pub struct House {
    pub store: Store,
    pub config: Arc<Config>,
    pub state: PathBuf,
    pub roster: Roster,
    pub prompts: prompt::Prompts,
    pub workflows: workflows::Workflows,
    /// What must not be read by anybody: kept out of prompts; the store keeps it out of the rows.
    pub secrets: Vault,
    /// As it is called on the repositories that agents work in.
    pub git: Tool,
}

impl House {
    /// Until when a claim taken or renewed now holds.
    pub fn lease_until_ms(&self) -> i64 {
        now_ms() + self.config.queue.lease.as_millis()
    }

    /// Where the output of a session's iterations lies.
    pub fn log_directory(&self, session: &str) -> PathBuf {
        self.state.join("logs").join(session)
    }

    /// Where the supervision of one turn keeps its record.
    pub fn turn_record(&self, turn: &str) -> PathBuf {
        turn_record(&self.state, turn)
    }

    /// The turns of commands that were begun for a task and are not forgotten yet.
    pub fn commands_of(&self, task: &str) -> Result<Vec<String>> {
        let names = std::fs::read_dir(self.state.join("turns"))?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| commanded(name) == Some(task)).collect())
    }

    /// Removes the files of a turn whose end is in the rows. What stays is in nobody's way, and is removed at the next start.
    pub fn forget_turn(&self, turn: &str) {
        if let Err(error) = crate::process::forget(&self.turn_record(turn)) {
            tracing::warn!("an ended turn's files stay: {error:#}");
        }
    }
}

/// Where the supervision of one turn keeps its record.
pub fn turn_record(state: &Path, turn: &str) -> PathBuf {
    state.join("turns").join(turn)
}

/// The turn of an iteration's verification.
pub fn verify_turn(iteration: &str) -> String {
    format!("{iteration}.verify")
}

/// The turn of an iteration's summary.
pub fn summary_turn(iteration: &str) -> String {
    format!("{iteration}{SUMMARY}")
}

/// The iteration whose summary a turn is.
pub fn summed_up(turn: &str) -> Option<&str> {
    turn.strip_suffix(SUMMARY)
}

/// What reaches a task from outside while it runs.
#[derive(Clone)]
pub struct Signals {
    /// Turns true when the running turn is to be ended now.
    pub stop: watch::Receiver<bool>,
    /// Turns true when the daemon goes down.
    pub shutdown: watch::Receiver<bool>,
}

/// The turn of a command that a task runs, by the number of the try.
pub fn command_turn(task: &str, tries: i64) -> String {
    format!("{task}{COMMAND}{tries:02}")
}

/// The task whose command a turn is.
pub fn commanded(turn: &str) -> Option<&str> {
    turn.split_once(COMMAND).map(|(task, _)| task)
}

/// Works on a claimed task until it is settled. Whoever claimed it may have knocked at its door in the same transaction.
pub async fn execute(
    house: Arc<House>,
    claim: Claim,
    door: Option<Door>,
    signals: Signals,
) -> Result<()> {
    let Some(work) = Work::begin(house, claim, door, signals).await? else {
        return Ok(());
    };
    // Each has much to remember from wait to wait: on the heap, not in the frames of all that are called.
    match (work.task.task_type, &work.step) {
        (TaskKind::Plan, _) => Box::pin(conduct::run(work)).await,
        (_, Some(_)) => Box::pin(exec::run(work)).await,
        // The one task of a plain session.
        (_, None) => Box::pin(ralph::run(work, None)).await,
    }
}
