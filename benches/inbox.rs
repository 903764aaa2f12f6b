//! From the rename into the inbox to the agent's first instruction, one request at a time on an idle daemon.
//! The agent is this very program: it writes down the clock and says the promise.

mod support;

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use support::daemon::{self, Daemon};
use support::{bound, millis, percentile, place, wait_for};

const SAMPLES: usize = 200;
const MAX_P50_MS: f64 = 10.0;
const MAX_P99_MS: f64 = 30.0;
/// The daemon has written its answer down and sleeps again.
const PAUSE: Duration = Duration::from_millis(50);
const AS_AGENT: &str = "--as-agent";

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let Some(position) = words.iter().position(|word| word == AS_AGENT) {
        return act_as_agent(&words[position + 1]);
    }
    let place = place();
    let (own, seen) = (
        std::env::current_exe().expect("this program"),
        place.path().join("seen"),
    );
    let command = [&own.to_string_lossy(), AS_AGENT, &seen.to_string_lossy()];
    let daemon = Daemon::start(
        &place.path().join("state"),
        &daemon::configuration(&command),
    );
    let mut samples = Vec::with_capacity(SAMPLES);
    for number in 1..=SAMPLES {
        let dropped = now();
        daemon.drop_request(&format!("{number}.md"), "Say when you start.\n");
        let started = wait_for("the agent", || {
            std::fs::read_to_string(&seen).ok()?.parse().ok()
        });
        std::fs::remove_file(&seen).expect("make room for the next");
        samples.push(Duration::from_nanos(u64::saturating_sub(started, dropped)));
        daemon.wait_for_answers(number);
        std::thread::sleep(PAUSE);
    }
    bound(
        "inbox: rename to first instruction, p50",
        millis(percentile(&mut samples, 0.5)),
        "ms",
        MAX_P50_MS,
    );
    bound(
        "inbox: rename to first instruction, p99",
        millis(percentile(&mut samples, 0.99)),
        "ms",
        MAX_P99_MS,
    );
}

/// The clock that all processes share, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn act_as_agent(seen: &str) {
    let started = now();
    let draft = format!("{seen}.draft");
    std::fs::write(&draft, started.to_string()).expect("write the time down");
    std::fs::rename(&draft, seen).expect("show it whole");
    println!("TASK_COMPLETE");
}
