//! The repository that everything is measured on: 100,000 small files in 1,000 directories, one commit.

use crate::support;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const DIRECTORIES: usize = 1000;
const FILES_EACH: usize = 100;
const LINES_EACH: usize = 20;

pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// With its objects in one pack.
    pub fn plant(root: &Path) -> Self {
        let began = Instant::now();
        let repository = Self {
            root: root.to_owned(),
        };
        let tree = repository.tree();
        for directory in 0..DIRECTORIES {
            let below = tree.join(format!("part-{}/{directory}", directory / 50));
            std::fs::create_dir_all(&below).expect("a directory");
            for file in 0..FILES_EACH {
                let text = format!("line of file {file} in {directory}\n").repeat(LINES_EACH);
                std::fs::write(below.join(format!("{file}.txt")), text).expect("a file");
            }
        }
        git(&tree, &["init", "-q", "-b", "main", "."]);
        git(&tree, &["config", "gc.auto", "0"]);
        git(&tree, &["add", "-A"]);
        git(&tree, &["commit", "-q", "-m", "all of it"]);
        git(&tree, &["repack", "-a", "-d", "-q"]);
        let files = format!("{} files", DIRECTORIES * FILES_EACH);
        let seconds = format!("{:.1} s", began.elapsed().as_secs_f64());
        support::note(&format!("{files}, committed in"), &seconds);
        repository
    }

    /// Takes the pack apart, so that each object is a file.
    pub fn loosen(&self) {
        let packs = self.tree().join(".git/objects/pack");
        let aside = self.path("packs");
        std::fs::rename(&packs, &aside).expect("the packs");
        std::fs::create_dir(&packs).expect("a directory");
        for entry in std::fs::read_dir(&aside).expect("the packs").flatten() {
            if entry.path().extension().is_some_and(|end| end == "pack") {
                let pack = std::fs::File::open(entry.path()).expect("a pack");
                let mut unpack = command(&self.tree(), &["unpack-objects", "-q"]);
                let ended = unpack.stdin(pack).status().expect("git");
                assert!(ended.success(), "the pack is taken apart");
            }
        }
    }

    /// The checkout.
    pub fn tree(&self) -> PathBuf {
        self.path("repository")
    }

    /// A path beside it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// Bare git, as a person would call it without settings.
pub fn git(directory: &Path, words: &[&str]) {
    let ended = command(directory, words).status().expect("git");
    assert!(ended.success(), "git {words:?}");
}

fn command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null())
        .envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ])
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b")])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@b")]);
    command
}
