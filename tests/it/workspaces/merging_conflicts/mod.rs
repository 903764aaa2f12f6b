//! Conflicts laid out for somebody who edits files, and what is made of what they leave.

mod abandoned;
mod agents;
mod kinds;

use super::ground::{AT, Ground, commit_all, git, read, write};
use super::trees::Traps;
use ralphd::workspace::git::{
    Concluded, Merged, Repository, abandon_conflict, conclude_conflict, lay_out_conflict, merge,
    remove_tree,
};
use std::fs;
use std::path::Path;

const MESSAGE: &str = "Merge theirs\n";

/// `work` and `agent/theirs` have gone apart.
async fn apart(files: &[(&str, &str)], ours: fn(&Path), theirs: fn(&Path)) -> Ground {
    let ground = Ground::with(files).await;
    let tree = ground.worked("theirs", theirs).await;
    remove_tree(&ground.main, tree.work_tree()).await.unwrap();
    ours(ground.place());
    commit_all(ground.place(), "ours");
    ground
}

async fn text_conflict() -> Ground {
    let ours = |place: &Path| {
        write(place, "a", "ours\n");
        write(place, "clean-ours", "x\n");
    };
    let theirs = |place: &Path| {
        write(place, "a", "theirs\n");
        write(place, "clean-theirs", "y\n");
    };
    apart(&[("a", "one\n"), ("b", "two\n")], ours, theirs).await
}

async fn laid_out(ground: &Ground) -> Repository {
    let place = ground.tree_place("conflict");
    lay_out_conflict(&ground.main, &place, "agent/theirs")
        .await
        .unwrap()
}

async fn concluded(ground: &Ground, tree: &Repository) -> Concluded {
    conclude_conflict(&ground.main, tree, "agent/theirs", MESSAGE, AT)
        .await
        .unwrap()
}

async fn assert_merged(ground: &Ground, tree: &Repository, what: &str) {
    let outcome = concluded(ground, tree).await;
    let Concluded::Merged { commit } = &outcome else {
        panic!("{what}: {outcome:?}");
    };
    assert_eq!(*commit, ground.tip("work"), "{what}");
    for branch in ["agent/theirs", "work"] {
        ground.says(&["merge-base", "--is-ancestor", branch, commit]);
    }
    // And once more, as after a crash.
    assert_eq!(concluded(ground, tree).await, outcome, "{what}");
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    ground.assert_trees(&[]);
    let branches = ground.says(&["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "agent/theirs\nwork", "{what}");
    ground.assert_sound();
}

fn remove(place: &Path, name: &str) {
    fs::remove_file(place.join(name)).unwrap();
}

fn resolve(place: &Path) {
    write(place, "a", "both\n");
}

#[tokio::test]
async fn a_text_about_conflicts_is_none() {
    let text = "<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> other\n";
    let theirs = |place: &Path| {
        let text = "<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> other\ntheirs\n";
        write(place, "a", text);
    };
    let ground = apart(&[("a", text)], |place| write(place, "a", "ours\n"), theirs).await;
    let tree = laid_out(&ground).await;
    write(tree.work_tree(), "a", &format!("{text}both\n"));
    assert_merged(&ground, &tree, "documentation").await;
}

#[tokio::test]
async fn a_conflict_is_found_again_with_what_was_done_so_far() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    resolve(tree.work_tree());
    let again = laid_out(&ground).await;
    assert_eq!(again.git_dir(), tree.git_dir());
    assert_eq!(read(again.work_tree(), "a"), "both\n");
    // Half laid out: nobody has worked in it yet.
    write(tree.work_tree(), "a", "ha");
    fs::remove_file(tree.git_dir().join("index")).unwrap();
    let sides = fs::read_to_string(tree.git_dir().join("ralphd-merge")).unwrap();
    let laid = sides.lines().nth(2).unwrap();
    fs::write(tree.git_dir().join("ralphd-fill"), laid).unwrap();
    let again = laid_out(&ground).await;
    let text = "<<<<<<< refs/heads/work\nours\n=======\ntheirs\n>>>>>>> refs/heads/agent/theirs\n";
    assert_eq!(read(again.work_tree(), "a"), text);
    assert_eq!(
        git(
            tree.work_tree(),
            &["diff", "--name-only", "--diff-filter=U"]
        ),
        "a"
    );
    // Given up, with nothing else in the tree: laid out anew.
    git(tree.work_tree(), &["merge", "--abort"]);
    let again = laid_out(&ground).await;
    assert_eq!(read(again.work_tree(), "a"), text);
    resolve(again.work_tree());
    assert_merged(&ground, &again, "laid out anew").await;
}

#[tokio::test]
async fn the_world_moves_while_a_conflict_is_resolved() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    ground
        .worked("other", |place| write(place, "b", "other\n"))
        .await;
    let other = merge(&ground.main, "agent/other", "Merge other\n", AT).await;
    assert!(matches!(other, Ok(Merged::Clean { .. })));
    resolve(tree.work_tree());
    // Changes in the main tree that are not committed wait for their owner.
    write(ground.place(), "a", "mine\n");
    let blocked = Concluded::Blocked(vec!["a".to_owned()]);
    assert_eq!(concluded(&ground, &tree).await, blocked);
    ground.says(&["checkout", "--", "a"]);
    let outcome = concluded(&ground, &tree).await;
    assert!(matches!(outcome, Concluded::Merged { .. }), "{outcome:?}");
    let content = ["a", "b"].map(|name| read(ground.place(), name));
    assert_eq!(content, ["both\n", "other\n"]);
    ground.assert_sound();
}

#[tokio::test]
async fn a_branch_that_moves_on_is_not_called_merged() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    resolve(tree.work_tree());
    let theirs = ground.tree("theirs").await;
    write(theirs.work_tree(), "late", "late\n");
    commit_all(theirs.work_tree(), "late");
    let words = "agent/theirs has moved on since; what is new in it is not merged";
    let expected = Concluded::Unresolved(vec![words.to_owned()]);
    assert_eq!(concluded(&ground, &tree).await, expected);
    let rest = merge(&ground.main, "agent/theirs", "Merge the rest\n", AT).await;
    assert!(matches!(rest, Ok(Merged::Clean { .. })), "{rest:?}");
    ground.assert_sound();
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_run_for_a_conflict() {
    let ground = text_conflict().await;
    let traps = Traps::set(&ground);
    let tree = laid_out(&ground).await;
    resolve(tree.work_tree());
    // A repository within, with programs in its own settings.
    let inner = tree.work_tree().join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "--quiet"]);
    write(&inner, "x", "x");
    commit_all(&inner, "inner");
    let commit = git(&inner, &["rev-parse", "HEAD"]);
    let entry = format!("160000,{commit},inner");
    tree.call(["update-index", "--add", "--cacheinfo", &entry])
        .done()
        .await
        .unwrap();
    let trap = ground.root().join("trap").display().to_string();
    git(&inner, &["config", "filter.inner.clean", &trap]);
    write(&inner, ".git/info/attributes", "* filter=inner\n");
    write(&inner, "x", "y");
    let outcome = concluded(&ground, &tree).await;
    assert!(matches!(outcome, Concluded::Merged { .. }), "{outcome:?}");
    abandon_conflict(&ground.main, tree.work_tree())
        .await
        .unwrap();
    traps.assert_unsprung();
}
