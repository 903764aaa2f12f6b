//! Two points compared, also of two repositories. No program for comparing is run, and nothing is written.

use super::ground::Ground;
use super::repository::Repository;
use anyhow::{Result, bail};

/// In which form differences are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Line by line.
    Patch,
    /// Files and how much of them.
    Stat,
    /// Files and what became of them.
    Names,
}

/// What became of the left point on the way to the right one; beyond `cap_bytes` the middle is left out, and said so.
pub async fn diff(
    left: (&Ground, &str),
    right: (&Ground, &str),
    form: Form,
    colour: bool,
    cap_bytes: usize,
) -> Result<Vec<u8>> {
    let (here, there) = (left.0.repository(), right.0.repository());
    let from = commit(here, left.1).await?;
    let to = commit(there, right.1).await?;
    let form = match form {
        Form::Patch => "--patch",
        Form::Stat => "--stat=100",
        Form::Names => "--name-status",
    };
    let words = [
        "diff-tree",
        "-r",
        "-M",
        form,
        if colour {
            "--color=always"
        } else {
            "--color=never"
        },
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        from.as_str(),
        to.as_str(),
    ];
    let mut call = here.call(words).at_most(cap_bytes);
    if here.common_dir() != there.common_dir() {
        let objects = there.common_dir().join("objects");
        let objects = quoted(&objects.to_string_lossy());
        call = call.variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    }
    call.bytes().await
}

async fn commit(repository: &Repository, name: &str) -> Result<String> {
    match repository.commit_of(name).await? {
        Some(commit) => Ok(commit),
        None => bail!("the point {name} is not in this repository any more"),
    }
}

/// A path in a list of paths.
fn quoted(path: &str) -> String {
    let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
