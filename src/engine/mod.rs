//! What runs a claimed task. One match over the kinds of task; each kind in its own room.
//! It must not choose which task comes next (that is `queue/`) nor speak SQL (that is `store/`).

pub mod mission;
pub mod prompt;
mod ralph;

pub use ralph::end_unfinished;

use crate::agent::roster::Roster;
use crate::clock::now_ms;
use crate::config::Config;
use crate::secrets::Vault;
use crate::store::Store;
use crate::store::tasks::Claim;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

const SUMMARY: &str = ".summary";

/// What every part of the running program shares.
pub struct House {
    pub store: Store,
    pub config: Arc<Config>,
    pub state: PathBuf,
    pub roster: Roster,
    pub prompts: prompt::Prompts,
    /// What must not be read by anybody: kept out of prompts; the store keeps it out of the rows.
    pub secrets: Vault,
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

/// Works on a claimed task until it is settled.
pub async fn execute(house: Arc<House>, claim: Claim, signals: Signals) -> Result<()> {
    // Plain sessions have `agent` tasks only.
    ralph::run(house, claim, signals).await
}
