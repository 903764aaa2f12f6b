//! Where a repository is. (To be taken from the branch that prepares workspaces.)

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Path(PathBuf),
    Url(String),
}

impl Source {
    pub fn read(text: &str) -> Result<Source, String> {
        if text.contains("://") {
            return Ok(Source::Url(text.to_owned()));
        }
        let path = Path::new(text);
        match path.is_absolute() {
            true => Ok(Source::Path(path.to_owned())),
            false => Err("must be an absolute path or an address".to_owned()),
        }
    }
}

pub fn check_location(_: &str) -> Result<(), String> {
    Ok(())
}

pub fn check_reference(_: &str) -> Result<(), String> {
    Ok(())
}

/// A path that is named from a directory, by its whole name; addresses and whole paths are left as they are.
pub fn seen_from(directory: &Path, text: &str) -> String {
    text.to_owned()
}
