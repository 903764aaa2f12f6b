//! Built-in agents: ralphd's own loop over a model. It runs as a process of its own under the shim, like every other agent, so that
//! a turn outlives the daemon; its stream (`agent/stream/ralphd`) says what it does, its journal lets a killed one go on.
//!
//! ```text
//!  daemon                    this process
//!  agent/command ──► shim ──► converse ─► (setup) conversation ─► provider (anthropic, openai, recorded)
//!        ▲                                     │
//!        └── stream ◄── mouth ◄── journal ◄── workbench ─► hooks, tools
//! ```
//!
//! It must not judge itself, nor touch the database.

mod conversation;
mod converse;
mod hooks;
pub mod journal;
mod mouth;
pub mod settings;
mod setup;
mod workbench;

pub use converse::converse;
