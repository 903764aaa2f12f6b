//! Lock files that a killed git left behind. Git waits for nobody who is dead, but it does not look; we do, and only then take them away.
//!
//! Who may hold a lock depends on what it locks: the index and the HEAD of a tree only those at work in that very tree, so that busy neighbours
//! do not keep a dead one's lock alive; branches and settings anybody in any tree of the repository.

use super::repository::Repository;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So often, and with such pauses, it is looked whether the holder of a lock is gone.
const MAX_LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// One looks at a time: two that find the same lock stale must not take away the one that the first then makes.
static LOOKING: Mutex<()> = Mutex::new(());

/// The lock that git says is in its way.
pub fn in_the_way(complaint: &str) -> Option<PathBuf> {
    let between = |before: &str, after: &str| {
        let rest = &complaint[complaint.find(before)? + before.len()..];
        Some(rest[..rest.find(after)?].to_owned())
    };
    if let Some(path) = between("Unable to create '", "': File exists") {
        return path.ends_with(".lock").then(|| PathBuf::from(path));
    }
    // Of settings the file itself is named.
    let settings = between("could not lock config file ", ": File exists")?;
    Some(PathBuf::from(format!("{settings}.lock")))
}

/// Takes a lock away that nobody holds: no living git works where it could. True when it is gone.
pub fn clear_if_stale(lock: &Path, git_dirs: &[&Path], work_tree: &Path) -> bool {
    if !git_dirs.iter().any(|directory| lock.starts_with(directory)) {
        return false;
    }
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(found) = identity(lock) else {
        return true;
    };
    if Watch::over(lock, git_dirs, work_tree).sees_somebody() || identity(lock) != Some(found) {
        return false;
    }
    tracing::warn!(
        "a lock that a killed git left is taken away: {}",
        lock.display()
    );
    fs::remove_file(lock).is_ok()
}

/// Takes away all locks of a repository and its trees that a killed git left, before somebody who does not look for the dead runs into them.
pub async fn open_left(repository: &Repository) {
    let directories = [repository.common_dir(), repository.git_dir()];
    for _ in 0..MAX_LOOKS {
        let mut left = locks_in(repository.common_dir());
        left.retain(|lock| !clear_if_stale(lock, &directories, repository.work_tree()));
        if left.is_empty() {
            return;
        }
        // Its holder may be dying.
        tokio::time::sleep(PAUSE).await;
    }
}

