//! The git command on the repositories that agents work in. It never asks anybody, never waits for an editor or a password, and runs nothing
//! that a repository or the user's own settings name (hooks, monitors, filters, drivers): `guard` sees to that for every call.
//! It must not touch the database, nor decide what a session is to do.
//!
//! What one turn of an agent did is kept as a point ([`record()`]): `look` says what changed, `choose` what of it is wanted, `stage` puts
//! it into an index, `references` keep the commit. [`restore()`] goes back to one, [`diff()`] compares two, [`check_out`] starts elsewhere from one.

mod choose;
mod commit;
mod diff;
mod facts;
mod fork;
mod ground;
mod guard;
mod locks;
mod look;
mod record;
mod references;
mod repository;
mod restore;
mod seen;
mod since;
mod stage;
mod survey;
mod telling;
mod tool;
mod under_way;
mod warnings;

pub use diff::{Form, diff};
pub use facts::{CommitMade, Facts, FileChange};
pub use fork::check_out;
pub use ground::{Ground, ground};
pub use record::{Moment, Recorded, record};
pub use repository::{Foreign, Repository};
pub use restore::{Point, Restored, restore};
pub use tool::{Author, Call, GitFailed, Tool};
