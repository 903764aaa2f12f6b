//! Work in the user's own checkout: nothing of theirs is lost or moved, and two sessions do not meet there.

use super::place::{Place, prepare_in, tool, wait, wanted};
use ralphd::workspace::git::{Prepared, Unprepared, Wanted, release_in_place};

fn here<'a>(place: &Place, session: &'a str) -> Wanted<'a> {
    Wanted {
        in_place: true,
        ..wanted(place, session)
    }
}

fn ready(place: &Place, directory: &str, wanted: &Wanted<'_>) -> Prepared {
    prepare_in(place, directory, wanted).unwrap()
}

fn refused(place: &Place, directory: &str, wanted: &Wanted<'_>) -> String {
    let error = prepare_in(place, directory, wanted).unwrap_err();
    error.downcast_ref::<Unprepared>().unwrap().0.clone()
}

/// A checkout with every kind of change.
fn dirty() -> Place {
    let place = Place::with_source();
    place.commit("source", "gone.txt", "gone");
    place.commit("source", "staged.txt", "old");
    place.commit("source", ".gitignore", "ignored\n");
    place.commit("source", "was-file", "file");
    place.commit("source", "was-directory/file", "file");
    std::fs::remove_file(place.path("source/gone.txt")).unwrap();
    std::fs::remove_file(place.path("source/was-file")).unwrap();
    std::fs::remove_dir_all(place.path("source/was-directory")).unwrap();
    place.write("source/was-file/inside", "now a directory");
    place.write("source/was-directory", "now a file");
    place.write("source/staged.txt", "staged");
    place.git("source", &["add", "staged.txt"]);
    place.write("source/a.txt", "changed");
    place.write("source/new/file.txt", "new");
    place.write("source/ignored", "ignored");
    place
}

#[test]
fn the_tree_is_kept_and_the_changes_come_along() {
    let place = dirty();
    let head = place.head("source");
    let status = place.git("source", &["status", "--porcelain"]);
    let index = std::fs::read(place.path("source/.git/index")).unwrap();
    let prepared = ready(&place, "source", &here(&place, "s1"));
    assert_eq!(prepared.base.as_ref(), Some(&head));
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert_eq!(prepared.safety.as_deref(), Some("refs/ralphd/safety/s1"));
    assert!(
        prepared.notes[0].contains("a.txt, gone.txt, staged.txt"),
        "{:?}",
        prepared.notes
    );
    assert_eq!(
        std::fs::read(place.path("source/.git/index")).unwrap(),
        index
    );
    assert_eq!(place.git("source", &["status", "--porcelain"]), status);
    assert_eq!(place.git("source", &["rev-parse", "main"]), head);
    let lock = place.read("source/.git/ralphd.lock");
    assert!(lock.starts_with("session: s1\nsince: 2"), "{lock}");
    assert!(lock.contains("ralphd cancel s1"), "{lock}");
    assert_eq!(ready(&place, "source", &here(&place, "s1")), prepared);
    let left = place.git("source", &["ls-files", "--others", "--exclude-standard"]);
    assert_eq!(left, "new/file.txt\nwas-directory\nwas-file/inside");
}

#[test]
fn the_safety_copy_restores_everything_that_is_not_ignored() {
    let place = dirty();
    let tree = |place: &Place| -> Vec<_> {
        let mut listing = place.listing("source");
        listing.retain(|(path, _)| !path.starts_with(place.path("source/.git")));
        listing
    };
    let before = tree(&place);
    let prepared = ready(&place, "source", &here(&place, "s1"));
    let safety = prepared.safety.unwrap();
    place.write("source/a.txt", "spoilt");
    place.write("source/gone.txt", "back again");
    std::fs::remove_dir_all(place.path("source/new")).unwrap();
    // Called again in the midst of the work, it does not keep the spoilt tree instead.
    ready(&place, "source", &here(&place, "s1"));
    place.git("source", &["add", "-A"]);
    place.git("source", &["read-tree", "--reset", "-u", &safety]);
    assert_eq!(tree(&place), before);
    let author = place.git("source", &["log", "-1", "--format=%an <%ae>", &safety]);
    assert_eq!(author, "Night Shift <night@example.org>");
}

