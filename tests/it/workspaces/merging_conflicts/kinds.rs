//! Every kind of conflict that git knows.

use super::{MESSAGE, assert_merged, concluded, laid_out, remove};
use crate::workspaces::ground::{AT, Ground, commit, git, write};
use ralphd::workspace::git::{Concluded, Merged, merge, remove_tree};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

struct Kind {
    what: &'static str,
    start: fn(&Path),
    ours: fn(&Path),
    theirs: fn(&Path),
    paths: &'static [&'static str],
    resolve: fn(&Path),
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
