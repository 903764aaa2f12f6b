//! Merging branches of tasks into the working branch: automatic where it can be, the same commit each time, no change of anybody's overwritten,
//! and right after a crash at any step.

use super::ground::{AT, Ground, git, read, try_git, write};
use super::trees::Traps;
use ralphd::model::mask::Mask;
use ralphd::workspace::git::{
    Ground as GitGround, Merged, Moment, add_tree, combined_start, is_merged, merge, record,
    remove_tree, unmerged,
};
use std::fs;
use std::path::Path;

const FILES: &[(&str, &str)] = &[("a", "one\n"), ("b", "two\n"), ("c", "three\n")];

async fn merged(ground: &Ground, name: &str) -> Merged {
    let (branch, message) = (format!("agent/{name}"), format!("Merge {name}\n"));
    merge(&ground.main, &branch, &message, AT).await.unwrap()
}

fn commit_of(merged: Merged) -> String {
    match merged {
        Merged::Clean { commit } => commit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn three_branches_with_one_conflict() {
    let ground = Ground::with(FILES).await;
    ground.worked("one", |place| write(place, "a", "1\n")).await;
    ground
        .worked("two", |place| {
            write(place, "b", "2\n");
            fs::remove_file(place.join("c")).unwrap();
            write(place, "deep/new", "new\n");
        })
        .await;
    ground
        .worked("three", |place| write(place, "a", "3\n"))
        .await;
    let first = commit_of(merged(&ground, "one").await);
    let parents = ground.says(&["log", "-1", "--format=%P %s|%an|%ct", &first]);
    let tip = ground.tip("agent/one");
    assert!(parents.ends_with(&format!("{tip} Merge one|Night Shift|1700000000")));
    commit_of(merged(&ground, "two").await);
    let conflict = Merged::Conflict {
        paths: vec!["a".to_owned()],
    };
    assert_eq!(merged(&ground, "three").await, conflict);
    assert_eq!(merged(&ground, "one").await, Merged::Already);
    let place = ground.place();
    let content = ["a", "b", "deep/new"].map(|name| read(place, name));
    assert_eq!(content, ["1\n", "2\n", "new\n"]);
    assert!(!place.join("c").exists());
    for (name, expected) in [("one", true), ("two", true), ("three", false)] {
        let branch = format!("agent/{name}");
        let is = is_merged(&ground.main, &branch, "work").await.unwrap();
        assert_eq!(is, expected, "{name}");
    }
    let left = unmerged(&ground.main, "agent/", "work").await.unwrap();
    assert_eq!(left, ["agent/three"]);
    assert!(is_merged(&ground.main, "agent/none", "work").await.is_err());
    ground.assert_sound();
}

struct Dirt {
    what: &'static str,
    work: fn(&Path),
    /// What is in the way.
    blocked: &'static [&'static str],
    status: &'static str,
}

const DIRT: &[Dirt] = &[
    Dirt {
        what: "a change in the merged file",
        work: |place| write(place, "a", "mine\n"),
        blocked: &["a"],
        status: "M a",
    },
    Dirt {
        what: "a staged change in the merged file",
        work: |place| {
            write(place, "a", "mine\n");
            git(place, &["add", "a"]);
        },
        blocked: &["a"],
        status: "M  a",
    },
    Dirt {
        what: "an untracked file in the way",
        work: |place| write(place, "new", "mine\n"),
        blocked: &["new"],
        status: "?? new",
    },
    Dirt {
        what: "an ignored file in the way",
        work: |place| {
            write(place, ".git/info/exclude", "new\n");
            write(place, "new", "mine\n");
        },
        blocked: &["new"],
        status: "",
    },
    Dirt {
        what: "an untracked directory in the way",
        work: |place| write(place, "new/x", "mine\n"),
        blocked: &["new/x"],
        status: "?? new/",
    },
    Dirt {
        what: "changes elsewhere",
        work: |place| {
            write(place, "b", "mine\n");
            write(place, "c", "staged\n");
            git(place, &["add", "c"]);
            write(place, "other", "mine\n");
        },
        blocked: &[],
        status: "M b\nM  c\n?? other",
    },
    Dirt {
        what: "files touched but the same",
        work: |place| write(place, "a", "one\n"),
        blocked: &[],
        status: "",
    },
];

#[tokio::test]
async fn changes_that_are_not_committed_are_never_overwritten() {
    for dirt in DIRT {
        let ground = Ground::with(FILES).await;
        ground
            .worked("one", |place| {
                write(place, "a", "1\n");
                write(place, "new", "new\n");
            })
            .await;
        let before = ground.tip("work");
        (dirt.work)(ground.place());
        let outcome = merged(&ground, "one").await;
        if dirt.blocked.is_empty() {
            assert_eq!(commit_of(outcome), ground.tip("work"), "{}", dirt.what);
        } else {
            let paths = dirt.blocked.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(outcome, Merged::Blocked { paths }, "{}", dirt.what);
            assert_eq!(ground.tip("work"), before, "{}", dirt.what);
        }
        let status = ground.says(&["status", "--porcelain"]);
        assert_eq!(status.trim(), dirt.status, "{}", dirt.what);
    }
}

/// A state that a crash leaves between two steps of a merge, made by hand.
struct Crash {
    what: &'static str,
    leave: fn(&Ground, &str, &str),
    blocked: &'static [&'static str],
}

