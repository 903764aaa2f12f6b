//! The ground that agents work on: made ready before the first of them comes (`ready`), kept after each iteration (`keep`), parted into a
//! tree for each task of a parallel plan (`tree`), handed on at the end (`publish`), tidied up after it (`tidy`), and gone back on (`rewind`).
//! Git itself is `workspace/git`; here is what a session wants of it.

pub mod cleanup;
mod keep;
mod publish;
mod ready;
mod rewind;
mod tidy;
mod tree;

pub(in crate::engine) use keep::Occasion;
pub use keep::{Kept, of_point};
pub use rewind::{Rewound, rewind};
pub use tidy::tidy;
pub(in crate::engine) use tree::works_in_a_tree;

use super::House;
use crate::workspace::git::Repository;
use crate::workspace::places;
use anyhow::Result;
use std::path::{Path, PathBuf};

impl House {
    /// The repository whose main tree a workspace is, where it has one.
    pub(in crate::engine) async fn repository(&self, place: &Path) -> Result<Option<Repository>> {
        places::repository(&self.git, &self.state, place).await
    }

    /// Where the trees of a session's tasks are.
    pub fn trees_of(&self, session: &str) -> PathBuf {
        places::all(&self.state).join("tree").join(session)
    }
}
