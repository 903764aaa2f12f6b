//! When a file counts as whole, and that it becomes a session once.

use super::{FOR_LATER, entries};
use crate::support::{Daemon, Site, wait_for};
use std::fs::{self, File};
use std::io::Write;

/// A file dropped now has been taken: everything that was whole before it has been looked at.
fn witness(daemon: &Daemon, number: usize) {
    let name = format!("witness{number}");
    daemon.drop_file(&format!("{name}.md"), FOR_LATER);
    daemon.in_state(&name, "created");
}

#[test]
fn a_file_that_is_being_written_is_left_until_it_is_closed() {
    let site = Site::with_worker("echo TASK_COMPLETE").variable("RALPHD_INBOX__SETTLE", "1h");
    let daemon = Daemon::start(site);
    let path = daemon.inbox().join("slow.md");
    let mut file = File::create(&path).unwrap();
    witness(&daemon, 0);
    for (number, piece) in ["---\n", "max_iterations: 7\n---\n", "Go", " on."]
        .iter()
        .enumerate()
    {
        file.write_all(piece.as_bytes()).unwrap();
        file.sync_all().unwrap();
        witness(&daemon, number + 1);
        assert!(path.is_file(), "taken after {piece:?}");
    }
    drop(file);
    daemon.ended("slow");
    let sql = "SELECT objective || max_iterations FROM sessions WHERE origin = 'slow'";
    assert_eq!(daemon.cell::<String>(sql, []).unwrap(), "Go on.7");
}

#[test]
fn a_file_that_stays_open_is_taken_once_it_has_settled() {
    let site = Site::with_worker("echo TASK_COMPLETE").variable("RALPHD_INBOX__SETTLE", "300ms");
    let daemon = Daemon::start(site);
    let mut file = File::create(daemon.inbox().join("open.md")).unwrap();
    file.write_all(b"Go.").unwrap();
    file.sync_all().unwrap();
    assert_eq!(daemon.ended("open").status, "completed");
    drop(file);
}

#[test]
fn files_that_are_there_at_the_start_are_taken() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    site.drop_file("early.md", "Go.");
    site.drop_file("broken.json", "{");
    let daemon = Daemon::start(site);
    assert_eq!(daemon.ended("early").status, "completed");
    super::reason_for(&daemon, "broken.json".as_ref());
}

#[test]
fn another_inbox_has_its_own_defaults() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    let second = site.file("second");
    let text = format!(
        "[[inboxes]]\npath = \"{}\"\ndefaults = {{ max_iterations = 2, priority = 5 }}\n",
        second.display()
    );
    let daemon = Daemon::start(site.configure(&text));
    fs::write(second.join("plain.md"), "Go.").unwrap();
    fs::write(second.join("own.md"), "---\nmax_iterations: 3\n---\nGo.").unwrap();
    fs::write(second.join("bad.md"), "---\nautonomy: 9\n---\nGo.").unwrap();
    daemon.drop_file("first.md", "Go.");
    for (name, limits) in [("plain", "2 5"), ("own", "3 5"), ("first", "10 0")] {
        let session = daemon.ended(name);
        let sql = "SELECT s.max_iterations || ' ' || t.priority FROM sessions s JOIN tasks t ON t.session_id = s.id WHERE s.id = ?1";
        assert_eq!(
            daemon.cell::<String>(sql, [&session.id]).unwrap(),
            limits,
            "{name}"
        );
    }
    assert_eq!(entries(second.join("accepted")), 2);
    let note = second.join("rejected/bad.md.error.txt");
    wait_for("the reason", || note.is_file().then_some(()));
}

#[test]
fn what_could_not_be_put_away_is_once_it_can_be() {
    let site = Site::with_worker("echo TASK_COMPLETE").variable("RALPHD_INBOX__RESCAN", "100ms");
    let daemon = Daemon::start(site);
    let accepted = daemon.inbox().join("accepted");
    fs::remove_dir(&accepted).unwrap();
    fs::write(&accepted, "").unwrap();
    prepare(&daemon, 3);
    drop_all(&daemon, 3);
    for name in ["n0", "n1", "n2"] {
        daemon.in_state(name, "created");
    }
    fs::remove_file(&accepted).unwrap();
    fs::create_dir(&accepted).unwrap();
    assert_taken_once_each(&daemon, 3);
    assert_eq!(entries(daemon.inbox().join(".taken")), 0);
}

/// Requests that lie ready, to be renamed in together.
fn prepare(site: &Site, count: usize) {
    fs::create_dir(site.file("ready")).unwrap();
    for number in 0..count {
        fs::write(site.file(&format!("ready/n{number}.md")), FOR_LATER).unwrap();
    }
}

fn drop_all(site: &Site, count: usize) {
    for number in 0..count {
        let name = format!("n{number}.md");
        fs::rename(site.file("ready").join(&name), site.inbox().join(&name)).unwrap();
    }
}

fn assert_taken_once_each(daemon: &Daemon, count: usize) {
    let accepted = daemon.inbox().join("accepted");
    wait_for("all files to be accepted", || {
        (entries(accepted.clone()) >= count).then_some(())
    });
    let expected = i64::try_from(count).unwrap();
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), expected);
    assert_eq!(
        daemon.count("SELECT count(DISTINCT origin) FROM sessions"),
        expected
    );
    assert_eq!(
        daemon.count("SELECT count(*) FROM tasks WHERE status = 'pending'"),
        expected
    );
    for id in daemon.column::<String>("SELECT id FROM sessions", []) {
        let origin: String = daemon
            .cell("SELECT origin FROM sessions WHERE id = ?1", [&id])
            .unwrap();
        assert!(
            accepted.join(format!("{id}.{origin}.md")).is_file(),
            "{origin}"
        );
    }
    assert_eq!(entries(accepted), count);
    assert_eq!(entries(daemon.inbox().join(".taken")), 0);
    assert_eq!(entries(daemon.inbox().join("rejected")), 0);
}

#[test]
fn two_thousand_files_at_once() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    prepare(&daemon, 2000);
    drop_all(&daemon, 2000);
    assert_taken_once_each(&daemon, 2000);
}

#[test]
fn killed_while_it_takes_three_hundred_files() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    prepare(&site, 300);
    let mut daemon = Daemon::start(site);
    drop_all(&daemon, 300);
    for step in 0..8 {
        wait_for("some more files to be taken", || {
            let sessions = daemon.count("SELECT count(*) FROM sessions");
            (sessions > step * 35).then_some(())
        });
        daemon.kill9();
        daemon.spawn_again();
    }
    daemon.wait_until_ready();
    assert_taken_once_each(&daemon, 300);
}
