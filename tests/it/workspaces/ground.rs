//! A repository with a main tree and room for others beside it, as the tests of parallel work need it.

use ralphd::model::git::Author;
use ralphd::workspace::git::{Repository, Tool, add_tree};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The date of every merge, in milliseconds.
pub const AT: i64 = 1_700_000_000_000;

pub struct Ground {
    directory: tempfile::TempDir,
    pub main: Repository,
}

pub fn tool() -> Tool {
    let author = Author::parse("Night Shift <night@example.org>").unwrap();
    Tool::new(author, Vec::new())
}

impl Ground {
    /// A repository on `work` with these files in its first commit.
    pub async fn with(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("main");
        fs::create_dir(&place).unwrap();
        git(&place, &["init", "--quiet", "--initial-branch=work"]);
        for (name, content) in files {
            write(&place, name, content);
        }
        git(&place, &["add", "--all"]);
        commit(&place, "start");
        let main = Repository::open(&tool(), &place).await.unwrap().unwrap();
        Self { directory, main }
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    pub fn place(&self) -> &Path {
        self.main.work_tree()
    }

    /// Where the tree of a task is.
    pub fn tree_place(&self, name: &str) -> PathBuf {
        self.root().join("trees").join(name)
    }

    pub async fn tree(&self, name: &str) -> Repository {
        add_tree(
            &self.main,
            &self.tree_place(name),
            &format!("agent/{name}"),
            "work",
        )
        .await
        .unwrap()
    }

    /// A branch `agent/NAME` with this work on it, done in a tree of its own.
    pub async fn worked(&self, name: &str, work: impl FnOnce(&Path)) -> Repository {
        let tree = self.tree(name).await;
        work(tree.work_tree());
        commit_all(tree.work_tree(), name);
        tree
    }

    /// What git says in the main tree.
    pub fn says(&self, words: &[&str]) -> String {
        git(self.place(), words)
    }

    pub fn tip(&self, name: &str) -> String {
        self.says(&["rev-parse", "--verify", &format!("refs/heads/{name}")])
    }

    /// The main tree is what its branch says, the repository is whole, and every commit has a name.
    pub fn assert_sound(&self) {
        assert_eq!(self.says(&["status", "--porcelain"]), "");
        let lost = self.says(&["fsck", "--strict", "--no-reflogs", "--unreachable"]);
        let lost: Vec<&str> = lost
            .lines()
            .filter(|line| line.contains(" commit "))
            .collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert_eq!(locks(&self.place().join(".git")), Vec::<PathBuf>::new());
    }

    /// Exactly these places have trees, and no record is without one.
    pub fn assert_trees(&self, names: &[&str]) {
        let listed = self.says(&["worktree", "list", "--porcelain"]);
        let mut listed: Vec<String> = listed
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .skip(1)
            .map(|place| place.rsplit('/').next().unwrap().to_owned())
            .collect();
        listed.sort();
        assert_eq!(listed, names);
        let there = fs::read_dir(self.root().join("trees"));
        let mut there: Vec<String> = there.map_or_else(
            |_| Vec::new(),
            |entries| {
                let names = entries.flatten().map(|entry| entry.file_name());
                names.map(|name| name.into_string().unwrap()).collect()
            },
        );
        there.sort();
        assert_eq!(there, names);
    }
}

fn locks(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|ending| ending == "lock") {
            found.push(path);
        }
    }
    found
}

pub fn command(place: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(words)
        .current_dir(place)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_EDITOR", "true");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "Agent")
            .env(format!("GIT_{role}_EMAIL"), "agent@example.org")
            .env(format!("GIT_{role}_DATE"), "@1600000000 +0000");
    }
    command
}

pub fn try_git(place: &Path, words: &[&str]) -> Output {
    command(place, words).output().unwrap()
}

/// Git as an agent calls it; it must succeed.
pub fn git(place: &Path, words: &[&str]) -> String {
    let output = try_git(place, words);
    assert!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim_end().to_owned()
}

pub fn commit(place: &Path, message: &str) {
    git(
        place,
        &["commit", "--quiet", "--allow-empty", "-m", message],
    );
}

pub fn commit_all(place: &Path, message: &str) {
    git(place, &["add", "--all"]);
    commit(place, message);
}

pub fn write(place: &Path, name: &str, content: &str) {
    let path = place.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub fn read(place: &Path, name: &str) -> String {
    fs::read_to_string(place.join(name)).unwrap()
}
