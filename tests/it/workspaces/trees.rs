//! Trees of tasks: made, found again whatever happened to them, removed only when nothing is lost.

use super::ground::{Ground, commit, commit_all, git, read, try_git, write};
use ralphd::workspace::git::{Removal, add_tree, remove_tree, trees};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FILES: &[(&str, &str)] = &[("a", "one\n"), ("deep/b", "two\n")];

#[tokio::test]
async fn a_tree_is_made_once_and_found_again_as_it_was_left() {
    let ground = Ground::with(FILES).await;
    let tree = ground.tree("one").await;
    assert_eq!(read(tree.work_tree(), "deep/b"), "two\n");
    write(tree.work_tree(), "a", "changed\n");
    git(tree.work_tree(), &["add", "a"]);
    write(tree.work_tree(), "new", "new\n");
    commit(tree.work_tree(), "work");
    let (tip, started) = (ground.tip("agent/one"), ground.tip("work"));
    assert_ne!(tip, started);
    let again = ground.tree("one").await;
    assert_eq!(again.git_dir(), tree.git_dir());
    assert_eq!(ground.tip("agent/one"), tip);
    assert_eq!(git(tree.work_tree(), &["status", "--porcelain"]), "?? new");
    let listed = trees(&ground.main).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].branch.as_deref(), Some("agent/one"));
    assert_eq!(listed[0].head.as_deref(), Some(tip.as_str()));
}

#[tokio::test]
async fn what_is_no_branch_or_no_commit_makes_no_tree() {
    let ground = Ground::with(FILES).await;
    for (branch, from) in [
        ("--force", "work"),
        ("a..b", "work"),
        ("x", "--all"),
        ("x", "nothing"),
        // At work in the main tree.
        ("work", "work"),
    ] {
        let place = ground.tree_place("x");
        let made = add_tree(&ground.main, &place, branch, from).await;
        assert!(made.is_err(), "{branch} {from}");
    }
    ground.assert_trees(&[]);
}

/// What a crash or an agent may leave of a tree, and what is found in it afterwards.
struct Left {
    what: &'static str,
    undo: fn(&Ground, &Path, &Path),
    status: &'static str,
}

const LEFT: &[Left] = &[
    Left {
        what: "the directory is gone",
        undo: |_, place, _| fs::remove_dir_all(place).unwrap(),
        status: "",
    },
    Left {
        what: "the directory is gone, and with it a file that was staged",
        undo: |_, place, _| {
            write(place, "staged", "staged");
            git(place, &["add", "staged"]);
            fs::remove_dir_all(place).unwrap();
        },
        status: "A  staged",
    },
    Left {
        what: "the record is gone, the work is not",
        undo: |_, place, record| {
            write(place, "a", "worked on\n");
            fs::remove_file(place.join("deep/b")).unwrap();
            fs::remove_dir_all(record).unwrap();
        },
        status: "M a\n D deep/b",
    },
    Left {
        what: "the record is there, the directory was not made yet",
        undo: |_, place, record| {
            fs::remove_dir_all(place).unwrap();
            fs::remove_file(record.join("index")).unwrap();
            fs::write(record.join("ralphd-fill"), "HEAD").unwrap();
        },
        status: "",
    },
    Left {
        what: "half of the files are there, one half written, with a lock on the index",
        undo: |_, place, record| {
            fs::remove_file(place.join("a")).unwrap();
            fs::write(place.join("deep/b"), "t").unwrap();
            fs::remove_file(record.join("index")).unwrap();
            fs::write(record.join("index.lock"), "DIRC").unwrap();
            fs::write(record.join("ralphd-fill"), "HEAD").unwrap();
        },
        status: "",
    },
    Left {
        what: "a removal was begun",
        undo: |_, place, record| {
            fs::write(record.join("ralphd-remove"), "").unwrap();
            fs::remove_file(place.join("a")).unwrap();
        },
        status: "",
    },
    Left {
        what: "records that are not yet, or no longer, git's",
        undo: |ground, place, record| {
            let corner = ground.place().join(".git/ralphd");
            fs::create_dir_all(corner.join("making")).unwrap();
            fs::write(corner.join("making/HEAD"), "half").unwrap();
            fs::remove_dir_all(place).unwrap();
            fs::rename(record, corner.join("gone")).unwrap();
        },
        status: "",
    },
    Left {
        what: "the agent leads elsewhere",
        undo: |ground, place, _| {
            let elsewhere = ground.place().join(".git").display().to_string();
            fs::write(place.join(".git"), format!("gitdir: {elsewhere}\n")).unwrap();
        },
        status: "",
    },
    Left {
        what: "the agent has put a link to another repository",
        undo: |ground, place, _| {
            fs::remove_file(place.join(".git")).unwrap();
            std::os::unix::fs::symlink(ground.place().join(".git"), place.join(".git")).unwrap();
        },
        status: "",
    },
    Left {
        what: "an agent has tidied up",
        undo: |ground, place, _| {
            let away = place.with_extension("away");
            fs::rename(place, &away).unwrap();
            ground.says(&["worktree", "prune", "--expire=now"]);
            ground.says(&["gc", "--quiet", "--prune=now"]);
            fs::rename(&away, place).unwrap();
        },
        status: "",
    },
];

