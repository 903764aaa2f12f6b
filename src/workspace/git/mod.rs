//! The git command on the repositories that agents work in. It never asks anybody, never waits for an editor or a password, and runs nothing
//! that a repository or the user's own settings name (hooks, monitors, filters, drivers): [`guard`] sees to that for every call.
//! It must not touch the database, nor decide what a session is to do.

mod guard;
mod locks;
mod repository;
mod tool;

pub use repository::{Foreign, Repository};
pub use tool::{Call, GitFailed, Tool};