fn note(ground: &Ground, old: &str, new: &str) {
    let text = format!("work\n{old}\n{new}\n");
    write(ground.place(), ".git/ralphd/step", &text);
}

fn move_branch(ground: &Ground, new: &str) {
    ground.says(&["update-ref", "refs/heads/work", new]);
}

const CRASHES: &[Crash] = &[
    Crash {
        what: "a git was killed over the index",
        leave: |ground, _, _| write(ground.place(), ".git/index.lock", "DIRC"),
        blocked: &[],
    },
    Crash {
        what: "the commit is made",
        leave: |_, _, _| {},
        blocked: &[],
    },
    Crash {
        what: "the step is noted",
        leave: note,
        blocked: &[],
    },
    Crash {
        what: "the branch has moved, its tree has not",
        leave: |ground, old, new| {
            note(ground, old, new);
            move_branch(ground, new);
        },
        blocked: &[],
    },
    Crash {
        what: "the tree has followed in part",
        leave: |ground, old, new| {
            note(ground, old, new);
            move_branch(ground, new);
            let place = ground.place();
            write(place, "a", "1\n");
            fs::remove_file(place.join("b")).unwrap();
            write(place, "long", "a long li");
            write(place, ".git/index.lock", "DIRC");
        },
        blocked: &[],
    },
    Crash {
        what: "the tree has followed, the index too",
        leave: |ground, old, new| {
            note(ground, old, new);
            move_branch(ground, new);
            ground.says(&["read-tree", "-m", "-u", old, new]);
        },
        blocked: &[],
    },
    Crash {
        what: "somebody has worked in the tree meanwhile",
        leave: |ground, old, new| {
            note(ground, old, new);
            move_branch(ground, new);
            write(ground.place(), "b", "mine\n");
        },
        blocked: &["b"],
    },
];

/// A merge undone as if it had never been: its commit is there, but nobody knows.
fn unmerge(ground: &Ground, old: &str) {
    ground.says(&["reset", "--quiet", "--hard", old]);
}

/// A merge that was broken off: what the branch was at before, and what it comes to.
async fn broken_off(crash: &Crash) -> (Ground, String) {
    let ground = Ground::with(FILES).await;
    ground
        .worked("one", |place| {
            write(place, "a", "1\n");
            write(place, "b", "2\n");
            fs::remove_file(place.join("c")).unwrap();
            write(place, "deep/new", "new\n");
            write(place, "long", "a long line\n");
        })
        .await;
    let old = ground.tip("work");
    let new = commit_of(merged(&ground, "one").await);
    unmerge(&ground, &old);
    (crash.leave)(&ground, &old, &new);
    (ground, new)
}

#[tokio::test]
async fn a_merge_ends_right_after_a_crash_at_any_step() {
    for crash in CRASHES {
        let (ground, new) = broken_off(crash).await;
        let outcome = merged(&ground, "one").await;
        if !crash.blocked.is_empty() {
            let paths = crash.blocked.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(outcome, Merged::Blocked { paths }, "{}", crash.what);
            assert_eq!(read(ground.place(), "b"), "mine\n");
            ground.says(&["checkout", "--quiet", "HEAD", "--", "b"]);
            assert_eq!(merged(&ground, "one").await, Merged::Already);
        }
        assert_eq!(ground.tip("work"), new, "{}", crash.what);
        assert!(!ground.place().join("c").exists(), "{}", crash.what);
        assert_eq!(read(ground.place(), "long"), "a long line\n");
        assert!(!ground.place().join(".git/ralphd/step").exists());
        ground.assert_sound();
    }
}

#[tokio::test]
async fn a_point_of_a_tree_that_has_yet_to_follow_undoes_no_merge() {
    for crash in CRASHES {
        let (ground, _) = broken_off(crash).await;
        let before = ground.tip("work");
        let own = GitGround::Own(ground.main.clone());
        let mask = Mask::default();
        let moment = Moment {
            session: "s",
            number: 1,
            task: None,
            at_ms: AT,
            subject: "What is left".to_owned(),
            commits: true,
            since: None,
            mask: &mask,
            large_bytes: u64::MAX,
        };
        let recorded = record(&own, &moment).await.unwrap();
        assert_eq!(ground.tip("work"), before, "{}", crash.what);
        match crash.blocked {
            [] => assert_eq!(ground.says(&["status", "--porcelain"]), ""),
            [name] => {
                assert_eq!(read(ground.place(), name), "mine\n");
                let said = recorded.warnings.join(" ");
                assert!(said.contains("could not follow its branch"), "{said}");
            }
            _ => unreachable!("no crash leaves more than one file of others"),
        }
    }
}

