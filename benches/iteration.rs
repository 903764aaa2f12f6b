//! What the loop adds to an agent: the same script by `ralphd run`, by the daemon, and by a bare shell loop.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::daemon::{self, Daemon};
use support::{bound, millis, note, place, script};

const ITERATIONS: u32 = 300;
/// More than this is felt with agents that answer at once.
const MAX_OVER_SHELL_MS: f64 = 5.0;
/// Each is measured so often, in turns, and the best of each counts.
const ROUNDS: usize = 4;
/// Says something new each time, so that the loop does not take it for stagnation.
const AGENT: &str = "#!/bin/sh\n[ -e count ] && read -r n < count\nn=$((n + 1))\necho \"$n\" > count\necho \"step $n\"\n";

fn main() {
    let mut best = [Duration::MAX; 3];
    // Kept to the end: for minutes after files were deleted, ext4 looks at each of them whenever one is made.
    let mut places = Vec::new();
    for _ in 0..ROUNDS {
        for (best, way) in best.iter_mut().zip([by_shell, by_run, by_daemon]) {
            let place = place();
            *best = way(place.path()).min(*best);
            places.push(place);
        }
    }
    let each = best.map(|time| millis(time) / f64::from(ITERATIONS));
    note("iteration: bare shell loop", &format!("{:.3} ms", each[0]));
    note("iteration: ralphd run", &format!("{:.3} ms", each[1]));
    note("iteration: ralphd serve", &format!("{:.3} ms", each[2]));
    bound(
        "iteration: run over the shell loop",
        each[1] - each[0],
        "ms",
        MAX_OVER_SHELL_MS,
    );
    bound(
        "iteration: serve over the shell loop",
        each[2] - each[0],
        "ms",
        MAX_OVER_SHELL_MS,
    );
}

fn by_shell(place: &Path) -> Duration {
    let agent = script(place.join("agent"), AGENT);
    std::fs::write(place.join("PROMPT"), "Do the next step.\n").expect("write the prompt");
    let text = format!(
        "i=0; while [ $i -lt {ITERATIONS} ]; do cat PROMPT | {} > out; grep -q '^TASK_COMPLETE$' out && break; i=$((i + 1)); done",
        agent.display()
    );
    let started = Instant::now();
    let status = Command::new("sh")
        .args(["-c", &text])
        .current_dir(place)
        .status();
    assert!(status.is_ok(), "{status:?}");
    started.elapsed()
}

fn configuration(place: &Path) -> String {
    let agent = script(place.join("agent"), AGENT);
    daemon::configuration(&[&agent.to_string_lossy()])
}

fn by_run(place: &Path) -> Duration {
    let state = place.join("state");
    let started = Instant::now();
    let status = daemon::command(&state, &configuration(place))
        .args(["--quiet", "run", "--max-iterations"])
        .arg(ITERATIONS.to_string())
        .arg("Do the next step.")
        .stderr(Stdio::null())
        .status()
        .expect("ralphd run");
    let elapsed = started.elapsed();
    assert_eq!(status.code(), Some(4), "the iteration limit ends it");
    elapsed
}

fn by_daemon(place: &Path) -> Duration {
    let daemon = Daemon::start(&place.join("state"), &configuration(place));
    let started = Instant::now();
    daemon.drop_request(
        "step.md",
        &format!("---\nmax_iterations: {ITERATIONS}\n---\nDo the next step.\n"),
    );
    daemon.wait_for_answers(1);
    started.elapsed()
}
