//! Lock files that a killed git left behind. Git waits for nobody who is dead, but it does not look; we do, and only then take them away.

use std::fs;
use std::path::{Path, PathBuf};

/// The lock that git says is in its way.
pub fn in_the_way(complaint: &str) -> Option<PathBuf> {
    let start = complaint.find("Unable to create '")? + "Unable to create '".len();
    let rest = &complaint[start..];
    let path = &rest[..rest.find("': File exists")?];
    path.ends_with(".lock").then(|| PathBuf::from(path))
}

/// Takes a lock away that nobody holds: no living git works in any of these directories. True when it is gone.
pub fn clear_if_stale(lock: &Path, git_dirs: &[&Path], work_tree: &Path) -> bool {
    if !git_dirs.iter().any(|directory| lock.starts_with(directory)) {
        return false;
    }
    let mut places: Vec<&Path> = git_dirs.to_vec();
    places.push(work_tree);
    if somebody_works_in(&places) {
        return false;
    }
    tracing::warn!(
        "a lock that a killed git left is taken away: {}",
        lock.display()
    );
    fs::remove_file(lock).is_ok()
}

fn somebody_works_in(places: &[&Path]) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return true;
    };
    processes.flatten().any(|process| {
        let directory = process.path();
        let is_git =
            fs::read_to_string(directory.join("comm")).is_ok_and(|name| name.starts_with("git"));
        is_git && works_in(&directory, places)
    })
}

fn works_in(process: &Path, places: &[&Path]) -> bool {
    let inside = |path: &Path| places.iter().any(|place| path.starts_with(place));
    if fs::read_link(process.join("cwd")).is_ok_and(|cwd| inside(&cwd)) {
        return true;
    }
    let Ok(open) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    open.flatten()
        .any(|file| fs::read_link(file.path()).is_ok_and(|path| inside(&path)))
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
