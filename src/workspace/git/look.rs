//! What git sees in a tree that is in no commit yet, in one call. It must not look into repositories inside of it: git would start itself
//! there, by their own settings, monitors and all (`git add -A` does).

use super::repository::Repository;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The mode of an entry that stands for another repository.
const LINK_MODE: &str = "160000";
const NO_MODE: &str = "000000";

/// A file as a commit holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub mode: String,
    pub object: String,
}

/// How a path differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Not in the index. A directory only where it is a repository of its own.
    Untracked,
    /// Git could not bring two sides together.
    Unmerged,
    Tracked {
        /// The index is not as HEAD.
        staged: bool,
        /// The tree is not as the index.
        unstaged: bool,
        deleted: bool,
        /// It stands for another repository.
        link: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: OsString,
    pub difference: Difference,
    /// As HEAD holds it.
    pub before: Option<Version>,
    /// How long the names of objects are.
    width: usize,
}

impl Entry {
    /// What takes it out of an index.
    pub fn absent(&self) -> Version {
        Version {
            mode: "0".to_owned(),
            object: "0".repeat(self.width),
        }
    }
}

/// A tree at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Nothing before the first commit.
    pub head: Option<String>,
    /// Nothing where the tree is on no branch.
    pub branch: Option<String>,
    pub entries: Vec<Entry>,
}

/// Looks at the tree; unchanged files are not read.
pub async fn look(repository: &Repository) -> Result<Look> {
    let words = [
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--no-ahead-behind",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
    ];
    let said = repository.call(words).bytes().await?;
    read(&said).context("git status says what is not understood")
}

fn read(said: &[u8]) -> Option<Look> {
    let mut look = Look::default();
    for line in said
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty())
    {
        match line {
            [b'#', b' ', words @ ..] => read_header(&mut look, &String::from_utf8_lossy(words)),
            [b'?', b' ', path @ ..] => look.entries.push(Entry {
                path: OsString::from_vec(path.to_vec()),
                difference: Difference::Untracked,
                before: None,
                width: 0,
            }),
            [b'1', b' ', rest @ ..] => look.entries.push(read_tracked(rest)?),
            [b'u', b' ', rest @ ..] => look.entries.push(read_unmerged(rest)?),
            _ => return None,
        }
    }
    Some(look)
}

fn read_header(look: &mut Look, words: &str) {
    match words.split_once(' ') {
        Some(("branch.oid", commit)) if commit != "(initial)" => look.head = Some(commit.into()),
        Some(("branch.head", branch)) if branch != "(detached)" => {
            look.branch = Some(branch.into());
        }
        _ => {}
    }
}

/// The words before the path, and the path, which may hold anything.
fn fields<const COUNT: usize>(rest: &[u8]) -> Option<([&str; COUNT], OsString)> {
    let mut parts = rest.splitn(COUNT + 1, |byte| *byte == b' ');
    let mut words = [""; COUNT];
    for word in &mut words {
        *word = std::str::from_utf8(parts.next()?).ok()?;
    }
    Some((words, OsString::from_vec(parts.next()?.to_vec())))
}

/// `XY sub mH mI mW hH hI path`
fn read_tracked(rest: &[u8]) -> Option<Entry> {
    let ([both, _, head_mode, index_mode, tree_mode, head_object, _], path) = fields::<7>(rest)?;
    let (staged, unstaged) = (both.get(..1)?, both.get(1..)?);
    Some(Entry {
        path,
        difference: Difference::Tracked {
            staged: staged != ".",
            unstaged: unstaged != ".",
            deleted: unstaged == "D",
            link: [index_mode, tree_mode].contains(&LINK_MODE),
        },
        before: (head_mode != NO_MODE).then(|| Version {
            mode: head_mode.to_owned(),
            object: head_object.to_owned(),
        }),
        width: head_object.len(),
    })
}

/// `XY sub m1 m2 m3 mW h1 h2 h3 path`
fn read_unmerged(rest: &[u8]) -> Option<Entry> {
    let ([.., object], path) = fields::<9>(rest)?;
    Some(Entry {
        path,
        difference: Difference::Unmerged,
        before: None,
        width: object.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_read() {
        let said = b"# branch.oid abc\0# branch.head main\0\
            1 .M N... 100644 100644 100644 aaa aaa a b\n.txt\0\
            1 A. N... 000000 100755 100755 000 bbb new\0\
            1 .D N... 120000 120000 000000 ccc ccc gone\0\
            1 .M SC.. 160000 160000 160000 ddd ddd sub\0\
            u UU N... 100644 100644 100644 100644 e f g torn \xff\0\
            ? own/\0";
        let look = read(said).unwrap();
        assert_eq!(look.head.as_deref(), Some("abc"));
        assert_eq!(look.branch.as_deref(), Some("main"));
        let seen: Vec<(Vec<u8>, &Difference, Option<&str>)> = look
            .entries
            .iter()
            .map(|entry| {
                let before = entry.before.as_ref().map(|version| version.object.as_str());
                let path = entry.path.clone().into_vec();
                (path, &entry.difference, before)
            })
            .collect();
        let tracked = |staged, unstaged, deleted, link| Difference::Tracked {
            staged,
            unstaged,
            deleted,
            link,
        };
        let expected = [
            (
                b"a b\n.txt".to_vec(),
                tracked(false, true, false, false),
                Some("aaa"),
            ),
            (b"new".to_vec(), tracked(true, false, false, false), None),
            (
                b"gone".to_vec(),
                tracked(false, true, true, false),
                Some("ccc"),
            ),
            (
                b"sub".to_vec(),
                tracked(false, true, false, true),
                Some("ddd"),
            ),
            (b"torn \xff".to_vec(), Difference::Unmerged, None),
            (b"own/".to_vec(), Difference::Untracked, None),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, difference, before)| (path.clone(), difference, *before))
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn before_the_first_commit_and_on_no_branch() {
        let look = read(b"# branch.oid (initial)\0# branch.head (detached)\0").unwrap();
        assert_eq!(look, Look::default());
    }
}