/// Where git locks anything: its index, HEAD and settings, each tree's own, and the names.
fn locks_in(common_dir: &Path) -> Vec<PathBuf> {
    let mut directories = vec![(common_dir.to_owned(), false)];
    directories.push((common_dir.join("refs"), true));
    let records = fs::read_dir(common_dir.join("worktrees"));
    let records = records.into_iter().flatten().flatten();
    directories.extend(records.map(|record| (record.path(), false)));
    let mut found = Vec::new();
    while let Some((directory, below)) = directories.pop() {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type());
            match kind {
                Ok(kind) if kind.is_dir() && below => directories.push((path, true)),
                Ok(kind) if kind.is_file() && path.extension() == Some(OsStr::new("lock")) => {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether a living git works in a tree.
pub fn somebody_works_in_tree(git_dir: &Path, work_tree: &Path) -> bool {
    Watch::over(&git_dir.join("index.lock"), &[git_dir], work_tree).sees_somebody()
}

fn identity(lock: &Path) -> Option<(u64, u64, i64, i64)> {
    let facts = fs::symlink_metadata(lock).ok()?;
    Some((facts.dev(), facts.ino(), facts.mtime(), facts.mtime_nsec()))
}

/// Where whoever holds a lock must be.
struct Watch {
    lock: PathBuf,
    /// Stands, or is told to work, in one of these …
    places: Vec<PathBuf>,
    /// … but not in one of these, which are others'.
    others: Vec<PathBuf>,
    /// Or has a file open in one of these.
    open: Vec<PathBuf>,
}

impl Watch {
    fn over(lock: &Path, git_dirs: &[&Path], work_tree: &Path) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let lock = lock
            .parent()
            .zip(lock.file_name())
            .map_or_else(|| lock.to_owned(), |(above, name)| real(above).join(name));
        let mut git_dirs: Vec<PathBuf> = git_dirs.iter().map(|path| real(path)).collect();
        // The longer of a linked tree's two is its own, the shorter is shared by all.
        git_dirs.sort_by_key(|path| path.as_os_str().len());
        let records = git_dirs[0].join("worktrees");
        let linked = linked_trees(&records);
        let main_tree = match git_dirs[0].file_name() {
            Some(name) if name == ".git" => git_dirs[0].parent().map(Path::to_owned),
            _ => None,
        };
        let main_tree = main_tree.unwrap_or_else(|| real(work_tree));
        let of_a_tree = lock.file_name().is_some_and(|name| {
            name != "packed-refs.lock" && name != "config.lock" && name != "shallow.lock"
        });
        if let Some((record, place)) = linked.iter().find(|(record, _)| lock.starts_with(record)) {
            return Self {
                places: vec![record.clone(), place.clone()],
                others: Vec::new(),
                open: vec![record.clone()],
                lock,
            };
        }
        let trees = linked.into_iter().map(|(_, place)| place);
        if lock.parent() == Some(&git_dirs[0]) && of_a_tree {
            return Self {
                places: vec![main_tree, git_dirs[0].clone(), real(work_tree)],
                others: trees.chain([records]).collect(),
                open: Vec::new(),
                lock,
            };
        }
        Self {
            places: trees
                .chain([main_tree, real(work_tree), git_dirs[0].clone()])
                .collect(),
            others: Vec::new(),
            open: git_dirs,
            lock,
        }
    }

    fn sees_somebody(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else {
            return true;
        };
        processes.flatten().any(|process| {
            let directory = process.path();
            let is_git = fs::read_to_string(directory.join("comm"))
                .is_ok_and(|name| name.starts_with("git"));
            self.has_open(&directory, is_git)
                || (is_git && (self.stands_in(&directory) || self.is_told(&directory)))
        })
    }

    /// Not every program that knows of git is called so; but who has the lock open holds it.
    fn has_open(&self, process: &Path, is_git: bool) -> bool {
        let Ok(open) = fs::read_dir(process.join("fd")) else {
            return false;
        };
        open.flatten().any(|file| {
            fs::read_link(file.path()).is_ok_and(|path| {
                path == self.lock
                    || (is_git && self.open.iter().any(|place| path.starts_with(place)))
            })
        })
    }

    fn stands_in(&self, process: &Path) -> bool {
        fs::read_link(process.join("cwd")).is_ok_and(|path| self.is_inside(&path))
    }

    /// By its arguments, or by the variable that they stand for.
    fn is_told(&self, process: &Path) -> bool {
        let read = |name| fs::read(process.join(name)).unwrap_or_default();
        let (arguments, variables) = (read("cmdline"), read("environ"));
        let arguments = arguments.split(|byte| *byte == 0);
        let told = arguments.filter_map(|word| word.strip_prefix(b"--git-dir=").or(Some(word)));
        let variables = variables.split(|byte| *byte == 0);
        let variables = variables.filter_map(|word| word.strip_prefix(b"GIT_DIR="));
        told.chain(variables)
            .filter(|word| word.starts_with(b"/"))
            .any(|word| self.is_inside(Path::new(OsStr::from_bytes(word))))
    }

    fn is_inside(&self, path: &Path) -> bool {
        let below = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        below(&self.places) && !below(&self.others)
    }
}

/// Git's records of linked trees, each with its place.
fn linked_trees(records: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(records) else {
        return Vec::new();
    };
    let pairs = entries.flatten().filter_map(|entry| {
        let content = fs::read(entry.path().join("gitdir")).ok()?;
        let git_file = entry
            .path()
            .join(OsStr::from_bytes(content.trim_ascii_end()));
        Some((entry.path(), git_file.parent()?.to_owned()))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_found_in_what_git_says() {
        for (complaint, lock) in [
            (
                "fatal: Unable to create '/w/.git/index.lock': File exists.\n\nAnother git process",
                Some("/w/.git/index.lock"),
            ),
            (
                "error: cannot lock ref 'refs/heads/x': Unable to create '/w/.git/refs/heads/x.lock': File exists.",
                Some("/w/.git/refs/heads/x.lock"),
            ),
            (
                "error: could not lock config file /w/.git/config: File exists",
                Some("/w/.git/config.lock"),
            ),
            ("fatal: not a git repository", None),
            ("Unable to create '/etc/passwd': File exists", None),
        ] {
            assert_eq!(in_the_way(complaint), lock.map(PathBuf::from));
        }
    }

    #[test]
    fn a_lock_outside_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("git"), place.path().join("x.lock"));
        fs::create_dir(&inside).unwrap();
        fs::write(&outside, "").unwrap();
        assert!(!clear_if_stale(&outside, &[&inside], &inside));
        assert!(outside.exists());
        let lock = inside.join("index.lock");
        fs::write(&lock, "").unwrap();
        assert!(clear_if_stale(&lock, &[&inside], &inside));
        assert!(!lock.exists());
    }
}
