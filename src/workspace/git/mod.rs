//! The git command on the repositories that agents work in. It never asks anybody, never waits for an editor or a password, and runs nothing
//! that a repository or the user's own settings name (hooks, monitors, filters, drivers): [`guard`] sees to that for every call.
//! It must not touch the database, nor decide what a session is to do.

mod guard;
mod location;
mod locks;
mod prepare;
mod repository;
mod stage;
mod tool;

pub use location::{Source, check_reference};
pub use prepare::{
    LOCK_FILE, Prepared, Unprepared, Wanted, prepare, release_in_place, safety_reference,
};
pub use repository::{Foreign, Repository};
pub use stage::stage_all;
pub use tool::{Author, Call, GitFailed, Tool};
