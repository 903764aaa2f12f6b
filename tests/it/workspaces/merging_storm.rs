//! Parallel work with merges, broken off again and again at moments that only the seed knows. Every git at work then dies at once, as it does
//! when the daemon is killed.

use super::ground::{Ground, read, write};
use ralphd::workspace::git::{
    Concluded, Merged, Removal, Repository, abandon_conflict, add_tree, conclude_conflict,
    is_merged, lay_out_conflict, merge, remove_tree, unmerged,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::task::Poll;
use std::time::Duration;

/// Overrides how often the work is broken off: `RALPHD_TEST_KILLS=200 cargo test storm`.
const KILLS_VARIABLE: &str = "RALPHD_TEST_KILLS";
const KILLS: usize = 25;
/// With so many, some are in every step.
const KILLS_IN_ALL_STEPS: usize = 1000;
/// Tasks of a round. The first two change the same line.
const TASKS: usize = 3;
const AT: i64 = 1_700_000_000_000;

/// A small generator: the same places in every run.
struct Moments(u64);

impl Moments {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What is being done, by which the kills are counted: a storm that never gets past the first step shows nothing.
struct Log {
    now: Cell<&'static str>,
    kills: RefCell<BTreeMap<&'static str, usize>>,
}

const STEPS: [&str; 7] = [
    "add_tree", "work", "merge", "lay_out", "conclude", "remove", "abandon",
];

/// Works on until the future was polled so often, and for a short while more: the place in the work is the same on a slow machine. True when it
/// came to its end before.
async fn broken_off(work: impl Future<Output = ()>, polls: &mut u64, more: Duration) -> bool {
    let mut work = std::pin::pin!(work);
    let counted = std::future::poll_fn(|context| {
        if *polls == 0 {
            return Poll::Ready(false);
        }
        *polls -= 1;
        work.as_mut().poll(context).map(|()| true)
    });
    counted.await || tokio::time::timeout(more, work).await.is_ok()
}

fn kills() -> usize {
    let given = std::env::var(KILLS_VARIABLE).ok();
    given.map_or(KILLS, |text| {
        text.parse().expect("RALPHD_TEST_KILLS is a number")
    })
}

fn branch(round: usize, task: usize) -> String {
    format!("agent/r{round}-t{task}")
}

/// A round from wherever it was left to its end. What is done is asked of the repository alone.
async fn round(ground: &Ground, round: usize, log: &Log) {
    for task in 0..TASKS {
        if !is_in(ground, &branch(round, task)).await {
            // All start from where the round did, as tasks at the same time do.
            let from = format!("round-{round}");
            let place = ground.tree_place(&format!("t{task}"));
            log.now.set("add_tree");
            let tree = add_tree(&ground.main, &place, &branch(round, task), &from)
                .await
                .unwrap();
            log.now.set("work");
            work(&tree, round, task, &from).await;
        }
    }
    for task in 0..TASKS {
        bring_in(ground, round, task, log).await;
        log.now.set("remove");
        let place = ground.tree_place(&format!("t{task}"));
        let removal = remove_tree(&ground.main, &place).await.unwrap();
        assert_eq!(removal, Removal::Gone);
    }
    log.now.set("abandon");
    abandon_conflict(&ground.main, &ground.tree_place("conflict"))
        .await
        .unwrap();
}

async fn is_in(ground: &Ground, branch: &str) -> bool {
    let there = ground.main.commit_of(&format!("refs/heads/{branch}")).await;
    there.unwrap().is_some() && {
        let started = format!(
            "round-{}",
            &branch["agent/r".len()..branch.find("-t").unwrap()]
        );
        let tip = ground.main.commit_of(branch).await.unwrap();
        tip != ground.main.commit_of(&started).await.unwrap()
            && is_merged(&ground.main, branch, "work").await.unwrap()
    }
}

/// What an agent does in its tree.
async fn work(tree: &Repository, round: usize, task: usize, from: &str) {
    if tree.head().await.unwrap() != tree.commit_of(from).await.unwrap() {
        return;
    }
    let shared = if task < 2 { "shared" } else { "alone" };
    write(tree.work_tree(), shared, &format!("{round} {task}\n"));
    for file in 0..20 {
        let text = format!("{round} {task}\n").repeat(500);
        write(tree.work_tree(), &format!("t{task}/{file}"), &text);
    }
    tree.call(["add", "--all"]).done().await.unwrap();
    let date = format!("@{} +0000", 1_600_000_000 + round);
    let mut commit = tree.call(["commit", "--quiet", "-m", "work"]);
    for role in ["AUTHOR", "COMMITTER"] {
        commit = commit
            .variable(&format!("GIT_{role}_NAME"), "Agent")
            .variable(&format!("GIT_{role}_EMAIL"), "agent@example.org")
            .variable(&format!("GIT_{role}_DATE"), &date);
    }
    commit.done().await.unwrap();
}

async fn bring_in(ground: &Ground, round: usize, task: usize, log: &Log) {
    log.now.set("merge");
    let (branch, message) = (branch(round, task), format!("Merge {round} {task}\n"));
    match merge(&ground.main, &branch, &message, AT).await.unwrap() {
        Merged::Already | Merged::Clean { .. } => {}
        Merged::Blocked { paths } => panic!("{branch} is blocked by {paths:?}"),
        Merged::Conflict { paths } => {
            assert_eq!(paths, ["shared"]);
            let place = ground.tree_place("conflict");
            log.now.set("lay_out");
            let tree = lay_out_conflict(&ground.main, &place, &branch)
                .await
                .unwrap();
            write(tree.work_tree(), "shared", &format!("{round} both\n"));
            log.now.set("conclude");
            let concluded = conclude_conflict(&ground.main, &tree, &branch, &message, AT)
                .await
                .unwrap();
            assert!(
                matches!(concluded, Concluded::Merged { .. }),
                "{concluded:?}"
            );
        }
    }
}

#[tokio::test]
async fn parallel_work_survives_a_storm_of_kills() {
    let ground = Ground::with(&[("shared", "start\n"), ("alone", "start\n")]).await;
    let log = Log {
        now: Cell::new("add_tree"),
        kills: RefCell::default(),
    };
    let mut moments = Moments(0x9E37_79B9_7F4A_7C15);
    ground.says(&["tag", "round-0", "work"]);
    let mut left_of_many = u64::MAX;
    let whole = round(&ground, 0, &log);
    assert!(broken_off(whole, &mut left_of_many, Duration::ZERO).await);
    let polls_of_a_round = u64::MAX - left_of_many;
    let (mut number, mut left) = (0, kills());
    while left > 0 {
        number += 1;
        ground.says(&["tag", &format!("round-{number}"), "work"]);
        loop {
            let mut polls = if left > 0 {
                moments.below(polls_of_a_round / 2)
            } else {
                u64::MAX
            };
            let more = Duration::from_micros(moments.below(8000));
            let work = round(&ground, number, &log);
            if broken_off(work, &mut polls, more).await {
                break;
            }
            left = left.saturating_sub(1);
            *log.kills.borrow_mut().entry(log.now.get()).or_default() += 1;
        }
        assert_eq!(read(ground.place(), "shared"), format!("{number} both\n"));
        assert_eq!(read(ground.place(), "alone"), format!("{number} 2\n"));
        ground.assert_trees(&[]);
    }
    let kills = log.kills.into_inner();
    println!("{number} rounds of {polls_of_a_round} polls, killed in {kills:?}");
    if kills.values().sum::<usize>() >= KILLS_IN_ALL_STEPS {
        assert!(
            STEPS.iter().all(|step| kills.contains_key(step)),
            "{kills:?}"
        );
    }
    let left = unmerged(&ground.main, "", "work").await.unwrap();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(ground.says(&["branch", "--list", "work-*"]), "");
    ground.assert_sound();
}
