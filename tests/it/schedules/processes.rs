//! Several processes that tick the same moments at once: one session each.

use super::*;
use crate::support::wait_for;
use std::process::{Child, Command};

const STATE: &str = "RALPHD_TEST_TICKING_STATE";
const PROCESSES: usize = 4;
const TICKS: i64 = 25;

fn config() -> String {
    // All of them start: what is open does not keep the next one from being made.
    schedule("minutely", "* * * * *", "overlap = 'queue'")
}

fn start() -> i64 {
    at("2026-11-16T12:00:00Z")
}

/// Not a test by itself: one of the processes of the test below.
#[test]
#[ignore = "is started by the test below"]
fn one_that_ticks() {
    let state = PathBuf::from(std::env::var_os(STATE).unwrap());
    let clockwork = Clockwork::open(&state, &config());
    std::fs::write(state.join(format!("ready.{}", std::process::id())), "").unwrap();
    wait_for("the others", || state.join("go").exists().then_some(()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for minute in 1..=TICKS {
            clockwork.look(start() + minute * MINUTE).await;
        }
    });
}

fn spawn(state: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "schedules::processes::one_that_ticks",
        ])
        .env(STATE, state)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_tick_of_several_processes_is_one_session() {
    let state = tempfile::tempdir().unwrap();
    let clockwork = Clockwork::open(state.path(), &config());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(clockwork.look(start()));
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| spawn(state.path())).collect();
    wait_for("all processes to be ready", || {
        let entries = std::fs::read_dir(state.path()).unwrap().flatten();
        let ready =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("ready."));
        (ready.count() == PROCESSES).then_some(())
    });
    std::fs::write(state.path().join("go"), "").unwrap();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let ticks = clockwork.ticks("minutely");
    assert_eq!(ticks.len() as i64, TICKS);
    assert!(ticks.iter().all(|(_, outcome, ..)| outcome == "started"));
    assert_eq!(clockwork.count("SELECT count(*) FROM sessions"), TICKS);
}
