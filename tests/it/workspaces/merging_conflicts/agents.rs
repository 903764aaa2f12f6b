//! What merge agents leave.

use super::{assert_merged, concluded, laid_out, remove, resolve, text_conflict};
use crate::workspaces::ground::{commit, commit_all, git, read, write};
use ralphd::workspace::git::Concluded;
use std::path::Path;

/// What a merge agent may do to a conflict in `a`.
struct Agent {
    what: &'static str,
    does: fn(&Path),
    /// What is left to do.
    unresolved: Option<&'static str>,
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
