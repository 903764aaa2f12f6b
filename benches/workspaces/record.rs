//! A point with its facts against `git add -A && git commit`; one of nothing against `git status`; both on small workspaces.

use crate::support::{self, Target, millis};
use ralphd::model::git::Author;
use ralphd::model::mask::Mask;
use ralphd::workspace::git::{Ground, Moment, Recorded, Tool, ground, record};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILES: usize = 100_000;
const FILES_OF_DIRECTORY: usize = 50;
/// What one turn changes, and adds.
const CHANGED: usize = 20;
const ROUNDS: usize = 9;
const SMALL_ROUNDS: usize = 101;

pub fn run() {
    let place = support::place();
    let yard = Yard {
        workspace: place.path().join("large"),
        shadow: place.path().join("large.git"),
        tool: Tool::new(
            Author::parse("Bench <bench@example.org>").expect("an author"),
            Vec::new(),
        ),
        mask: Mask::new(["a-secret-that-is-nowhere".to_owned()]),
    };
    plant(&yard.workspace, FILES);
    git(&yard.workspace, &["init", "-q"]);
    git(&yard.workspace, &["add", "-A"]);
    git(&yard.workspace, &["commit", "-qm", "All"]);
    large(&yard);
    for (what, own) in [("a plain directory", false), ("a repository", true)] {
        let yard = Yard {
            workspace: place.path().join(format!("small-{own}")),
            shadow: place.path().join(format!("small-{own}.git")),
            tool: yard.tool.clone(),
            mask: yard.mask.clone(),
        };
        plant(&yard.workspace, 100);
        if own {
            git(&yard.workspace, &["init", "-q"]);
        }
        small(&yard, what);
    }
}

struct Yard {
    workspace: PathBuf,
    shadow: PathBuf,
    tool: Tool,
    mask: Mask,
}

impl Yard {
    /// As the daemon does it after a turn: the repository is opened anew.
    async fn record(&self, number: i64, since: Option<&Recorded>) -> Recorded {
        let ground: Ground = ground(&self.tool, &self.workspace, &self.shadow)
            .await
            .expect("a ground");
        let moment = Moment {
            session: "bench",
            number,
            task: None,
            at_ms: 1_700_000_000_000 + number,
            subject: format!("Iteration {number}"),
            commits: true,
            since: since.and_then(|since| since.commit.as_deref()),
            mask: &self.mask,
            large_bytes: 10_000_000,
        };
        record(&ground, &moment).await.expect("a point")
    }
}

fn large(yard: &Yard) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut nothing, mut status) = (Vec::new(), Vec::new());
    let runtime = runtime();
    for round in 0..ROUNDS {
        let number = i64::try_from(round).expect("a number");
        let before = runtime.block_on(yard.record(number * 2, None));
        change(&yard.workspace, round * 2);
        let began = Instant::now();
        let point = runtime.block_on(yard.record(number * 2 + 1, Some(&before)));
        ours.push(began.elapsed());
        assert_eq!(point.facts.file_count, CHANGED as u64 * 2);
        let began = Instant::now();
        let same = runtime.block_on(yard.record(number * 2 + 2, Some(&point)));
        nothing.push(began.elapsed());
        assert!(!same.changed);
        let began = Instant::now();
        git(&yard.workspace, &["status"]);
        status.push(began.elapsed());
        change(&yard.workspace, round * 2 + 1);
        let began = Instant::now();
        git(&yard.workspace, &["add", "-A"]);
        git(&yard.workspace, &["commit", "-m", "Plain"]);
        theirs.push(began.elapsed());
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    let shown = |time: Duration| format!("{:.1} ms", millis(time));
    support::figure(
        "100,000 files: a commit with facts",
        &shown(ours),
        &shown(theirs),
        ours.as_secs_f64() / theirs.as_secs_f64(),
        Target::AtMost(1.3),
    );
    let (nothing, status) = (median(&mut nothing), median(&mut status));
    support::note("100,000 files: git status", &shown(status));
    support::note("100,000 files: nothing changed", &shown(nothing));
    let over = millis(nothing) - millis(status);
    support::bound("100,000 files: over git status", over, "ms", 50.0);
}

fn small(yard: &Yard, what: &str) {
    let runtime = runtime();
    let mut newest = runtime.block_on(yard.record(0, None));
    let (mut changed, mut same) = (Vec::new(), Vec::new());
    for round in 0..SMALL_ROUNDS {
        let number = i64::try_from(round).expect("a number") + 1;
        std::fs::write(yard.workspace.join("work"), round.to_string()).expect("a file");
        let began = Instant::now();
        newest = runtime.block_on(yard.record(number, Some(&newest)));
        changed.push(began.elapsed());
        assert!(newest.changed);
        // An agent's turn lies between two points: what is younger than the file system's clock can tell is looked at twice.
        std::thread::sleep(Duration::from_millis(10));
        runtime.block_on(yard.record(number, Some(&newest)));
        let began = Instant::now();
        let point = runtime.block_on(yard.record(number, Some(&newest)));
        same.push(began.elapsed());
        assert!(!point.changed);
    }
    let shown = |time: Duration| format!("{:.2} ms", millis(time));
    support::note(&format!("{what}: a change"), &shown(median(&mut changed)));
    support::bound(
        &format!("{what}: nothing changed"),
        millis(median(&mut same)),
        "ms",
        5.0,
    );
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn median(times: &mut [Duration]) -> Duration {
    support::percentile(times, 0.5)
}

fn plant(root: &Path, files: usize) {
    for number in 0..files {
        let path = file(root, number);
        if number % FILES_OF_DIRECTORY == 0 {
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        }
        let text = format!("file {number}\n").repeat(20);
        std::fs::write(path, text).expect("a file");
    }
}

fn file(root: &Path, number: usize) -> PathBuf {
    let directory = number / FILES_OF_DIRECTORY;
    root.join(format!(
        "part{}/sub{directory}/file{number}.txt",
        directory % 40
    ))
}

/// Some files all over the tree, and some new ones.
fn change(root: &Path, round: usize) {
    for number in 0..CHANGED {
        let number = (number * (FILES / CHANGED) + round * 7) % FILES;
        let path = file(root, number);
        let text = format!("changed in {round}\n").repeat(30);
        std::fs::write(path.with_extension(format!("new{round}")), &text).expect("a file");
        std::fs::write(path, text).expect("a file");
    }
}

fn git(directory: &Path, words: &[&str]) {
    let ran = Command::new("git")
        .args([
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.org",
        ])
        .args(["-c", "gc.auto=0"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(ran.is_ok_and(|status| status.success()), "git {words:?}");
}
