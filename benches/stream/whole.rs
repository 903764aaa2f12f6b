//! A long stream through the whole daemon: agent, shim, log file, reader. How its memory grows, and what it costs of a processor.

use crate::long::{self, Tool};
use crate::support::daemon::{self, Daemon};
use crate::support::{self, Target, bound, figure, place};
use std::time::{Duration, Instant};

/// Connections, caches and first looks belong to the start.
const SETTLE: Duration = Duration::from_secs(2);
const MAX_GROWTH_MIB: f64 = 8.0;
const LEAST_RATE: f64 = 300.0;

/// Once with room for all of the stream, and once with the usual cap.
pub fn measure() {
    for tool in &long::TOOLS {
        run(tool, "all kept", "output_cap_bytes = 268435456\n");
        run(tool, "capped", "");
    }
}

fn run(tool: &Tool, what: &str, process: &str) {
    let place = place();
    let stream = place.path().join("stream");
    let bytes = long::write(tool, &stream);
    let script = format!(
        "#!/bin/sh\n! grep -q Talk || exec cat {}\n",
        stream.display()
    );
    let agent = support::script(place.path().join("agent"), &script);
    let configuration = format!(
        "{}output = \"{}\"\n[process]\n{process}",
        daemon::configuration(&[&agent.to_string_lossy()]),
        tool.name
    );
    let daemon = Daemon::start(&place.path().join("state"), &configuration);
    std::thread::sleep(SETTLE);
    // An idle daemon has given its code back; a silent turn brings it in again, which is not the stream's doing.
    daemon.drop_request("silent.md", "---\nmax_iterations: 1\n---\nSay nothing.\n");
    daemon.wait_for_answers(1);
    let idle_kib = daemon.memory_kib("VmRSS:");
    let before = daemon.activity();
    daemon.forget_peak();
    let started = Instant::now();
    daemon.drop_request("long.md", "---\nmax_iterations: 1\n---\nTalk.\n");
    daemon.wait_for_answers(2);
    let took = started.elapsed();
    let growth = (daemon.memory_kib("VmHWM:") - idle_kib) / 1024.0;
    let (_, busy) = daemon.activity().since(&before);
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let name = format!("stream: 200 MB of {}, {what}", tool.name);
    bound(&format!("{name}: growth"), growth, "MiB", MAX_GROWTH_MIB);
    // Under the cap the reader misses what such a fast agent says in the middle: no rate of its own.
    if !process.is_empty() {
        figure(
            &format!("{name}: a core"),
            &format!("{:.0} MB/s", rate(busy)),
            &format!("{LEAST_RATE} MB/s"),
            rate(busy) / LEAST_RATE,
            Target::AtLeast(1.0),
        );
    }
    support::note(
        &format!("{name}: request to answer"),
        &format!("{:.0} MB/s", rate(took)),
    );
    assert!(completed(&daemon), "{name}: the last words were not heard");
}

fn completed(daemon: &Daemon) -> bool {
    let outbox = std::fs::read_dir(daemon.state.join("outbox")).expect("list the outbox");
    outbox
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .any(|text| text.contains("completed"))
}
