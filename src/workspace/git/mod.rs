//! The git command on the repositories that agents work in. It never asks anybody, never waits for an editor or a password, and runs nothing
//! that a repository or the user's own settings name (hooks, monitors, filters, drivers): `guard` sees to that for every call.
//! It must not touch the database, nor decide what a session is to do.
//!
//! What one turn of an agent did is kept as a point ([`record()`]): `look` says what changed, `choose` what of it is wanted, `stage` puts
//! it into an index, `references` keep the commit. Of a plain directory in which all is simple, it is `written` without git. [`restore()`] goes back to one, [`diff()`] compares two, [`check_out`] starts elsewhere from one. Before
//! the first of them comes [`prepare()`]; parallel tasks have trees ([`add_tree`]) that are merged again ([`merge()`]).

mod choose;
mod commit;
mod conclude;
mod conflict;
mod diff;
mod facts;
mod follow;
mod fork;
mod ground;
mod guard;
mod locks;
mod look;
mod markers;
mod merge;
mod names;
mod prepare;
mod push;
mod record;
mod references;
mod removal;
mod repository;
mod restore;
mod seen;
mod since;
mod stage;
mod standing;
mod survey;
mod telling;
mod tool;
mod turn;
mod under_way;
mod warnings;
mod worktree;
mod written;

pub use conclude::{Concluded, conclude_conflict, left_of_conflict};
pub use conflict::{abandon_conflict, lay_out_conflict};
pub use diff::{Form, diff};
pub use facts::{CommitMade, Facts, FileChange, changes_between};
pub use follow::catch_up;
pub use fork::check_out;
pub use ground::{EMPTY_POINT, Ground, ground, shadow_ground};
pub use locks::open_left as open_left_locks;
pub use merge::{Merged, combined_start, is_merged, merge, unmerged};
pub use prepare::{
    LOCK_FILE, Prepared, Unprepared, Wanted, adopt, prepare, release_in_place, safety_reference,
};
pub use push::{Pushed, push};
pub use record::{Moment, Recorded, record, record_with};
pub use removal::{Removal, remove_tree};
pub use repository::{DOT_GIT, Foreign, Repository};
pub use restore::{Point, Restored, restore};
pub use standing::{Holdings, holdings};
pub use tool::{Call, GitFailed, Tool};
pub use worktree::{Tree, add_tree, tree_at, trees};
pub use written::Recall;
