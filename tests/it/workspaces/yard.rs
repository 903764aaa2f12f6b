//! A workspace to record and to take back, with plain git at hand to look at it. The git of the tests reads nobody's settings.

use ralphd::model::git::Author;
use ralphd::model::mask::Mask;
use ralphd::workspace::git::{
    Ground, Moment, Point, Recorded, Restored, Tool, ground, record, restore,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub const SESSION: &str = "0193-session";
const LARGE_BYTES: u64 = 5_000_000;

pub struct Yard {
    place: TempDir,
    pub workspace: PathBuf,
    pub shadow: PathBuf,
    pub mask: Mask,
    pub tool: Tool,
    pub commits: bool,
}

impl Yard {
    /// A plain directory.
    pub fn plain() -> Self {
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("workspace");
        std::fs::create_dir_all(workspace.join("state")).unwrap();
        let author = Author::parse("Night Shift <night@example.org>").unwrap();
        Self {
            shadow: place.path().join("points/shadow.git"),
            place,
            workspace,
            mask: Mask::default(),
            tool: Tool::new(author, Vec::new()),
            commits: true,
        }
    }

    /// A repository without a commit.
    pub fn unborn() -> Self {
        let yard = Self::plain();
        yard.git(&["init", "--quiet", "-b", "main"]);
        yard
    }

    /// A repository with one.
    pub fn repository() -> Self {
        let yard = Self::unborn();
        yard.write("a.txt", "one\n");
        yard.git(&["add", "a.txt"]);
        yard.git(&["commit", "-qm", "Begin"]);
        yard
    }

    pub fn place(&self) -> &Path {
        self.place.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    /// What the agent or a person does.
    pub fn git(&self, words: &[&str]) -> String {
        git_in(&self.workspace, words)
    }

    /// A look into the repository that holds the points.
    pub fn points(&self, words: &[&str]) -> String {
        match self.shadow.exists() {
            true => git_in(&self.shadow, words),
            false => self.git(words),
        }
    }

    pub async fn ground(&self) -> Ground {
        ground(&self.tool, &self.workspace, &self.shadow)
            .await
            .unwrap()
    }

    pub fn moment<'a>(&'a self, number: i64, since: Option<&'a str>) -> Moment<'a> {
        Moment {
            session: SESSION,
            number,
            task: Some("build"),
            at_ms: 1_700_000_000_000 + number * 60_000,
            subject: format!("Iteration {number}"),
            commits: self.commits,
            since,
            mask: &self.mask,
            large_bytes: LARGE_BYTES,
        }
    }

    pub async fn record(&self, number: i64, since: Option<&Recorded>) -> Recorded {
        let since = since.and_then(|since| since.commit.as_deref());
        record(&self.ground().await, &self.moment(number, since))
            .await
            .unwrap()
    }

    pub async fn restore(&self, to: &Recorded, at_ms: i64) -> Restored {
        let point = Point {
            session: SESSION,
            commit: to.commit.as_deref().unwrap(),
            head: to.facts.head.as_deref(),
            branch: to.facts.branch.as_deref(),
            at_ms,
        };
        restore(&self.ground().await, &point).await.unwrap()
    }

    /// The names of the files that a point holds.
    pub fn files_of(&self, point: &Recorded) -> Vec<String> {
        let commit = point.commit.as_deref().unwrap();
        let listed = self.points(&["ls-tree", "-r", "--name-only", commit]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Nothing is broken, and no commit is without a name.
    pub fn assert_nothing_lost(&self) {
        let said = self.points(&["fsck", "--unreachable", "--no-reflogs", "--no-progress"]);
        let lost: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("commit"))
            .collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}

pub fn git_in(directory: &Path, words: &[&str]) -> String {
    let said = Command::new("git")
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Agent")
        .env("GIT_AUTHOR_EMAIL", "agent@example.org")
        .env("GIT_COMMITTER_NAME", "Agent")
        .env("GIT_COMMITTER_EMAIL", "agent@example.org")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "git {words:?}: {complaint}");
    String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
}
