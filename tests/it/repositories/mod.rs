//! Sessions on real repositories, played by a real daemon and real git: one after the other, beside each other, back and forth.

mod handing_on;
mod housekeeping;
mod named;
mod parallel;
mod points;
mod storm;

use crate::support::{Session, Site};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What git says in a directory, which must succeed.
pub fn git(place: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(words)
        .current_dir(place)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b")])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@b")])
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// A repository of one commit on `main`, beside the state of a site.
pub fn repository(site: &Site, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let place = site.file(name);
    std::fs::create_dir(&place).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"]);
    for (name, content) in files {
        std::fs::write(place.join(name), content).unwrap();
    }
    git(&place, &["add", "--all"]);
    git(&place, &["commit", "--quiet", "-m", "start"]);
    place
}

/// Every commit of a repository has a name, nothing is broken, no lock is left.
pub fn assert_sound(place: &Path) {
    assert_eq!(git(place, &["fsck", "--strict", "--no-dangling"]), "");
    let lost = git(place, &["fsck", "--no-reflogs", "--unreachable"]);
    let lost: Vec<&str> = lost
        .lines()
        .filter(|line| line.contains(" commit "))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(locks(&place.join(".git")), Vec::<PathBuf>::new());
}

fn locks(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|ending| ending == "lock") {
            found.push(path);
        }
    }
    found
}

/// The branch that a session works on.
pub fn branch_of(session: &Session) -> String {
    git(&session.workspace, &["symbolic-ref", "--short", "HEAD"])
}
