//! Giving a branch back to where the work came from.

use super::ground::{Ground, commit, commit_all, git, write};
use super::trees::Traps;
use ralphd::workspace::git::{Pushed, push};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(60);

/// A repository to push to, cloned from the ground.
fn source(ground: &Ground, bare: bool) -> PathBuf {
    let place = ground.root().join("source");
    let mut words = vec!["clone", "--quiet"];
    if bare {
        words.push("--bare");
    }
    let (from, to) = (
        ground.place().display().to_string(),
        place.display().to_string(),
    );
    words.extend([from.as_str(), to.as_str()]);
    git(ground.root(), &words);
    place
}

async fn pushed(ground: &Ground, to: &str, branch: &str) -> Pushed {
    push(&ground.main, to, branch, SOON).await.unwrap()
}

fn words(pushed: Pushed) -> String {
    match pushed {
        Pushed::Refused(words) => words,
        Pushed::Done => panic!("it was taken"),
    }
}

async fn ground() -> Ground {
    let ground = Ground::with(&[("a", "one\n")]).await;
    ground.worked("one", |place| write(place, "a", "1\n")).await;
    ground
}

#[tokio::test]
async fn a_branch_is_pushed_as_it_is_and_nothing_else() {
    let ground = ground().await;
    let source = source(&ground, true);
    let to = source.display().to_string();
    ground.worked("two", |place| write(place, "a", "2\n")).await;
    git(&source, &["update-ref", "-d", "refs/heads/agent/one"]);
    ground.says(&["tag", "-a", "-m", "tag", "v1", "agent/one"]);
    ground.says(&["config", "push.followTags", "true"]);
    let traps = Traps::set(&ground);
    assert_eq!(pushed(&ground, &to, "agent/one").await, Pushed::Done);
    assert_eq!(pushed(&ground, &to, "agent/one").await, Pushed::Done);
    traps.assert_unsprung();
    let tip = git(&source, &["rev-parse", "refs/heads/agent/one"]);
    assert_eq!(tip, ground.tip("agent/one"));
    assert_eq!(git(&source, &["tag"]), "");
    let address = format!("file://{to}");
    assert_eq!(pushed(&ground, &address, "agent/two").await, Pushed::Done);
}

#[tokio::test]
async fn what_would_be_lost_there_is_not_overwritten() {
    let ground = ground().await;
    let source = source(&ground, true);
    let to = source.display().to_string();
    let ahead = ground.root().join("ahead");
    git(
        ground.root(),
        &["clone", "--quiet", "-b", "agent/one", &to, "ahead"],
    );
    commit(&ahead, "ahead");
    git(&ahead, &["push", "--quiet"]);
    let theirs = git(&source, &["rev-parse", "agent/one"]);
    let tree = ground.tree("one").await;
    write(tree.work_tree(), "a", "other\n");
    commit_all(tree.work_tree(), "apart");
    ground.says(&["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    let refused = words(pushed(&ground, &to, "agent/one").await);
    assert!(refused.contains("[rejected]"), "{refused}");
    assert!(!refused.contains("hint"), "{refused}");
    assert_eq!(git(&source, &["rev-parse", "agent/one"]), theirs);
}

#[tokio::test]
async fn refusals_are_words() {
    let ground = ground().await;
    let source = source(&ground, true);
    let to = source.display().to_string();
    git(&source, &["update-ref", "-d", "refs/heads/agent/one"]);
    let hook = source.join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'not on a Friday' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    for (to, branch, expected) in [
        (to.as_str(), "agent/one", "not on a Friday"),
        (to.as_str(), "none", "none"),
        ("/nowhere/at/all", "agent/one", "nowhere"),
        ("https://localhost:1/x.git", "agent/one", "localhost"),
        ("ext::sh -c true", "agent/one", "not allowed"),
        ("relative", "agent/one", "relative"),
    ] {
        let refused = words(pushed(&ground, to, branch).await);
        assert!(refused.contains(expected), "{to}: {refused}");
    }
    for to in ["", "--receive-pack=touch x", "a\nb"] {
        let pushed = push(&ground.main, to, "agent/one", SOON).await;
        assert!(pushed.is_err(), "{to:?}");
    }
}

#[tokio::test]
async fn a_branch_that_somebody_has_checked_out_is_left_alone() {
    let ground = ground().await;
    let source = source(&ground, false);
    let to = source.display().to_string();
    for setting in ["updateInstead", "ignore"] {
        git(&source, &["config", "receive.denyCurrentBranch", setting]);
        git(
            &source,
            &["checkout", "--quiet", "-B", "agent/one", "origin/work"],
        );
        let refused = words(pushed(&ground, &to, "agent/one").await);
        assert!(refused.contains("is checked out in"), "{refused}");
        // In a linked tree too.
        git(&source, &["checkout", "--quiet", "work"]);
        git(
            &source,
            &["worktree", "add", "--quiet", "../linked", "agent/one"],
        );
        let refused = words(pushed(&ground, &to, "agent/one").await);
        assert!(refused.contains("is checked out in"), "{refused}");
        git(&source, &["worktree", "remove", "../linked"]);
    }
    assert_eq!(pushed(&ground, &to, "agent/one").await, Pushed::Done);
}

#[tokio::test]
async fn settings_of_the_repository_lead_no_push_astray() {
    for (setting, value) in [
        ("remote.{to}.receivepack", "{trap}"),
        ("remote.{to}.pushurl", "/elsewhere"),
        ("remote.{to}.vcs", "ext"),
        ("remote.{to}.mirror", "true"),
        ("url./elsewhere/.pushInsteadOf", "{to}"),
        ("core.sshCommand", "{trap}"),
    ] {
        let ground = ground().await;
        let to = source(&ground, true).display().to_string();
        let trap = ground.root().join("trap").display().to_string();
        let traps = Traps::set(&ground);
        let filled = |text: &str| text.replace("{to}", &to).replace("{trap}", &trap);
        ground.says(&["config", &filled(setting), &filled(value)]);
        let pushed = push(&ground.main, &to, "agent/one", SOON).await;
        assert!(!matches!(pushed, Ok(Pushed::Done)), "{setting}");
        traps.assert_unsprung();
    }
}
