//! Trees that no honest git makes: paths that leave them, links that lead out of them, submodules that name programs.

use super::Trap;
use crate::workspaces::place::{prepare_in, wanted};
use std::process::Command;

/// A commit of entries that no honest git makes: `mode kind name`, each with the same content.
fn crafted(trap: &Trap, entries: &[(&str, &str)]) {
    let place = &trap.place;
    place.write("source/payload", "payload\n");
    let blob = place.git("source", &["hash-object", "-w", "payload"]);
    let mut tree = Vec::new();
    for (mode, name) in entries {
        tree.extend(format!("{mode} {name}\0").bytes());
        let object = match *mode {
            "40000" => below(trap, &blob),
            "120000" => link(trap),
            _ => blob.clone(),
        };
        tree.extend(
            object
                .as_bytes()
                .chunks(2)
                .map(|hex| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap()),
        );
    }
    std::fs::write(place.path("tree"), tree).unwrap();
    let tree = place.git(
        "source",
        &["hash-object", "-t", "tree", "-w", "--literally", "../tree"],
    );
    let commit = place.git("source", &["commit-tree", &tree, "-m", "crafted"]);
    place.git("source", &["update-ref", "refs/heads/main", &commit]);
}

/// A tree with a hook in it.
fn below(trap: &Trap, blob: &str) -> String {
    trap.place.write(
        "source/index-lines",
        &format!("100755 {blob}\tpost-checkout\n"),
    );
    let index = trap.place.path("other-index");
    let made = Command::new("sh")
        .args([
            "-c",
            "git update-index --index-info < index-lines && git write-tree",
        ])
        .current_dir(trap.place.path("source"))
        .env("GIT_INDEX_FILE", index)
        .output()
        .unwrap();
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A link that leads out of the tree.
fn link(trap: &Trap) -> String {
    std::fs::create_dir_all(trap.place.path("outside")).unwrap();
    trap.place
        .write("source/leads", trap.place.path("outside").to_str().unwrap());
    trap.place.git("source", &["hash-object", "-w", "leads"])
}

#[test]
fn paths_that_leave_the_tree() {
    for (name, mode) in [
        ("..", "40000"),
        (".", "40000"),
        ("../escaped", "100644"),
        ("/escaped", "100644"),
        ("a/../../escaped", "100644"),
        (".git", "40000"),
        (".GIT", "40000"),
        (".Git", "100644"),
        ("git~1", "40000"),
        (".g\u{200c}it", "40000"),
        (".git ", "40000"),
        (".git/config", "100644"),
    ] {
        let trap = Trap::new();
        crafted(&trap, &[(mode, name)]);
        let before = trap.place.listing("source");
        trap.holds(
            name,
            &wanted(&trap.place, "s1"),
            "work",
            "cannot be checked out",
        );
        trap.holds(
            name,
            &wanted(&trap.place, "s1"),
            "work",
            "cannot be checked out",
        );
        for escaped in [
            "escaped",
            "work/escaped",
            "post-checkout",
            "work/.git/post-checkout",
        ] {
            assert!(!trap.place.path(escaped).exists(), "{name}: {escaped}");
        }
        assert_eq!(trap.place.listing("source"), before);
    }
}

#[test]
fn a_link_in_the_tree_is_not_written_through() {
    let trap = Trap::new();
    crafted(&trap, &[("120000", "out"), ("40000", "out")]);
    let _ = prepare_in(&trap.place, "work", &wanted(&trap.place, "s1"));
    assert_eq!(trap.place.listing("outside"), Vec::new());
    let trap = Trap::new();
    crafted(&trap, &[("120000", "out")]);
    trap.holds("a link", &wanted(&trap.place, "s1"), "work", "");
    assert!(trap.place.path("work/out").is_symlink());
    trap.place.write("work/out/inside.txt", "by the agent");
    trap.holds("a link", &wanted(&trap.place, "s2"), "work", "");
}

#[test]
fn submodules_are_left_alone() {
    for url in [
        "ext::sh -c EVIL",
        "--upload-pack=EVIL",
        "-u./evil",
        "../../source",
    ] {
        let trap = Trap::new();
        let url = url.replace("EVIL", &trap.evil);
        let modules = format!(
            "[submodule \"x\"]\n\tpath = x\n\turl = {url}\n\tupdate = !{}\n",
            trap.evil
        );
        let head = trap.place.head("source");
        trap.place.git(
            "source",
            &[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("160000,{head},x"),
            ],
        );
        trap.place.commit("source", ".gitmodules", &modules);
        trap.source_holds(&url);
        let prepared = prepare_in(&trap.place, "plain", &wanted(&trap.place, "s2")).unwrap();
        assert_eq!(prepared.notes, ["submodules are not fetched: x"]);
    }
}
