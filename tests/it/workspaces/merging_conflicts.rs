//! Conflicts laid out for somebody who edits files, and what is made of what they leave.

use super::ground::{AT, Ground, commit, commit_all, git, read, try_git, write};
use super::trees::Traps;
use ralphd::workspace::git::{
    Concluded, Merged, Repository, abandon_conflict, conclude_conflict, lay_out_conflict, merge,
    remove_tree,
};
use std::fs;
use std::os::unix::fs::symlink;
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

struct Kind {
    what: &'static str,
    start: fn(&Path),
    ours: fn(&Path),
    theirs: fn(&Path),
    paths: &'static [&'static str],
    resolve: fn(&Path),
}

fn remove(place: &Path, name: &str) {
    fs::remove_file(place.join(name)).unwrap();
}

fn rename(place: &Path, from: &str, to: &str) {
    fs::rename(place.join(from), place.join(to)).unwrap();
}

/// A submodule's commit without the submodule.
fn submodule(place: &Path, commit: char) {
    let commit = commit.to_string().repeat(40);
    let entry = format!("160000,{commit},sub");
    git(place, &["update-index", "--add", "--cacheinfo", &entry]);
    fs::create_dir_all(place.join("sub")).unwrap();
}

const LONG: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

const KINDS: &[Kind] = &[
    Kind {
        what: "content",
        start: |place| write(place, "x", "1\n"),
        ours: |place| write(place, "x", "2\n"),
        theirs: |place| write(place, "x", "3\n"),
        paths: &["x"],
        resolve: |place| write(place, "x", "2 and 3\n"),
    },
    Kind {
        what: "added by both",
        start: |_| {},
        ours: |place| write(place, "x", "2\n"),
        theirs: |place| write(place, "x", "3\n"),
        paths: &["x"],
        resolve: |place| write(place, "x", "2 and 3\n"),
    },
    Kind {
        what: "changed here, deleted there",
        start: |place| write(place, "x", "1\n"),
        ours: |place| write(place, "x", "2\n"),
        theirs: |place| remove(place, "x"),
        paths: &["x"],
        resolve: |place| remove(place, "x"),
    },
    Kind {
        what: "deleted here, changed there, taken as it is",
        start: |place| write(place, "x", "1\n"),
        ours: |place| remove(place, "x"),
        theirs: |place| write(place, "x", "2\n"),
        paths: &["x"],
        resolve: |place| drop(git(place, &["add", "x"])),
    },
    Kind {
        what: "renamed twice",
        start: |place| write(place, "x", LONG),
        ours: |place| rename(place, "x", "y"),
        theirs: |place| rename(place, "x", "z"),
        paths: &["x", "y", "z"],
        resolve: |place| remove(place, "z"),
    },
    Kind {
        what: "renamed here, deleted there",
        start: |place| write(place, "x", LONG),
        ours: |place| rename(place, "x", "y"),
        theirs: |place| remove(place, "x"),
        paths: &["y"],
        resolve: |place| remove(place, "y"),
    },
    Kind {
        what: "binary",
        start: |place| write(place, "x", "\0one"),
        ours: |place| write(place, "x", "\0two"),
        theirs: |place| write(place, "x", "\0three"),
        paths: &["x"],
        resolve: |place| write(place, "x", "\0four"),
    },
    Kind {
        what: "a link",
        start: |place| symlink("one", place.join("x")).unwrap(),
        ours: |place| {
            remove(place, "x");
            symlink("two", place.join("x")).unwrap();
        },
        theirs: |place| {
            remove(place, "x");
            symlink("three", place.join("x")).unwrap();
        },
        paths: &["x"],
        resolve: |place| {
            remove(place, "x");
            symlink("four", place.join("x")).unwrap();
        },
    },
    Kind {
        what: "a file here, a directory there",
        start: |_| {},
        ours: |place| write(place, "x", "file\n"),
        theirs: |place| write(place, "x/inner", "inner\n"),
        paths: &["x~refs_heads_work"],
        resolve: |place| rename(place, "x~refs_heads_work", "y"),
    },
    Kind {
        what: "a submodule",
        start: |place| submodule(place, '1'),
        ours: |place| submodule(place, '2'),
        theirs: |place| submodule(place, '3'),
        paths: &["sub"],
        resolve: |place| submodule(place, '4'),
    },
    Kind {
        what: "markers of another size",
        start: |place| {
            write(place, ".gitattributes", "x conflict-marker-size=4\n");
            write(place, "x", "1\n");
        },
        ours: |place| write(place, "x", "2\n"),
        theirs: |place| write(place, "x", "3\n"),
        paths: &["x"],
        resolve: |place| write(place, "x", "======= is a headline\n"),
    },
    Kind {
        what: "a name with odd letters",
        start: |place| write(place, "ä *\n\"x\"", "1\n"),
        ours: |place| write(place, "ä *\n\"x\"", "2\n"),
        theirs: |place| write(place, "ä *\n\"x\"", "3\n"),
        paths: &["ä *\n\"x\""],
        resolve: |place| write(place, "ä *\n\"x\"", "4\n"),
    },
];