#[tokio::test]
async fn directories_and_files_change_places_through_a_crash() {
    let ground = Ground::with(&[("x", "file\n"), ("y/z", "below\n")]).await;
    ground
        .worked("one", |place| {
            fs::remove_file(place.join("x")).unwrap();
            write(place, "x/inner", "inner\n");
            fs::remove_dir_all(place.join("y")).unwrap();
            write(place, "y", "file\n");
        })
        .await;
    let old = ground.tip("work");
    let new = commit_of(merged(&ground, "one").await);
    let half_way = |place: &Path| {
        fs::remove_file(place.join("x")).unwrap();
        write(place, "x/inner", "inner\n");
        fs::remove_dir_all(place.join("y")).unwrap();
    };
    for crash in [|_: &Path| {}, half_way] {
        unmerge(&ground, &old);
        note(&ground, &old, &new);
        move_branch(&ground, &new);
        crash(ground.place());
        assert_eq!(merged(&ground, "one").await, Merged::Already);
        assert_eq!(read(ground.place(), "x/inner"), "inner\n");
        assert_eq!(read(ground.place(), "y"), "file\n");
        ground.assert_sound();
    }
}

#[tokio::test]
async fn many_tasks_at_once_on_one_repository() {
    let ground = Ground::with(FILES).await;
    let task = async |name: &str| {
        ground.worked(name, |place| write(place, name, name)).await;
        let merged = merged(&ground, name).await;
        assert!(matches!(merged, Merged::Clean { .. }), "{merged:?}");
        let place = ground.tree_place(name);
        remove_tree(&ground.main, &place).await.unwrap();
    };
    let [a, b, c, d, e] = ["p", "q", "r", "s", "t"].map(task);
    tokio::join!(a, b, c, d, e);
    assert_eq!(
        unmerged(&ground.main, "", "work").await.unwrap(),
        Vec::<String>::new()
    );
    for name in ["p", "q", "r", "s", "t"] {
        assert_eq!(read(ground.place(), name), name);
    }
    ground.assert_trees(&[]);
    ground.assert_sound();
}

#[tokio::test]
async fn a_task_starts_from_the_work_of_several_others() {
    let ground = Ground::with(FILES).await;
    for (name, file) in [("one", "a"), ("two", "b"), ("three", "a")] {
        ground.worked(name, |place| write(place, file, name)).await;
    }
    let branches = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("agent/{name}")).collect()
    };
    let start = async |names: &[&str]| {
        combined_start(&ground.main, &branches(names), AT)
            .await
            .unwrap()
    };
    assert_eq!(start(&[]).await, Ok(ground.tip("work")));
    assert_eq!(start(&["one"]).await, Ok(ground.tip("agent/one")));
    let both = start(&["one", "two"]).await.unwrap();
    assert_eq!(start(&["one", "two"]).await, Ok(both.clone()));
    let place = ground.tree_place("four");
    let tree = add_tree(&ground.main, &place, "agent/four", &both)
        .await
        .unwrap();
    let content = ["a", "b"].map(|name| read(tree.work_tree(), name));
    assert_eq!(content, ["one", "two"]);
    assert_eq!(start(&["four", "one"]).await, Ok(both));
    let words =
        "agent/three conflicts with agent/one and agent/two in a; put a merge task before this one";
    assert_eq!(start(&["one", "two", "three"]).await, Err(words.to_owned()));
    ground.assert_sound();
}

#[tokio::test]
async fn what_cannot_be_merged_is_an_error() {
    let ground = Ground::with(FILES).await;
    ground.says(&["checkout", "--quiet", "--orphan", "apart"]);
    ground.says(&["commit", "--quiet", "-m", "apart"]);
    ground.says(&["checkout", "--quiet", "work"]);
    for branch in ["none", "--all", "apart"] {
        let merged = merge(&ground.main, branch, "m", AT).await;
        assert!(merged.is_err(), "{branch}");
    }
    ground.worked("one", |place| write(place, "a", "1\n")).await;
    ground.says(&["checkout", "--quiet", "--detach"]);
    let merged = merge(&ground.main, "agent/one", "m", AT).await;
    let words = format!("{:#}", merged.unwrap_err());
    assert!(words.contains("is on no branch"), "{words}");
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_run_for_a_merge() {
    let ground = Ground::with(FILES).await;
    let attributes = |place: &Path| write(place, ".gitattributes", "* merge=trap filter=trap\n");
    for (name, file) in [("one", "a"), ("two", "b"), ("three", "a")] {
        let work = |place: &Path| {
            write(place, file, name);
            attributes(place);
        };
        ground.worked(name, work).await;
    }
    let traps = Traps::set(&ground);
    commit_of(merged(&ground, "one").await);
    commit_of(merged(&ground, "two").await);
    let conflict = merged(&ground, "three").await;
    assert!(matches!(conflict, Merged::Conflict { .. }), "{conflict:?}");
    traps.assert_unsprung();
    assert_eq!(read(ground.place(), "b"), "two");
    // The trap does spring for those who do not look.
    assert!(try_git(ground.place(), &["status"]).status.success());
    assert!(std::panic::catch_unwind(|| traps.assert_unsprung()).is_err());
}
