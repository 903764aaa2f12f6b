//! Conflicts that nobody goes on with.

use super::{laid_out, resolve, text_conflict};
use crate::workspaces::ground::{commit, git, try_git, write};
use ralphd::workspace::git::abandon_conflict;
use std::fs;

#[tokio::test]
async fn an_abandoned_conflict_leaves_what_was_done_on_its_branch() {
    let ground = text_conflict().await;
    let before = ground.tip("work");
    let tree = laid_out(&ground).await;
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    ground.assert_trees(&[]);
    assert!(
        !try_git(ground.place(), &["rev-parse", "--verify", "work-merge-1"])
            .status
            .success()
    );
    let tree = laid_out(&ground).await;
    write(tree.work_tree(), "a", "<<<<<<< half done\n");
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    ground.assert_trees(&[]);
    assert_eq!(
        ground.says(&["show", "work-merge-1:a"]),
        "<<<<<<< half done"
    );
    assert!(
        !ground
            .says(&["branch", "--merged=work-merge-1"])
            .contains("agent/theirs")
    );
    assert_eq!(ground.tip("work"), before);
    ground.assert_sound();
    // The next one has a branch of its own.
    let tree = laid_out(&ground).await;
    assert_eq!(
        tree.branch().await.unwrap().as_deref(),
        Some("work-merge-2")
    );
}

#[tokio::test]
async fn an_abandoned_conflict_loses_no_commit() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    resolve(tree.work_tree());
    git(tree.work_tree(), &["add", "--all"]);
    commit(tree.work_tree(), "Merge by hand");
    git(tree.work_tree(), &["checkout", "--quiet", "--detach"]);
    commit(tree.work_tree(), "On no branch");
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    ground.assert_trees(&[]);
    ground.assert_sound();
}

#[tokio::test]
async fn a_conflict_that_was_being_abandoned_is_gone_with_its_branch() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    let mark = format!("refs/heads/work-merge-1 {}", ground.tip("work"));
    fs::write(tree.git_dir().join("ralphd-remove"), mark).unwrap();
    fs::remove_file(tree.work_tree().join("a")).unwrap();
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    ground.assert_trees(&[]);
    let branches = ground.says(&["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "agent/theirs\nwork");
}

#[tokio::test]
async fn the_locks_of_a_git_that_was_killed_deleting_a_branch_are_opened() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    let mark = format!("refs/heads/work-merge-1 {}", ground.tip("work"));
    fs::write(tree.git_dir().join("ralphd-remove"), mark).unwrap();
    ground.says(&["update-ref", "-d", "refs/heads/work-merge-1"]);
    for lock in ["packed-refs.lock", "refs/heads/work-merge-1.lock"] {
        write(ground.place(), &format!(".git/{lock}"), "");
    }
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    ground.assert_trees(&[]);
    ground.assert_sound();
}
