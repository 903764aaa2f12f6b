//! The daemon killed again and again in the middle of parallel work with merges and a conflict: every commit stays named, every lock is opened,
//! every tree is taken away.

use super::parallel::{WORKER, assert_no_trees, request};
use super::{assert_sound, branch_of, git, repository};
use crate::support::{Daemon, Site, wait_for};
use std::time::Duration;

/// Overrides how often the daemon is killed: `RALPHD_TEST_KILLS=200 cargo test repositories::storm`.
const KILLS_VARIABLE: &str = "RALPHD_TEST_KILLS";
const KILLS: usize = 12;
/// So many kills fall upon one session.
const KILLS_OF_SESSION: usize = 6;

const RESOLVES: &str = "sleep 0.05; printf 'one\\ntwo\\n' >shared.txt; echo 'kept both'; exit";

const WORKFLOW: &str = r#"
[[tasks]]
order = 1
type = "agent"
description = "DO echo one >shared.txt; sleep 0.1; echo 1 >a.txt THEN STOP"

[[tasks]]
order = 2
type = "agent"
description = "DO echo two >shared.txt; sleep 0.1; echo 2 >b.txt THEN STOP"

[[tasks]]
order = 3
type = "merge"
description = "Bring both together"
depends_on = [1, 2]

[[tasks]]
order = 4
type = "agent"
description = "DO cat a.txt b.txt >both.txt; sleep 0.1 THEN STOP"
depends_on = 3
"#;

fn kills() -> usize {
    let given = std::env::var(KILLS_VARIABLE).ok();
    given.map_or(KILLS, |text| {
        text.parse().expect("RALPHD_TEST_KILLS is a number")
    })
}

#[test]
fn nothing_is_lost_stuck_or_left_through_a_storm_of_kills() {
    let site = Site::with_worker(&WORKER.replace("MERGER", RESOLVES))
        .configure("[queue]\nmax_parallel = 8\nlease = \"1s\"\nheartbeat = \"200ms\"\n");
    repository(&site, "repo", &[("shared.txt", "start\n")]);
    std::fs::create_dir(site.file("workflows")).unwrap();
    std::fs::write(site.file("workflows/three.toml"), WORKFLOW).unwrap();
    let mut daemon = Daemon::start(site);
    let mut names = Vec::new();
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    for number in 0..kills() {
        if number % KILLS_OF_SESSION == 0 {
            names.push(format!("storm{number}"));
            let name = format!("{}.md", names[names.len() - 1]);
            daemon.drop_file(&name, &request(&daemon, ""));
        }
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        // The moment of the kill is the input of this test, not a way to wait for anything.
        std::thread::sleep(Duration::from_millis(10 + seed % 390));
        daemon.kill9();
        daemon.spawn_again();
    }
    daemon.wait_until_ready();
    // One after the other, in whatever order: many of them take longer than anybody would wait for one.
    for number in 1..=names.len() as i64 {
        wait_for(&format!("the end of {number} sessions"), || {
            let ended = "SELECT count(*) FROM sessions WHERE ended_at_ms IS NOT NULL";
            (daemon.count(ended) >= number).then_some(())
        });
    }
    for name in &names {
        let session = daemon.ended(name);
        assert_eq!(session.ending(), ("completed", "completed"), "{session:?}");
        let (place, working) = (&session.workspace, branch_of(&session));
        let show = |file: &str| git(place, &["show", &format!("{working}:{file}")]);
        assert_eq!(show("shared.txt"), "one\ntwo");
        assert_eq!(show("both.txt"), "1\n2");
        assert_eq!(git(place, &["status", "--porcelain"]), "");
        assert_no_trees(&daemon, &session);
        assert_sound(place);
    }
}
