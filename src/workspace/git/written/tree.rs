//! Trees: all files of a point in one list, and that list as git holds it, one object a directory. It must not look at the workspace.

use super::object::{ID_BYTES, Id, Kind, Object, Objects};
use std::collections::BTreeMap;

/// A tree of more files is git's matter.
pub const MAX_FILES: usize = 5_000;
/// One inside of the other.
pub const MAX_DEPTH: usize = 64;

/// How a file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Plain,
    Executable,
    Link,
}

const DIRECTORY: &str = "40000";
const MODES: &[(Mode, &str)] = &[
    (Mode::Plain, "100644"),
    (Mode::Executable, "100755"),
    (Mode::Link, "120000"),
];

impl Mode {
    fn word(self) -> &'static str {
        let known = MODES.iter().find(|(mode, _)| *mode == self);
        known.map_or(DIRECTORY, |(_, word)| word)
    }
}

/// A file of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: Mode,
    pub id: Id,
}

/// All files of a point by their path, which is any bytes. Its order is that of git's trees: a directory is sorted as if its name ended
/// in a slash, and here it does.
pub type Flat = BTreeMap<Vec<u8>, Entry>;

/// The trees of these files, those inside before those around them; the last is the whole.
pub fn fold(files: &Flat) -> Vec<Object> {
    let entries: Vec<(&[u8], Entry)> = files
        .iter()
        .map(|(path, entry)| (path.as_slice(), *entry))
        .collect();
    let mut made = Vec::new();
    fold_below(&entries, 0, &mut made);
    made
}

/// The tree of entries whose paths share their first bytes.
fn fold_below(entries: &[(&[u8], Entry)], shared: usize, made: &mut Vec<Object>) -> Id {
    let mut content = Vec::new();
    let mut rest = entries;
    while let Some((path, entry)) = rest.first() {
        let name = &path[shared..];
        let (word, name, id, count) = match memchr::memchr(b'/', name) {
            None => (entry.mode.word(), name, entry.id, 1),
            Some(slash) => {
                let below = &path[..=shared + slash];
                let count = rest.partition_point(|(path, _)| path.starts_with(below));
                let id = fold_below(&rest[..count], below.len(), made);
                (DIRECTORY, &name[..slash], id, count)
            }
        };
        content.extend_from_slice(word.as_bytes());
        content.push(b' ');
        content.extend_from_slice(name);
        content.push(0);
        content.extend_from_slice(id.as_bytes());
        rest = &rest[count..];
    }
    let tree = Object::new(Kind::Tree, content);
    let id = tree.id;
    made.push(tree);
    id
}

/// The files of a tree; nothing where it cannot be read here, is too large, or holds what plain directories do not.
pub fn unfold(objects: &Objects, tree: Id) -> Option<Flat> {
    let mut files = Flat::new();
    let mut directories = vec![(Vec::new(), tree, 0)];
    while let Some((above, tree, depth)) = directories.pop() {
        let content = objects.read(tree, Kind::Tree)?;
        let mut rest = content.as_slice();
        while !rest.is_empty() {
            let (Line { word, name, id }, after) = first_line(rest)?;
            let path = [above.as_slice(), name].concat();
            match MODES.iter().find(|(_, known)| word == known.as_bytes()) {
                Some((mode, _)) => drop(files.insert(path, Entry { mode: *mode, id })),
                None if word == DIRECTORY.as_bytes() && depth < MAX_DEPTH => {
                    directories.push(([path.as_slice(), b"/"].concat(), id, depth + 1));
                }
                None => return None,
            }
            if files.len() + directories.len() > 2 * MAX_FILES {
                return None;
            }
            rest = after;
        }
    }
    Some(files)
}

/// What a tree says of one entry.
struct Line<'a> {
    word: &'a [u8],
    name: &'a [u8],
    id: Id,
}

/// `mode name NUL id`, and what comes behind.
fn first_line(content: &[u8]) -> Option<(Line<'_>, &[u8])> {
    let space = memchr::memchr(b' ', content)?;
    let end = memchr::memchr(0, content)?;
    let (id, after) = content[end + 1..].split_at_checked(ID_BYTES)?;
    let line = Line {
        word: &content[..space],
        name: content.get(space + 1..end)?,
        id: Id::from_bytes(id)?,
    };
    Some((line, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_folded_is_unfolded() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("objects")).unwrap();
        let objects = Objects::of(place.path());
        let id = super::super::object::name(Kind::Blob, b"");
        let mut files = Flat::new();
        for (path, mode) in [
            ("a", Mode::Plain),
            ("a.b", Mode::Executable),
            ("b/c/d", Mode::Link),
            ("b-/x", Mode::Plain),
            ("b/c.d", Mode::Plain),
            ("b0", Mode::Plain),
        ] {
            files.insert(path.as_bytes().to_vec(), Entry { mode, id });
        }
        let trees = fold(&files);
        assert_eq!(trees.len(), 4);
        let whole = trees.last().unwrap().id;
        assert_eq!(unfold(&objects, whole), None);
        trees.iter().for_each(|tree| objects.write(tree).unwrap());
        assert_eq!(unfold(&objects, whole), Some(files));
        let nothing = fold(&Flat::new());
        assert_eq!(
            nothing[0].id.to_string(),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
    }
}
