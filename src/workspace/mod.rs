//! The directory an agent works in: where it is, what it holds, whether anything in it moves.
//! It must not touch the database; who may work in it is the store's word (`store/workspaces`). The only program it runs is git (`git`).

pub mod fingerprint;
pub mod git;
pub mod letters;
pub mod places;
pub mod protect;

use crate::files;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// What a session without a named workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Run,
    /// One that is worked through as a plan.
    Workflow,
}

/// The directory for a session: a named one is shared by all sessions of that name, any other is its own.
pub fn resolve(state: &Path, name: Option<&str>, kind: Kind, session: &str) -> PathBuf {
    let root = places::all(state);
    match name {
        Some(name) => root.join("session").join(name),
        None => match kind {
            Kind::Run => root.join("run").join(session),
            Kind::Workflow => root.join("workflow").join(session),
        },
    }
}

/// Makes the directory and its `state/`, so that an agent can write its handoff without further ado.
pub fn prepare(workspace: &Path) -> Result<()> {
    let state = workspace.join(letters::DIRECTORY);
    if letters::lead_away(workspace) {
        std::fs::remove_file(&state)
            .with_context(|| format!("cannot remove the link {}", state.display()))?;
    }
    files::make_private_directory(&state)
}
