//! A workspace from the repository, against `git worktree add`.

use crate::repository::{Repository, git};
use crate::support::{self, Target};
use ralphd::model::git::{Author, Source};
use ralphd::workspace::git::{Tool, Wanted, prepare};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
/// Ours against git's.
const ALLOWED: f64 = 1.2;

pub fn measure(repository: &Repository, what: &str) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // In turns, so that both see the same moods of the disk.
    for _ in 0..ROUNDS {
        theirs.push(linked(repository, &repository.path("linked")));
        ours.push(prepared(repository, &repository.path("workspace")));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let shown = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    support::figure(
        &format!("workspace made ready, {what}"),
        &shown(ours),
        &shown(theirs),
        ours.as_secs_f64() / theirs.as_secs_f64(),
        Target::AtMost(ALLOWED),
    );
}

fn linked(repository: &Repository, path: &Path) -> Duration {
    let tree = repository.tree();
    let name = path.to_string_lossy();
    let began = Instant::now();
    git(&tree, &["worktree", "add", "-q", "--detach", &name]);
    let took = began.elapsed();
    std::fs::remove_dir_all(path).expect("removed");
    git(&tree, &["worktree", "prune"]);
    rustix::fs::sync();
    took
}

fn prepared(repository: &Repository, path: &Path) -> Duration {
    let author = Author::parse("Bench <bench@example.org>").expect("an author");
    let tool = Tool::new(author, Vec::new());
    let wanted = Wanted {
        source: Some(Source::Path(repository.tree())),
        reference: None,
        shallow: false,
        in_place: false,
        branch: Some("agent/bench".to_owned()),
        session: "bench",
        letters: "state",
        clone_timeout: support::PATIENCE,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let began = Instant::now();
    let made = runtime.block_on(prepare(&tool, path, &wanted));
    let took = began.elapsed();
    assert!(made.expect("a workspace").base.is_some());
    std::fs::remove_dir_all(path).expect("removed");
    rustix::fs::sync();
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    support::percentile(&mut times, 0.5)
}
