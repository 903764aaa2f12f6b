//! Workspaces that are git repositories.

mod ground;
mod merging;
mod merging_conflicts;
mod merging_storm;
mod pushing;
mod trees;
