//! Names of entries: those that are left alone, those that are as long as can be, those that meet again.

use super::{FOR_LATER, reason_for};
use crate::support::{Daemon, Site, wait_for};
use std::ffi::OsStr;
use std::fs;

#[test]
fn hidden_and_unfinished_names_are_left_alone() {
    let site = Site::with_worker("echo TASK_COMPLETE").variable("RALPHD_INBOX__RESCAN", "1s");
    let daemon = Daemon::start(site);
    let names = [
        ".hidden.md",
        "a.md.tmp",
        "a.part",
        ".a.md.swp",
        "a.swp",
        "a.md~",
        "a.crdownload",
        "..strange",
    ];
    for name in names {
        daemon.drop_file(name, "Go.");
    }
    // Later files are taken by news, by settling and by a rescan: each way has passed the others by then.
    daemon.drop_file("news.md", "Go.");
    daemon.ended("news");
    fs::write(daemon.inbox().join("closed.txt"), "Go.").unwrap();
    daemon.ended("closed");
    for name in names {
        assert!(daemon.inbox().join(name).is_file(), "{name}");
    }
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 2);
    fs::rename(
        daemon.inbox().join("a.part"),
        daemon.inbox().join("part.md"),
    )
    .unwrap();
    assert_eq!(daemon.ended("part").status, "completed");
}

#[test]
fn the_longest_names_are_taken_and_answered() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let plain = format!("{}.md", "n".repeat(252));
    let accents = format!("{}.json", "é".repeat(125));
    assert_eq!((plain.len(), accents.len()), (255, 255));
    fs::write(daemon.inbox().join(&plain), "Go.").unwrap();
    fs::write(daemon.inbox().join(&accents), r#"{"objective": "Go."}"#).unwrap();
    for stem in ["n".repeat(252), "é".repeat(125)] {
        let session = daemon.ended(&stem);
        assert_eq!(session.status, "completed");
        let answers = fs::read_dir(daemon.state().join("outbox")).unwrap();
        let ending = format!(".{}.md", session.short_id());
        let names = answers.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.ends_with(&ending)).count(), 1);
    }
    assert_eq!(super::entries(daemon.inbox().join("accepted")), 2);
}

#[test]
fn long_names_that_are_refused_keep_a_reason_each() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let names = ["xx", "xy", "yy"].map(|end| format!("{}{end}", "x".repeat(253)));
    for name in &names {
        fs::write(daemon.inbox().join(name), "Go.").unwrap();
    }
    let rejected = daemon.inbox().join("rejected");
    wait_for("the rejections", || {
        (super::entries(rejected.clone()) == 6).then_some(())
    });
    let found = fs::read_dir(rejected).unwrap();
    let found = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.filter(|name| name.ends_with(".error.txt")).count(), 3);
}

#[test]
fn the_same_name_may_be_refused_again() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    daemon.drop_file("bad.md", "---\nautonomy: 9\n---\nGo.");
    assert!(reason_for(&daemon, OsStr::new("bad.md")).contains("autonomy"));
    daemon.drop_file("bad.md", "---\npriority: high\n---\nGo.");
    assert!(reason_for(&daemon, OsStr::new("bad.md.2")).contains("priority"));
    assert!(reason_for(&daemon, OsStr::new("bad.md")).contains("autonomy"));
}

#[test]
fn a_reason_never_replaces_an_entry() {
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let clash = "---\nautonomy: 9\n---\nMine.";
    daemon.drop_file("a.md.error.txt", clash);
    assert!(reason_for(&daemon, OsStr::new("a.md.error.txt")).contains("autonomy"));
    fs::create_dir(daemon.inbox().join("b.md.error.txt")).unwrap();
    assert!(reason_for(&daemon, OsStr::new("b.md.error.txt")).contains("a directory"));
    for name in ["a.md", "b.md"] {
        daemon.drop_file(name, "---\npriority: high\n---\nGo.");
    }
    daemon.drop_file("good.md", FOR_LATER);
    daemon.in_state("good", "created");
    let rejected = daemon.inbox().join("rejected");
    wait_for("both to be refused", || {
        let names = fs::read_dir(&rejected).unwrap();
        let of_both = names.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            let name = name.to_str().unwrap();
            !name.ends_with(".error.txt") && (name.starts_with("a.md") || name.starts_with("b.md"))
        });
        (of_both.count() == 2).then_some(())
    });
    assert_eq!(
        fs::read_to_string(rejected.join("a.md.error.txt")).unwrap(),
        clash
    );
    daemon.terminate();
    daemon.restart();
    assert!(daemon.is_running());
}
