//! Parallel work with merges, broken off again and again at moments that only the seed knows. Every git at work then dies at once, as it does
//! when the daemon is killed.

use super::ground::{Ground, read, write};
use ralphd::workspace::git::{
    Concluded, Merged, Removal, Repository, abandon_conflict, add_tree, conclude_conflict,
    is_merged, lay_out_conflict, merge, remove_tree, unmerged,
};
use std::time::Duration;

/// Overrides how often the work is broken off: `RALPHD_TEST_KILLS=200 cargo test storm`.
const KILLS_VARIABLE: &str = "RALPHD_TEST_KILLS";
const KILLS: usize = 40;
/// Tasks of a round. The first two change the same line.
const TASKS: usize = 3;
const AT: i64 = 1_700_000_000_000;

struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(1000 + self.0 % 150_000)
    }
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
async fn round(ground: &Ground, round: usize) {
    for task in 0..TASKS {
        if !is_in(ground, &branch(round, task)).await {
            // All start from where the round did, as tasks at the same time do.
            let from = format!("round-{round}");
            let place = ground.tree_place(&format!("t{task}"));
            let tree = add_tree(&ground.main, &place, &branch(round, task), &from)
                .await
                .unwrap();
            work(&tree, round, task, &from).await;
        }
    }
    for task in 0..TASKS {
        bring_in(ground, round, task).await;
        let place = ground.tree_place(&format!("t{task}"));
        let removal = remove_tree(&ground.main, &place).await.unwrap();
        assert_eq!(removal, Removal::Gone);
    }
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

async fn bring_in(ground: &Ground, round: usize, task: usize) {
    let (branch, message) = (branch(round, task), format!("Merge {round} {task}\n"));
    match merge(&ground.main, &branch, &message, AT).await.unwrap() {
        Merged::Already | Merged::Clean { .. } => {}
        Merged::Blocked { paths } => panic!("{branch} is blocked by {paths:?}"),
        Merged::Conflict { paths } => {
            assert_eq!(paths, ["shared"]);
            let place = ground.tree_place("conflict");
            let tree = lay_out_conflict(&ground.main, &place, &branch)
                .await
                .unwrap();
            write(tree.work_tree(), "shared", &format!("{round} both\n"));
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_work_survives_a_storm_of_kills() {
    let ground = Ground::with(&[("shared", "start\n"), ("alone", "start\n")]).await;
    let mut moments = Moments(0x9E37_79B9_7F4A_7C15);
    let (mut number, mut left) = (0, kills());
    loop {
        let start = format!("round-{number}");
        ground.says(&["tag", "--force", &start, "work"]);
        while left > 0 {
            // The moment of the kill is the input of this test, not a way to wait for anything.
            let done = tokio::time::timeout(moments.next(), round(&ground, number)).await;
            if done.is_ok() {
                break;
            }
            left -= 1;
        }
        round(&ground, number).await;
        assert_eq!(read(ground.place(), "shared"), format!("{number} both\n"));
        assert_eq!(read(ground.place(), "alone"), format!("{number} 2\n"));
        if left == 0 {
            break;
        }
        number += 1;
    }
    let left = unmerged(&ground.main, "", "work").await.unwrap();
    assert_eq!(left, Vec::<String>::new());
    let others = ground.says(&["branch", "--list", "work-*"]);
    assert_eq!(others, "");
    ground.assert_trees(&[]);
    ground.assert_sound();
}
