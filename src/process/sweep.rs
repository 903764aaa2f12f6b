//! Ends what a turn left behind whose shim died without doing it. It must touch only what carries the turn's mark,
//! and never the caller.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::cgroup::Cgroup;
use super::tree;

const SWEEP_MAX: Duration = Duration::from_secs(10);
const SWEEP_PAUSE: Duration = Duration::from_millis(2);

/// Kills every process of the turn `turn_mark` (the file name of its record), by its environment and its control
/// group, and waits until they are gone; returns how many there were. It blocks for some milliseconds.
///
/// A process that was started with a cleaned environment, outside any marked process, is not found this way.
pub fn sweep(turn_mark: &str) -> usize {
    let killed = kill_marked(turn_mark);
    if let Some(cgroup) = Cgroup::find(turn_mark) {
        cgroup.remove();
    }
    killed
}

/// The same for an async caller, whose other work goes on meanwhile.
pub async fn sweep_aside(turn_mark: String) -> usize {
    // It ends only by a panic in `sweep` or with the runtime; either way there is nothing more to wait for.
    tokio::task::spawn_blocking(move || sweep(&turn_mark))
        .await
        .unwrap_or_default()
}

fn kill_marked(turn_mark: &str) -> usize {
    let until = Instant::now() + SWEEP_MAX;
    let mut killed = HashSet::new();
    loop {
        let found = tree::marked(turn_mark);
        if found.is_empty() || Instant::now() >= until {
            return killed.len();
        }
        for member in &found {
            if tree::signal(member, Signal::KILL) {
                killed.insert(member.identity());
            }
        }
        std::thread::sleep(SWEEP_PAUSE);
    }
}