#[tokio::test]
async fn a_tree_is_found_again_whatever_was_left_of_it() {
    for left in LEFT {
        let ground = Ground::with(FILES).await;
        let tree = ground.tree("one").await;
        write(tree.work_tree(), "own", "own\n");
        commit_all(tree.work_tree(), "work");
        let tip = ground.tip("agent/one");
        (left.undo)(&ground, tree.work_tree(), tree.git_dir());
        let again = ground.tree("one").await;
        let place = again.work_tree();
        assert_eq!(git(place, &["rev-parse", "HEAD"]), tip, "{}", left.what);
        let status = git(place, &["status", "--porcelain"]);
        assert_eq!(status.trim(), left.status, "{}", left.what);
        assert_eq!(read(place, "own"), "own\n", "{}", left.what);
        let branch = git(place, &["symbolic-ref", "--short", "HEAD"]);
        assert_eq!(branch, "agent/one", "{}", left.what);
        ground.assert_trees(&["one"]);
        ground.assert_sound();
    }
}

#[tokio::test]
async fn calls_on_a_tree_go_by_the_record_whatever_the_agent_made_of_its_file() {
    let ground = Ground::with(FILES).await;
    let tree = ground.tree("one").await;
    fs::remove_file(tree.work_tree().join(".git")).unwrap();
    git(tree.work_tree(), &["init", "--quiet"]);
    let again = ground.tree("one").await;
    let head = again.head().await.unwrap();
    assert_eq!(head, Some(ground.tip("agent/one")));
}

struct Lost {
    what: &'static str,
    work: fn(&Path),
    /// Of why it is kept.
    words: Option<&'static str>,
}

const LOST: &[Lost] = &[
    Lost {
        what: "nothing",
        work: |_| {},
        words: None,
    },
    Lost {
        what: "ignored files",
        work: |place| {
            write(place, ".gitignore", "target/\n");
            commit_all(place, "ignore");
            write(place, "target/x", "x");
        },
        words: None,
    },
    Lost {
        what: "a change",
        work: |place| write(place, "a", "changed"),
        words: Some("not committed: a"),
    },
    Lost {
        what: "a new file",
        work: |place| {
            write(place, "deep/new", "x");
            git(place, &["config", "status.showUntrackedFiles", "no"]);
        },
        words: Some("not committed: deep/new"),
    },
    Lost {
        what: "a staged change",
        work: |place| {
            write(place, "a", "changed");
            git(place, &["add", "a"]);
            write(place, "a", "one\n");
        },
        words: Some("not committed: a"),
    },
    Lost {
        what: "a staged file, and then the whole directory",
        work: |place| {
            write(place, "new", "x");
            git(place, &["add", "new"]);
            fs::remove_dir_all(place).unwrap();
        },
        words: Some("not committed: new"),
    },
    Lost {
        what: "a hidden change",
        work: |place| {
            git(place, &["update-index", "--skip-worktree", "a"]);
            write(place, "a", "changed");
        },
        words: Some("git was told not to look at a"),
    },
    Lost {
        what: "commits on no branch",
        work: |place| {
            git(place, &["checkout", "--quiet", "--detach"]);
            commit(place, "loose");
        },
        words: Some("its commits are on no branch"),
    },
    Lost {
        what: "a repository of its own",
        work: |place| {
            fs::create_dir(place.join("inner")).unwrap();
            git(&place.join("inner"), &["init", "--quiet"]);
            commit(&place.join("inner"), "inner");
            git(
                place,
                &["-c", "advice.addEmbeddedRepo=false", "add", "inner"],
            );
            commit(place, "inner");
            write(place, "inner/x", "x");
        },
        words: Some("git was told not to look at inner"),
    },
];

#[tokio::test]
async fn a_tree_goes_only_when_nothing_is_lost_with_it() {
    for lost in LOST {
        let ground = Ground::with(FILES).await;
        let tree = ground.tree("one").await;
        (lost.work)(tree.work_tree());
        let removal = remove_tree(&ground.main, tree.work_tree()).await.unwrap();
        match lost.words {
            None => {
                assert_eq!(removal, Removal::Gone, "{}", lost.what);
                ground.assert_trees(&[]);
                // And once more.
                let again = remove_tree(&ground.main, tree.work_tree()).await.unwrap();
                assert_eq!(again, Removal::Gone);
            }
            Some(words) => {
                assert_eq!(removal, Removal::Kept(words.to_owned()), "{}", lost.what);
                ground.assert_trees(&["one"]);
            }
        }
        assert!(!ground.tip("agent/one").is_empty());
    }
}

#[tokio::test]
async fn many_trees_at_once() {
    let ground = Ground::with(FILES).await;
    let names = ["a", "b", "c", "d", "e", "f"];
    let made = names.map(|name| ground.tree(name));
    let [a, b, c, d, e, f] = made;
    let trees = tokio::join!(a, b, c, d, e, f);
    assert_ne!(trees.0.git_dir(), trees.5.git_dir());
    ground.assert_trees(&names);
    ground.assert_sound();
}

