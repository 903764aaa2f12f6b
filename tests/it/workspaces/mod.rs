//! Workspaces on repositories: how one is made ready, and what a hostile repository cannot do.

mod place;
mod preparing;