#[test]
fn two_sessions_do_not_meet() {
    let place = Place::with_source();
    ready(&place, "source", &here(&place, "s1"));
    let told = refused(&place, "source", &here(&place, "s2"));
    assert!(told.starts_with("locked by session s1 since 2"), "{told}");
    let path = place.path("source");
    wait(release_in_place(&tool(), &path, "s2")).unwrap();
    assert!(place.path("source/.git/ralphd.lock").exists());
    wait(release_in_place(&tool(), &path, "s1")).unwrap();
    assert!(!place.path("source/.git/ralphd.lock").exists());
    wait(release_in_place(&tool(), &path, "s1")).unwrap();
    let prepared = ready(&place, "source", &here(&place, "s2"));
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s2"));
}

#[test]
fn without_a_branch_it_stays_on_the_one_that_is_there() {
    let place = Place::with_source();
    let wanted = Wanted {
        branch: None,
        ..here(&place, "s1")
    };
    assert_eq!(
        ready(&place, "source", &wanted).branch.as_deref(),
        Some("main")
    );
}

#[test]
fn before_the_first_commit() {
    let place = Place::new();
    place.repository("source");
    place.write("source/a.txt", "one");
    let prepared = ready(&place, "source", &here(&place, "s1"));
    assert_eq!(
        (prepared.base, prepared.branch.as_deref()),
        (None, Some("agent/work-s1"))
    );
    assert_eq!(
        place.git("source", &["show", "refs/ralphd/safety/s1:a.txt"]),
        "one"
    );
}

#[test]
fn a_linked_tree_is_the_users_own_as_well() {
    let place = Place::with_source();
    place.git(
        "source",
        &["worktree", "add", "-q", "../linked", "-b", "side"],
    );
    place.write("linked/new.txt", "new");
    let prepared = ready(&place, "linked", &here(&place, "s1"));
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert!(
        place
            .path("source/.git/worktrees/linked/ralphd.lock")
            .exists()
    );
    assert_eq!(
        place.git("source", &["symbolic-ref", "--short", "HEAD"]),
        "main"
    );
    assert_eq!(
        place.git("source", &["show", "refs/ralphd/safety/s1:new.txt"]),
        "new"
    );
    ready(&place, "source", &here(&place, "s2"));
}

#[test]
fn what_is_under_way_is_not_disturbed() {
    for (what, begin) in [
        ("merge", &["merge", "other"][..]),
        ("rebase", &["rebase", "other"]),
        ("cherry-pick", &["cherry-pick", "other"]),
        ("revert", &["revert", "--no-edit", "HEAD~1"]),
        ("bisect", &["bisect", "start"]),
        ("merge", &["stash", "pop"]),
    ] {
        let place = Place::with_source();
        place.git("source", &["checkout", "-q", "-b", "other"]);
        place.commit("source", "a.txt", "theirs\n");
        place.git("source", &["checkout", "-q", "main"]);
        place.write("source/a.txt", "stashed\n");
        place.git("source", &["stash"]);
        place.commit("source", "a.txt", "ours\n");
        place.commit("source", "a.txt", "ours again\n");
        place.try_git("source", begin);
        let before = place.listing("source");
        let told = refused(&place, "source", &here(&place, "s1"));
        assert!(
            told.starts_with(&format!("a {what} is under way in")),
            "{begin:?}: {told}"
        );
        assert_eq!(place.listing("source"), before, "{what}");
    }
}

#[test]
fn places_and_refs_that_are_refused() {
    let place = Place::with_source();
    place.write("source/below/b.txt", "b");
    place.git("source", &["clone", "-q", "--bare", ".", "../bare.git"]);
    let old = place.head("source");
    place.commit("source", "c.txt", "c");
    for (directory, reference, why) in [
        ("source/below", None, "is not the top of a git checkout"),
        ("home", None, "is not the top of a git checkout"),
        ("bare.git", None, "is not the top of a git checkout"),
        (
            "source",
            Some(old.as_str()),
            "in_place works on what is checked out",
        ),
        (
            "source",
            Some("nothing"),
            "in_place works on what is checked out",
        ),
    ] {
        let wanted = Wanted {
            reference: reference.map(str::to_owned),
            ..here(&place, "s1")
        };
        let told = refused(&place, directory, &wanted);
        assert!(told.contains(why), "{directory}: {told}");
        assert!(!place.path("source/.git/ralphd.lock").exists());
    }
    let wanted = Wanted {
        reference: Some("main".to_owned()),
        ..here(&place, "s1")
    };
    ready(&place, "source", &wanted);
    place.git("source", &["checkout", "-q", "main"]);
    ready(&place, "source", &wanted);
    place.commit("source", "d.txt", "d");
    place.git("source", &["checkout", "-q", "main"]);
    let told = refused(&place, "source", &wanted);
    assert!(
        told.contains("is not on the branch agent/work-s1 any more"),
        "{told}"
    );
}
