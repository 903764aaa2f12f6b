//! The queue at work: claim ready tasks, keep their leases, bring back those of dead claimants.
//! It must not know what a task does (`engine/`) nor hold state of its own that a crash would lose: the rows are the queue.

pub mod identity;
pub mod janitor;
mod scheduler;
mod trouble;
pub mod wake;

pub use scheduler::Scheduler;
