//! The letters between agents and the daemon are no part of the work: git is told not to see them, in `.git`, where no commit takes it along.

use super::Unprepared;
use crate::files::{self, Unreadable};
use crate::workspace::git::repository::Repository;
use crate::workspace::letters;
use anyhow::{Result, bail};
use std::fmt::Write;

const MAX_BYTES: u64 = 1024 * 1024;

/// Keeps the directory of the letters out of every commit; where the repository has files of its own there, only the letters.
pub async fn letters(repository: &Repository, directory: &str) -> Result<()> {
    let lines = match tracked(repository, directory).await? {
        false => vec![format!("/{directory}/")],
        true => letters::NAMES
            .iter()
            .map(|name| format!("/{directory}/{name}"))
            .collect(),
    };
    let info = repository.common_dir().join("info");
    files::make_private_directory(&info)?;
    let file = info.join("exclude");
    let mut content = match files::read_regular(&file, MAX_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(Unreadable::Missing) => String::new(),
        Err(problem) => bail!(Unprepared(format!("{}: {problem}", file.display()))),
    };
    let missing: Vec<&String> = lines
        .iter()
        .filter(|line| !content.lines().any(|known| known == line.as_str()))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    for line in missing {
        let _ = writeln!(content, "{line}");
    }
    files::write_whole(&file, content.as_bytes())
}

/// Whether the repository has files of its own where the letters are.
async fn tracked(repository: &Repository, directory: &str) -> Result<bool> {
    let words = ["ls-files", "-z", "--cached", "--", directory];
    let said = repository.call(words).bytes().await?;
    Ok(!said.is_empty())
}

/// Refuses a commit that has something else in the place of the letters' directory.
pub async fn refuse_in_the_way(
    repository: &Repository,
    commit: &str,
    directory: &str,
) -> Result<()> {
    let words = ["ls-tree", "-z", commit, "--", directory];
    let said = repository.call(words).text().await?;
    if said.is_empty() || said.starts_with("040000 ") {
        return Ok(());
    }
    bail!(Unprepared(format!(
        "the repository has a file {directory:?} where the letters of agents go, which is a directory; rename it on another branch and use that"
    )))
}
