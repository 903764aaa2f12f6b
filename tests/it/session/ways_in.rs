//! Requests that do not come through the inbox, and requests that come twice.

use crate::support::{Daemon, Site, wait_for};
use std::process::Command;

fn insert(daemon: &Daemon, body: &str) {
    let sql = format!(
        "INSERT INTO requests(body) VALUES('{}')",
        body.replace('\'', "''")
    );
    let status = Command::new("sqlite3")
        .arg("-cmd")
        .arg(".timeout 30000")
        .arg(daemon.state().join("ralphd.db"))
        .arg(sql)
        .status()
        .unwrap();
    assert!(status.success());
}

/// Whoever inserts a row does not insert another one only to have the first looked at again.
#[test]
fn a_row_that_could_not_be_taken_is_tried_again() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let jam = "CREATE TRIGGER jam BEFORE INSERT ON sessions WHEN unixepoch() < (SELECT max(inserted_at_ms) / 1000 + 2 FROM requests)
        BEGIN SELECT RAISE(ABORT, 'jammed'); END; INSERT INTO requests(body) VALUES('Go.')";
    let sql = rusqlite::Connection::open(daemon.state().join("ralphd.db")).unwrap();
    sql.busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    sql.execute_batch(jam).unwrap();
    let taken = "SELECT session_id FROM requests WHERE session_id IS NOT NULL";
    let id: String = wait_for("the row to be taken", || daemon.cell(taken, []));
    assert!(daemon.log().contains("jammed"));
    assert_eq!(daemon.ended(&id).status, "completed");
}

#[test]
fn rows_inserted_by_sqlite3_become_sessions() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    insert(
        &daemon,
        "---\nmax_iterations: 3\n---\nCount the row's columns.",
    );
    insert(
        &daemon,
        r#"{"objective": "Count the rows", "max_iterations": 2}"#,
    );
    insert(&daemon, "---\nmax_iteration: 3\n---\nGo.");
    insert(&daemon, "   ");
    wait_for("all rows to be taken", || {
        let left = daemon.cell::<i64>(
            "SELECT count(*) FROM requests WHERE taken_at_ms IS NULL",
            [],
        )?;
        (left == 0).then_some(())
    });
    let sessions: Vec<String> = daemon.column(
        "SELECT session_id FROM requests WHERE error IS NULL ORDER BY id",
        [],
    );
    assert_eq!(sessions.len(), 2);
    for (id, max_iterations) in sessions.iter().zip([3, 2]) {
        assert_eq!(daemon.ended(id).status, "completed");
        let sql = "SELECT max_iterations FROM sessions WHERE id = ?1";
        assert_eq!(daemon.cell::<i64>(sql, [id]), Some(max_iterations));
    }
    let errors: Vec<String> = daemon.column(
        "SELECT error FROM requests WHERE session_id IS NULL ORDER BY id",
        [],
    );
    assert_eq!(errors.len(), 2);
    assert!(
        errors[0].contains("line 2") && errors[0].contains("max_iterations"),
        "{errors:?}"
    );
    assert!(
        errors[1].contains("objective") || errors[1].contains("empty"),
        "{errors:?}"
    );
}

#[test]
fn the_same_idempotency_key_twice_makes_one_session() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let text = "---\nidempotency_key: night-7\n---\nGo.";
    daemon.drop_file("one.md", text);
    let session = daemon.ended("one");
    daemon.drop_file("two.md", text);
    let kept = format!("accepted/{}.two.md", session.id);
    wait_for("the second file to be taken", || {
        daemon.inbox().join(&kept).is_file().then_some(())
    });
    let ran = daemon.ralphd(&[
        "submit",
        "--objective",
        "Go.",
        "--idempotency-key",
        "night-7",
    ]);
    assert!(ran.stderr.contains("submitted before"), "{ran:?}");
    assert_eq!(ran.done().trim(), session.id);
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);
    assert_eq!(daemon.runs("worker"), 1);
}
