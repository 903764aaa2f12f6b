//! The disk is full in the middle of the night: nothing accepted is lost, nothing is called done that is not, and all of it goes on by itself
//! once there is room.

use crate::support::{Daemon, Site, wait_for};

const FULL: &str = "database or disk is full";

#[test]
fn a_full_disk_delays_and_loses_nothing() {
    let worker = "touch \"$HERE/begun\"; while [ ! -e \"$HERE/go\" ]; do sleep 0.02; done
        echo 'All of it.'; echo TASK_COMPLETE";
    let site = Site::with_worker(worker)
        .configure(
            "[queue]\nlease = \"1s\"\nheartbeat = \"200ms\"\n[workspaces]\nmin_free_bytes = 0\n",
        )
        .variable("RALPHD_INBOX__RESCAN", "200ms");
    let Some(site) = site.with_small_state(16) else {
        println!("SKIPPED: a full disk: only root may mount one");
        return;
    };
    let mut daemon = Daemon::start(site);
    daemon.drop_file("early.md", "Go.");
    wait_for("the agent", || daemon.file("begun").exists().then_some(()));
    let late = daemon.state().join("late");
    std::fs::write(&late, "Go on.").unwrap();
    daemon.disk().fill();
    std::fs::rename(late, daemon.inbox().join("late.md")).unwrap();
    let inbox = "cannot be worked on: cannot write to the database";
    wait_for("the inbox to be stuck", || {
        daemon.log().contains(inbox).then_some(())
    });
    std::fs::write(daemon.file("go"), "").unwrap();
    wait_for("the turn to be left for later", || {
        let left = format!("left for later: cannot write to the database: {FULL}");
        daemon.log().contains(&left).then_some(())
    });
    assert_eq!(
        daemon.count("SELECT count(*) FROM sessions WHERE ended_at_ms IS NOT NULL"),
        0
    );
    daemon.disk().make_room();
    for name in ["early", "late"] {
        let session = daemon.ended(name);
        assert_eq!(session.ending(), ("completed", "completed"), "{name}");
        assert_eq!(session.answer(), "All of it.", "{name}");
        assert_eq!(session.iteration_count, 1, "{name}");
    }
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 2);
    assert!(daemon.is_running(), "it was never restarted");
}
