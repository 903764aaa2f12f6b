//! Repositories that are not where they seem to be, nor whose, and words in them that are read as something else.

use super::Trap;
use crate::workspaces::place::{Place, prepare_in, wanted};
use ralphd::workspace::git::Wanted;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn a_workspace_whose_repository_is_not_its_own() {
    type Set = fn(&Place);
    let cases: [(&str, Set, &str); 9] = [
        (
            "a link",
            |place| move_git(place, |to, from| symlink(to, from).unwrap()),
            "is not a directory of its own",
        ),
        (
            "a file",
            |place| {
                move_git(place, |to, from| {
                    std::fs::write(from, format!("gitdir: {}\n", to.display())).unwrap()
                })
            },
            "is not a directory of its own",
        ),
        (
            "shared",
            |place| place.write("work/.git/commondir", "../../source/.git\n"),
            "shares the repository",
        ),
        (
            "linked refs",
            |place| link_inside(place, "refs/heads"),
            "is a link or a pipe",
        ),
        (
            "a linked index",
            |place| link_inside(place, "index"),
            "is a link or a pipe",
        ),
        (
            "linked settings",
            |place| link_inside(place, "config"),
            "is a link or a pipe",
        ),
        (
            "linked objects",
            |place| link_inside(place, "objects"),
            "is a link or a pipe",
        ),
        (
            "a linked record",
            |place| link_inside(place, "ralphd-prepared"),
            "is a link or a pipe",
        ),
        (
            "a linked place of notes",
            |place| link_inside(place, "info"),
            "is a link or a pipe",
        ),
    ];
    for (what, set, words) in cases {
        let trap = Trap::used();
        set(&trap.place);
        let before = trap.place.listing("source");
        trap.holds(what, &wanted(&trap.place, "s2"), "work", words);
        assert_eq!(trap.place.listing("source"), before, "{what}");
    }
}

fn move_git(place: &Place, lead: fn(PathBuf, PathBuf)) {
    std::fs::remove_dir_all(place.path("work/.git")).unwrap();
    lead(place.path("source/.git"), place.path("work/.git"));
}

fn link_inside(place: &Place, name: &str) {
    let (own, other) = (
        place.path("work/.git").join(name),
        place.path("source/.git").join(name),
    );
    match own.is_dir() {
        true => std::fs::remove_dir_all(&own).unwrap(),
        false => std::fs::remove_file(&own).unwrap(),
    }
    symlink(other, own).unwrap();
}

#[test]
fn a_pipe_is_not_waited_for() {
    let trap = Trap::used();
    std::fs::remove_file(trap.place.path("work/.git/config")).unwrap();
    let made = Command::new("mkfifo")
        .arg(trap.place.path("work/.git/config"))
        .status();
    assert!(made.unwrap().success());
    trap.holds(
        "a pipe",
        &wanted(&trap.place, "s2"),
        "work",
        "is a link or a pipe",
    );
}

#[test]
fn a_record_that_an_agent_wrote() {
    for (branch, commit) in [
        ("main", "--output=x"),
        ("../../x", "0123456789"),
        ("a b", "0123456789"),
    ] {
        let trap = Trap::used();
        let file = "work/.git/ralphd-prepared";
        let mut record: serde_json::Value = serde_json::from_str(&trap.place.read(file)).unwrap();
        record["under_way"] = serde_json::json!({"branch": branch, "commit": commit});
        trap.place.write(file, &record.to_string());
        trap.holds(
            commit,
            &wanted(&trap.place, "s2"),
            "work",
            "what ralphd never wrote",
        );
    }
}

#[test]
fn sources_whose_repository_is_elsewhere_are_only_read() {
    for by_link in [true, false] {
        let trap = Trap::new();
        trap.place.git(
            "source",
            &[
                "config",
                "core.worktree",
                trap.place.path("source").to_str().unwrap(),
            ],
        );
        std::fs::rename(trap.place.path("source/.git"), trap.place.path("real")).unwrap();
        match by_link {
            true => symlink(trap.place.path("real"), trap.place.path("source/.git")).unwrap(),
            false => trap.place.write(
                "source/.git",
                &format!("gitdir: {}\n", trap.place.path("real").display()),
            ),
        }
        let before = trap.place.listing("real");
        trap.source_holds("elsewhere");
        assert_eq!(trap.place.listing("real"), before);
    }
    let trap = Trap::new();
    let objects = trap.place.path("source/.git/objects");
    std::fs::rename(&objects, trap.place.path("objects")).unwrap();
    symlink(trap.place.path("objects"), &objects).unwrap();
    let _ = prepare_in(&trap.place, "work", &wanted(&trap.place, "s1"));
    assert_eq!(trap.sprung(), None);
}

#[test]
fn branches_that_are_named_like_options() {
    let trap = Trap::new();
    let name = "--upload-pack=evil".to_owned();
    let full = format!("refs/heads/{name}");
    trap.place.git("source", &["update-ref", &full, "HEAD"]);
    trap.place.git("source", &["symbolic-ref", "HEAD", &full]);
    trap.source_holds("an option as the branch of HEAD");
    let there = Wanted {
        branch: None,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("on that branch", &there, "there", "");
    trap.place.commit("source", "b.txt", "two\n");
    let there = Wanted {
        branch: None,
        ..wanted(&trap.place, "s2")
    };
    trap.holds("forward on that branch", &there, "there", "");
    assert!(trap.place.path("there/b.txt").exists());
    let asked = Wanted {
        reference: Some(name),
        ..wanted(&trap.place, "s3")
    };
    trap.holds("asked for", &asked, "asked", "must not start with '-'");
}

#[test]
fn a_repository_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let trap = Trap::new();
    for path in ["source", "source/.git"] {
        std::os::unix::fs::chown(trap.place.path(path), Some(12345), Some(12345)).unwrap();
    }
    trap.holds(
        "a source",
        &wanted(&trap.place, "s1"),
        "work",
        "belongs to another user",
    );
    let shallow = Wanted {
        shallow: true,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("a source", &shallow, "work", "belongs to another user");
    let here = Wanted {
        in_place: true,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("in place", &here, "source", "belongs to another user");
}
