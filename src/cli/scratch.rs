//! A directory of one's own for as long as a command takes.

use crate::clock::new_id;
use crate::files;
use crate::model::id::short;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// A directory that is gone with everything in it when this is dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one below the system's directory for temporary files; `purpose` is in its name.
    pub fn make(purpose: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("ralphd-{purpose}-{}", short(&new_id())));
        files::make_private_directory(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
