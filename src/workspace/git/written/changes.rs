//! The files in which two points differ, counted without git where that is certain to give git's numbers. It only reads.

use super::lines::{Counted, count};
use super::object::{Kind, Objects};
use super::tree::{Entry, Flat, Mode};
use crate::workspace::git::facts::FileChange;

/// More work than this is left to git.
const MAX_COMPARED_FILES: usize = 200;

/// What became of each file that is not the same, in git's order; nothing where only git can tell.
pub fn changes(objects: &Objects, before: &Flat, after: &Flat) -> Option<Vec<FileChange>> {
    let mut differing: Vec<(&Vec<u8>, Option<&Entry>, Option<&Entry>)> = Vec::new();
    for (path, entry) in after {
        match before.get(path) {
            Some(same) if same == entry => {}
            other => differing.push((path, other, Some(entry))),
        }
    }
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    differing.extend(gone.map(|(path, entry)| (path, Some(entry), None)));
    differing.sort_by_key(|(path, ..)| *path);
    let came = differing.iter().any(|(_, before, _)| before.is_none());
    let went = differing.iter().any(|(.., after)| after.is_none());
    // Git looks among them for files that only moved.
    if (came && went) || differing.len() > MAX_COMPARED_FILES {
        return None;
    }
    differing
        .into_iter()
        .map(|(path, before, after)| change(objects, path, before, after))
        .collect()
}

fn change(
    objects: &Objects,
    path: &[u8],
    before: Option<&Entry>,
    after: Option<&Entry>,
) -> Option<FileChange> {
    // How git counts what became a link, or was one, is its own business.
    if before
        .iter()
        .chain(&after)
        .any(|entry| entry.mode == Mode::Link)
    {
        return None;
    }
    let content = |entry: Option<&Entry>| match entry {
        None => Some(Vec::new()),
        Some(entry) => objects.read(entry.id, Kind::Blob),
    };
    let (added, removed) = match count(&content(before)?, &content(after)?)? {
        Counted::Lines { added, removed } => (Some(added), Some(removed)),
        Counted::Binary => (None, None),
    };
    Some(FileChange {
        path: String::from_utf8_lossy(path).into_owned(),
        added,
        removed,
    })
}
