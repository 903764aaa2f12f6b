//! A directory with repositories of its own for each test, made with git as it is installed, but without anybody's settings.

use ralphd::model::git::{Author, Source};
use ralphd::workspace::git::{Prepared, Tool, Unprepared, Wanted, prepare};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

pub struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let place = Self {
            root: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(place.path("home")).unwrap();
        place
    }

    /// With a repository `source` of one commit on `main`.
    pub fn with_source() -> Self {
        let place = Self::new();
        place.repository("source");
        place.commit("source", "a.txt", "one\n");
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub fn repository(&self, name: &str) {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self.git(name, &["init", "-q", "-b", "main", "."]);
    }

    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A program of the shell; its path.
    pub fn program(&self, name: &str, text: &str) -> String {
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        let path = self.path(name);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A commit of one file; its id.
    pub fn commit(&self, repository: &str, file: &str, content: &str) -> String {
        self.write(&format!("{repository}/{file}"), content);
        self.git(repository, &["add", "-f", "--", file]);
        self.git(repository, &["commit", "-q", "-m", file]);
        self.head(repository)
    }

    pub fn head(&self, repository: &str) -> String {
        self.git(repository, &["rev-parse", "HEAD"])
    }

    /// What git says, which must succeed.
    pub fn git(&self, directory: &str, words: &[&str]) -> String {
        let ran = self.try_git(directory, words);
        let complaint = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "git {words:?}: {complaint}");
        String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
    }

    pub fn try_git(&self, directory: &str, words: &[&str]) -> Output {
        Command::new("git")
            .args(words)
            .current_dir(self.path(directory))
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.path("home"))
            .envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ])
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b")])
            .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@b")])
            .output()
            .unwrap()
    }

    /// Every file below a directory with its content, every link with its target.
    pub fn listing(&self, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        list(&self.path(name), &mut found);
        found.sort();
        found
    }
}

fn list(directory: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() {
            list(&path, found);
            found.push((path, Vec::new()));
        } else if facts.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            found.push((path, target.to_string_lossy().into_owned().into_bytes()));
        } else if facts.is_file() {
            let content = std::fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
}

pub fn tool() -> Tool {
    let author = Author::parse("Night Shift <night@example.org>").unwrap();
    Tool::new(author, Vec::new())
}

/// A session of its own on `source`.
pub fn wanted<'a>(place: &Place, session: &'a str) -> Wanted<'a> {
    wanted_below(&place.path(""), session)
}

pub fn wanted_below<'a>(root: &Path, session: &'a str) -> Wanted<'a> {
    Wanted {
        source: Some(Source::Path(root.join("source"))),
        reference: None,
        shallow: false,
        in_place: false,
        branch: Some(format!("agent/work-{session}")),
        session,
        letters: "state",
        clone_timeout: Duration::from_secs(60),
    }
}

/// Makes the workspace `work` ready.
pub fn ready(place: &Place, wanted: &Wanted<'_>) -> Prepared {
    prepare_in(place, "work", wanted).unwrap()
}

/// Why the workspace `work` cannot be made ready.
pub fn refused(place: &Place, wanted: &Wanted<'_>) -> String {
    let error = prepare_in(place, "work", wanted).unwrap_err();
    let told = error.downcast_ref::<Unprepared>();
    told.unwrap_or_else(|| panic!("not for the user: {error:#}"))
        .0
        .clone()
}

pub fn prepare_in(place: &Place, workspace: &str, wanted: &Wanted<'_>) -> anyhow::Result<Prepared> {
    wait(prepare(&tool(), &place.path(workspace), wanted))
}

pub fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}