/// A git that stays at work in a tree until it is ended.
struct Busy(Child);

impl Busy {
    fn in_tree(place: &Path) -> Self {
        let mut command = super::ground::command(place, &["cat-file", "--batch"]);
        Self(
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn stale_locks_go_while_neighbours_are_at_work() {
    let ground = Ground::with(FILES).await;
    let (one, two) = (ground.tree("one").await, ground.tree("two").await);
    let neighbour = Busy::in_tree(two.work_tree());
    for (repository, lock) in [
        (&one, one.git_dir().join("index.lock")),
        (&ground.main, ground.place().join(".git/index.lock")),
    ] {
        fs::write(&lock, "").unwrap();
        repository.call(["read-tree", "HEAD"]).done().await.unwrap();
        assert!(!lock.exists());
    }
    let lock = one.git_dir().join("HEAD.lock");
    fs::write(&lock, "").unwrap();
    one.call(["update-ref", "--no-deref", "HEAD", "HEAD"])
        .done()
        .await
        .unwrap();
    drop(neighbour);
    // What all trees share is free only when nobody works in any of them.
    for (lock, words) in [
        (
            "refs/heads/x.lock",
            vec!["update-ref", "refs/heads/x", "HEAD"],
        ),
        ("packed-refs.lock", vec!["pack-refs", "--all"]),
        ("config.lock", vec!["config", "x.y", "z"]),
    ] {
        let lock = ground.place().join(".git").join(lock);
        fs::write(&lock, "").unwrap();
        one.call(words).done().await.unwrap();
        assert!(!lock.exists());
    }
}

#[tokio::test]
async fn a_lock_that_a_neighbour_may_hold_is_waited_for() {
    let ground = Ground::with(FILES).await;
    let (one, two) = (ground.tree("one").await, ground.tree("two").await);
    let lock = ground.place().join(".git/refs/heads/x.lock");
    fs::write(&lock, "").unwrap();
    let neighbour = Busy::in_tree(two.work_tree());
    let call = one.call(["update-ref", "refs/heads/x", "HEAD"]).done();
    let neighbour_ends = async {
        // Until the call has been turned away at least once.
        let look = || try_git(two.work_tree(), &["rev-parse", "--verify", "--quiet", "x"]);
        for _ in 0..20 {
            assert!(!look().status.success());
            tokio::task::yield_now().await;
        }
        assert!(lock.exists());
        drop(neighbour);
    };
    let (called, ()) = tokio::join!(call, neighbour_ends);
    called.unwrap();
    assert!(!lock.exists());
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_run_for_a_tree() {
    let ground = Ground::with(FILES).await;
    let traps = Traps::set(&ground);
    let tree = ground.tree("one").await;
    ground.tree("one").await;
    remove_tree(&ground.main, tree.work_tree()).await.unwrap();
    traps.assert_unsprung();
}

/// Programs that a repository names wherever it can. Each leaves a mark.
pub struct Traps {
    marks: std::path::PathBuf,
}

impl Traps {
    pub fn set(ground: &Ground) -> Self {
        let marks = ground.root().join("marks");
        fs::create_dir(&marks).unwrap();
        let trap = ground.root().join("trap");
        let script = format!(
            "#!/bin/sh\necho \"$0 $*\" >>'{}/sprung'\ncat\n",
            marks.display()
        );
        fs::write(&trap, script).unwrap();
        Command::new("chmod").arg("+x").arg(&trap).status().unwrap();
        let hooks = ground.place().join(".git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        for hook in [
            "post-checkout",
            "post-merge",
            "pre-merge-commit",
            "pre-commit",
            "post-commit",
            "prepare-commit-msg",
            "commit-msg",
            "reference-transaction",
            "post-index-change",
            "pre-push",
            "fsmonitor-watchman",
        ] {
            fs::copy(&trap, hooks.join(hook)).unwrap();
        }
        let program = trap.display().to_string();
        for setting in [
            "filter.trap.clean",
            "filter.trap.smudge",
            "filter.trap.process",
            "merge.trap.driver",
            "diff.trap.command",
            "diff.trap.textconv",
            "core.fsmonitor",
            "core.editor",
            "core.pager",
            "diff.external",
            "gpg.program",
            "credential.helper",
        ] {
            ground.says(&["config", setting, &program]);
        }
        ground.says(&["config", "commit.gpgSign", "true"]);
        ground.says(&["config", "pull.twohead", "trap"]);
        let attributes = ground.place().join(".git/info");
        fs::create_dir_all(&attributes).unwrap();
        fs::write(
            attributes.join("attributes"),
            "* filter=trap merge=trap diff=trap\n",
        )
        .unwrap();
        Self { marks }
    }

    pub fn assert_unsprung(&self) {
        let sprung = fs::read_to_string(self.marks.join("sprung")).unwrap_or_default();
        assert_eq!(sprung, "");
    }
}
