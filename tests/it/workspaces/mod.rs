//! Workspaces on git repositories: how one is made ready, what a hostile repository cannot do, points and trees, merges and pushes.

mod ground;
mod hostile;
mod in_place;
mod killed;
mod merging;
mod merging_conflicts;
mod merging_storm;
mod place;
mod preparing;
mod pushing;
mod recording;
mod recording_strange;
mod restoring;
mod trees;
mod written;
mod yard;
