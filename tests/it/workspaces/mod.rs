//! Workspaces on repositories: what git is made to do there, and what it is kept from.

mod recording;
mod restoring;
mod yard;
