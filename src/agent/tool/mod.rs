//! The tools of the built-in agent: what each is called, takes and does. One file a tool.
//! A tool must not decide whether it may run (`builtin/` does), and must reach no path but through the jail.

mod arguments;
mod ask_human;
mod bash;
mod edit;
mod git;
mod glob;
mod grep;
mod jail;
mod read;
mod room;
mod search;
mod show;
mod spawn_agent;
mod write;

pub use room::{External, Room};

use crate::agent::Pending;
use room::Den;
use serde_json::Value as Json;
use std::sync::Arc;

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCard {
    pub name: &'static str,
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub parameters: Json,
}

/// Why a tool gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What the model should know to do better.
    Wrong(String),
    /// It may go well in a moment: tried again with growing waits before the model hears of it.
    Passing(String),
}

/// One tool.
pub trait Tool: Send + Sync {
    fn card(&self) -> ToolCard;

    /// Whether it leaves everything as it is, so that several may run at once.
    fn only_reads(&self) -> bool;

    /// Whether the turn is over once it has done its work, because somebody else has the next word.
    fn ends_turn(&self) -> bool {
        false
    }

    /// Whether it ends itself in time, because its caller says how long it may take.
    fn has_own_deadline(&self) -> bool {
        false
    }

    /// Does it. Dropping the future ends whatever it started.
    fn call(&self, arguments: Json) -> Pending<'_, Result<String, Fault>>;
}

/// The tools for one room. What they share is given back when the last of them is dropped.
pub fn toolbox(room: Room) -> anyhow::Result<Vec<Box<dyn Tool>>> {
    let den = Arc::new(Den::furnish(room)?);
    Ok(vec![
        Box::new(read::Read(den.clone())),
        Box::new(write::Write(den.clone())),
        Box::new(edit::Edit(den.clone())),
        Box::new(bash::Bash(den.clone())),
        Box::new(glob::Glob(den.clone())),
        Box::new(grep::Grep(den.clone())),
        Box::new(git::Status(den.clone())),
        Box::new(git::Diff(den.clone())),
        Box::new(git::Log(den.clone())),
        Box::new(ask_human::AskHuman(den.clone())),
        Box::new(spawn_agent::SpawnAgent(den)),
    ])
}

/// Work on files, aside from whoever waits for it.
async fn aside(
    work: impl FnOnce() -> Result<String, Fault> + Send + 'static,
) -> Result<String, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Fault::Passing(format!("the tool broke off: {error}"))),
    }
}