fn commit_kind(place: &Path) {
    // What is staged by hand counts too: a submodule has no tree here.
    if !place.join("sub").exists() {
        git(place, &["add", "--all"]);
    }
    commit(place, "work");
}

#[tokio::test]
async fn every_kind_of_conflict_is_laid_out_judged_and_merged() {
    for kind in KINDS {
        let what = kind.what;
        let ground = Ground::with(&[("other", "other\n")]).await;
        (kind.start)(ground.place());
        commit_kind(ground.place());
        let theirs = ground.tree("theirs").await;
        (kind.theirs)(theirs.work_tree());
        commit_kind(theirs.work_tree());
        remove_tree(&ground.main, theirs.work_tree()).await.unwrap();
        (kind.ours)(ground.place());
        commit_kind(ground.place());
        let merged = merge(&ground.main, "agent/theirs", MESSAGE, AT).await;
        assert!(
            matches!(merged, Ok(Merged::Conflict { .. })),
            "{what}: {merged:?}"
        );
        let tree = laid_out(&ground).await;
        let place = tree.work_tree();
        let open = git(
            place,
            &["-c", "core.quotePath=false", "ls-files", "-z", "--unmerged"],
        );
        let mut open: Vec<&str> = open
            .split('\0')
            .filter_map(|line| line.split_once('\t'))
            .map(|(_, path)| path)
            .collect();
        open.dedup();
        assert_eq!(open, kind.paths, "{what}");
        let untouched = concluded(&ground, &tree).await;
        let Concluded::Unresolved(words) = &untouched else {
            panic!("{what}: {untouched:?}");
        };
        assert_eq!(words.len(), 1, "{what}: {words:?}");
        assert!(words[0].starts_with(kind.paths[0]), "{what}: {words:?}");
        (kind.resolve)(place);
        assert_merged(&ground, &tree, what).await;
    }
}

/// What a merge agent may do to a conflict in `a`.
struct Agent {
    what: &'static str,
    does: fn(&Path),
    /// What is left to do.
    unresolved: Option<&'static str>,
}

fn resolve(place: &Path) {
    write(place, "a", "both\n");
}

const GIVEN_UP: &str = "the merge was given up: its history has only one of the two sides";

