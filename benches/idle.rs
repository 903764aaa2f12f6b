//! What the daemon costs while nothing happens, with an empty and with a long history; and how loud agents weigh on it.

mod support;

use std::path::Path;
use std::time::Duration;
use support::daemon::{self, Daemon};
use support::{bound, fill, millis, place};

const QUIET: Duration = Duration::from_secs(20);
/// Connections, caches, first looks and the threads that made them belong to the start.
const SETTLE: Duration = Duration::from_secs(12);
const HISTORY: usize = 100_000;
const LOUD_AGENTS: usize = 4;
const MAX_MEMORY_MIB: f64 = 15.0;
const MAX_WAKES_PER_SECOND: f64 = 2.0;
const MAX_PROCESSOR_PERCENT: f64 = 0.1;
const MAX_READY_MS: f64 = 100.0;
const MAX_GROWTH_MIB: f64 = 8.0;
/// 50 MB of lines where the request is for them, then the promise.
const LOUD: &str = "#!/bin/sh\n! grep -q loud || yes 'a line of output such as agents print all day long' | head -c 50000000\nprintf '\\nTASK_COMPLETE\\n'\n";

fn main() {
    empty();
    with_history();
    with_loud_agents();
}

fn empty() {
    let place = place();
    let daemon = Daemon::start(
        &place.path().join("state"),
        &daemon::configuration(&["true"]),
    );
    watch(&daemon, "no sessions");
}

fn with_history() {
    let place = place();
    let state = place.path().join("state");
    let configuration = daemon::configuration(&["true"]);
    // The first start makes the database.
    drop(Daemon::start(&state, &configuration));
    fill::ended(&state, HISTORY);
    let daemon = Daemon::start(&state, &configuration);
    bound(
        "idle: ready with 100 k ended sessions",
        millis(daemon.ready_after),
        "ms",
        MAX_READY_MS,
    );
    watch(&daemon, "100 k ended sessions");
}

fn watch(daemon: &Daemon, what: &str) {
    std::thread::sleep(SETTLE);
    let before = daemon.activity();
    std::thread::sleep(QUIET);
    let (wakes, running) = daemon.activity().since(&before);
    let wakes = wakes / QUIET.as_secs_f64();
    let busy = running.as_secs_f64() / QUIET.as_secs_f64() * 100.0;
    bound(
        &format!("idle: memory, {what}"),
        daemon.memory_kib("VmRSS:") / 1024.0,
        "MiB",
        MAX_MEMORY_MIB,
    );
    bound(
        &format!("idle: wake-ups, {what}"),
        wakes,
        "/s",
        MAX_WAKES_PER_SECOND,
    );
    bound(
        &format!("idle: processor, {what}"),
        busy,
        "%",
        MAX_PROCESSOR_PERCENT,
    );
}

fn with_loud_agents() {
    let place = place();
    let daemon = loud(place.path());
    std::thread::sleep(SETTLE);
    // The first session brings the code in that an idle daemon has given back: what it weighs is not the loud ones' doing.
    daemon.drop_request("quiet.md", "Be quiet.\n");
    daemon.wait_for_answers(1);
    let before = daemon.memory_kib("VmRSS:");
    daemon.forget_peak();
    for number in 0..LOUD_AGENTS {
        daemon.drop_request(&format!("loud-{number}.md"), "Be loud.\n");
    }
    daemon.wait_for_answers(1 + LOUD_AGENTS);
    let growth = (daemon.memory_kib("VmHWM:") - before) / 1024.0;
    bound(
        "idle: growth under 4 agents of 50 MB",
        growth,
        "MiB",
        MAX_GROWTH_MIB,
    );
}

fn loud(place: &Path) -> Daemon {
    let agent = support::script(place.join("agent"), LOUD);
    Daemon::start(
        &place.join("state"),
        &daemon::configuration(&[&agent.to_string_lossy()]),
    )
}
