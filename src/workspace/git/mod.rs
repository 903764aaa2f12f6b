//! The git command on the repositories that agents work in. It never asks anybody, never waits for an editor or a password, and runs nothing
//! that a repository or the user's own settings name (hooks, monitors, filters, drivers): `guard` sees to that for every call.
//! It must not touch the database, nor decide what a session is to do.

mod conclude;
mod conflict;
mod follow;
mod guard;
mod locks;
mod markers;
mod merge;
mod names;
mod push;
mod removal;
mod repository;
mod tool;
mod turn;
mod worktree;

pub use conclude::{Concluded, conclude_conflict};
pub use conflict::{abandon_conflict, lay_out_conflict};
pub use merge::{Merged, combined_start, is_merged, merge, unmerged};
pub use push::{Pushed, push};
pub use removal::{Removal, remove_tree};
pub use repository::{Foreign, Repository};
pub use tool::{Author, Call, GitFailed, Tool};
pub use worktree::{Tree, add_tree, trees};