const AGENTS: &[Agent] = &[
    Agent {
        what: "resolves",
        does: resolve,
        unresolved: None,
    },
    Agent {
        what: "resolves and adds",
        does: |place| {
            resolve(place);
            git(place, &["add", "a"]);
        },
        unresolved: None,
    },
    Agent {
        what: "does nothing",
        does: |_| {},
        unresolved: Some("a: conflict markers in line 1, 3, 5"),
    },
    Agent {
        what: "adds it with the markers",
        does: |place| drop(git(place, &["add", "a"])),
        unresolved: Some("a: conflict markers in line 1, 3, 5"),
    },
    Agent {
        what: "commits it with the markers",
        does: |place| commit_all(place, "done"),
        unresolved: Some("a: conflict markers in line 1, 3, 5"),
    },
    Agent {
        what: "leaves one marker",
        does: |place| write(place, "a", "ours\n=======\ntheirs\n"),
        unresolved: Some("a: conflict markers in line 2"),
    },
    Agent {
        what: "deletes the file",
        does: |place| remove(place, "a"),
        unresolved: None,
    },
    Agent {
        what: "commits itself",
        does: |place| {
            resolve(place);
            commit_all(place, "Merge by hand");
        },
        unresolved: None,
    },
    Agent {
        what: "commits itself, and goes on",
        does: |place| {
            resolve(place);
            commit_all(place, "Merge by hand");
            write(place, "b", "more\n");
            commit_all(place, "More");
            write(place, "later", "not committed\n");
        },
        unresolved: None,
    },
    Agent {
        what: "aborts",
        does: |place| drop(git(place, &["merge", "--abort"])),
        unresolved: Some(GIVEN_UP),
    },
    Agent {
        what: "resets",
        does: |place| drop(git(place, &["reset", "--quiet", "--hard"])),
        unresolved: Some(GIVEN_UP),
    },
    Agent {
        what: "makes it look like work of its own",
        does: |place| {
            resolve(place);
            git(place, &["add", "--all"]);
            git(place, &["merge", "--quit"]);
            commit(place, "squashed");
        },
        unresolved: Some(GIVEN_UP),
    },
    Agent {
        what: "moves to another branch",
        does: |place| {
            drop(git(
                place,
                &["checkout", "--quiet", "-f", "--detach", "agent/theirs"],
            ))
        },
        unresolved: Some(GIVEN_UP),
    },
    Agent {
        what: "writes letters",
        does: |place| {
            resolve(place);
            write(place, "state/handoff.json", "secret");
        },
        unresolved: None,
    },
    Agent {
        what: "stages letters",
        does: |place| {
            resolve(place);
            write(place, "state/handoff.json", "secret");
            git(place, &["add", "--all"]);
        },
        unresolved: None,
    },
    Agent {
        what: "commits letters",
        does: |place| {
            resolve(place);
            write(place, "state/handoff.json", "secret");
            commit_all(place, "Merge by hand");
        },
        unresolved: None,
    },
];

#[tokio::test]
async fn what_a_merge_agent_leaves_is_judged() {
    for agent in AGENTS {
        let what = agent.what;
        let ground = text_conflict().await;
        let before = ground.tip("work");
        let tree = laid_out(&ground).await;
        (agent.does)(tree.work_tree());
        if let Some(words) = agent.unresolved {
            let expected = Concluded::Unresolved(vec![words.to_owned()]);
            assert_eq!(concluded(&ground, &tree).await, expected, "{what}");
            assert_eq!(ground.tip("work"), before, "{what}");
            continue;
        }
        assert_merged(&ground, &tree, what).await;
        let place = ground.place();
        let names = ["clean-ours", "clean-theirs"].map(|name| read(place, name));
        assert_eq!(names, ["x\n", "y\n"], "{what}");
        let letters = ["log", "--format=%h", "work", "--", "state"];
        assert_eq!(ground.says(&letters), "", "{what}");
        assert!(!place.join("state").exists(), "{what}");
    }
}

#[tokio::test]
async fn letters_that_were_committed_are_set_aside_by_name() {
    let ground = text_conflict().await;
    let tree = laid_out(&ground).await;
    resolve(tree.work_tree());
    write(tree.work_tree(), "state/x", "secret");
    commit_all(tree.work_tree(), "Merge by hand");
    let by_hand = git(tree.work_tree(), &["rev-parse", "HEAD"]);
    assert_merged(&ground, &tree, "letters").await;
    let aside = format!("refs/ralphd/aside/{by_hand}");
    assert_eq!(ground.says(&["rev-parse", &aside]), by_hand);
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
