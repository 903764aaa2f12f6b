//! The whole tree as it is, into an index. Not by `git add`: that looks into the repositories inside the tree, and their own settings may
//! name programs. It must not leave out anything that is not ignored, but for those repositories.

use crate::workspace::git::repository::Repository;
use anyhow::Result;
use std::path::Path;

/// Brings an index to the state of the tree, the tree's own index unless another is named. Returns the repositories inside the tree that
/// no commit knows of: they are left out.
pub async fn stage_all(repository: &Repository, index: Option<&Path>) -> Result<Vec<String>> {
    let on_index = |words: &[&str]| {
        let call = repository.call(words.iter().copied());
        match index {
            Some(index) => call.variable("GIT_INDEX_FILE", index.to_string_lossy()),
            None => call,
        }
    };
    let words = [
        "ls-files",
        "-z",
        "-t",
        "--modified",
        "--others",
        "--exclude-standard",
    ];
    let listed = on_index(&words).bytes().await?;
    // What is known first: a file that has become a directory must be gone before its parts come.
    let entries = || listed.split(|byte| *byte == 0);
    let known = entries().filter_map(|entry| match entry.strip_prefix(b"? ") {
        Some(_) => None,
        None => entry.get(2..),
    });
    let new = entries().filter_map(|entry| entry.strip_prefix(b"? "));
    let (inside, own): (Vec<&[u8]>, Vec<&[u8]>) =
        known.chain(new).partition(|path| path.ends_with(b"/"));
    if !own.is_empty() {
        let words = [
            "update-index",
            "-z",
            "--add",
            "--remove",
            "--replace",
            "--stdin",
        ];
        on_index(&words).input(own.join(&0)).done().await?;
    }
    let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    Ok(inside.into_iter().map(name).collect())
}
