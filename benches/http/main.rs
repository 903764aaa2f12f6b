//! The HTTP API of the real daemon: durable submissions beside a bare hyper server with group commit, how long they take at half that
//! load, and what a thousand slow clients and a thousand watchers of events cost.

#[path = "../support/mod.rs"]
mod support;

mod client;
mod raw;
mod watchers;

use client::{Load, slow_connections};
use std::net::SocketAddr;
use std::time::Duration;
use support::daemon::{Daemon, configuration};
use support::{Target, bound, figure, millis, note, place};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 400;
const SHARE_OF_RAW: f64 = 0.4;
const MAX_P99_MS: f64 = 25.0;
const SLOW: usize = 1_000;
const MAX_P99_BESIDE_SLOW_MS: f64 = 250.0;
const MAX_GROWTH_MIB: f64 = 32.0;
const WATCHERS: usize = 1_000;
const MAX_LAST_WATCHER_MS: f64 = 100.0;
/// A request that is on disk and waits: what is measured is the taking, not the work.
const BODY: &str = r#"{"objective":"Refactor the module so that its tests pass, then write down what was changed and why.","not_before":"2099-01-01T00:00:00Z"}"#;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(raw::ARGUMENT) {
        return raw::serve();
    }
    let place = place();
    let daemon = Daemon::start(&place.path().join("state"), &configuration(&["true"]));
    let address = address_of(&daemon);
    let raw = raw::Server::start();
    let reached = throughput(address, raw.address);
    latency(address, raw.address, reached / 2.0);
    drop(raw);
    beside_slow_clients(&daemon, address);
    watched(&daemon, address);
}

fn address_of(daemon: &Daemon) -> SocketAddr {
    let text = std::fs::read_to_string(daemon.state.join("ralphd.http")).expect("where it listens");
    text.trim().parse().expect("an address")
}

/// Alternating, so that a busy moment of the machine meets both.
fn throughput(address: SocketAddr, raw: SocketAddr) -> f64 {
    let (mut ours, mut limit): (f64, f64) = (0.0, 0.0);
    for _ in 0..3 {
        limit = limit.max(Load::new(raw, "/", BODY).as_fast_as_possible(CONNECTIONS, CALLS_EACH));
        ours = ours.max(
            Load::new(address, "/v1/sessions", BODY).as_fast_as_possible(CONNECTIONS, CALLS_EACH),
        );
    }
    figure(
        "http: durable submissions, 64 connections",
        &format!("{ours:.0}/s"),
        &format!("{limit:.0}/s"),
        ours / limit,
        Target::AtLeast(SHARE_OF_RAW),
    );
    ours
}

fn latency(address: SocketAddr, raw: SocketAddr, per_second: f64) {
    let load = |address, path| {
        let span = Duration::from_secs(5);
        Load::new(address, path, BODY).at_rate(CONNECTIONS, per_second, span)
    };
    // What the disk and the machine give at this load, whoever asks.
    let limit = load(raw, "/");
    note(
        "http: p99 at half that load, raw",
        &format!("{:.2} ms", millis(limit.p99)),
    );
    let times = load(address, "/v1/sessions");
    note(
        "http: p50 at half that load",
        &format!("{:.2} ms", millis(times.p50)),
    );
    bound(
        "http: p99 at half that load",
        millis(times.p99),
        "ms",
        MAX_P99_MS,
    );
}

fn beside_slow_clients(daemon: &Daemon, address: SocketAddr) {
    daemon.forget_peak();
    let before = daemon.memory_kib("VmRSS:");
    let slow = slow_connections(address, SLOW);
    let times = Load::new(address, "/v1/sessions", BODY).at_rate(8, 500.0, Duration::from_secs(5));
    let grown = (daemon.memory_kib("VmHWM:") - before) / 1024.0;
    drop(slow);
    bound(
        "http: p99 beside 1,000 slow clients",
        millis(times.p99),
        "ms",
        MAX_P99_BESIDE_SLOW_MS,
    );
    bound(
        "http: memory for 1,000 slow clients",
        grown,
        "MiB",
        MAX_GROWTH_MIB,
    );
}

fn watched(daemon: &Daemon, address: SocketAddr) {
    daemon.forget_peak();
    let before = daemon.memory_kib("VmRSS:");
    let last = watchers::last_of(address, WATCHERS, BODY);
    let grown = (daemon.memory_kib("VmHWM:") - before) / 1024.0;
    bound(
        "http: an event to the last of 1,000 watchers",
        millis(last),
        "ms",
        MAX_LAST_WATCHER_MS,
    );
    bound(
        "http: memory for 1,000 watchers",
        grown,
        "MiB",
        MAX_GROWTH_MIB,
    );
}
