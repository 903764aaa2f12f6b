//! Workspaces on repositories: how one is made ready, and what a hostile repository cannot do.

mod hostile;
mod in_place;
mod killed;
mod place;
mod preparing;
