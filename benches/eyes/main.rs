//! What it costs to look: `/metrics`, the digest, the statistics and the dashboard, with 100,000 sessions in the database.

#[path = "../support/mod.rs"]
mod support;

mod dashboard;

use ralphd::report::digest::{Digest, Paper};
use ralphd::report::stats::Stats;
use ralphd::store::Store;
use ralphd::store::review::Span;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use support::daemon::{Daemon, configuration};
use support::{bound, fill, millis, note, percentile, place};

const SESSIONS: usize = 100_000;
const LOOKS: usize = 100;
/// The time of the first session that `fill` makes.
const FIRST_MS: i64 = 1_700_000_000_000;
/// A night has so many ends at most.
const OF_ONE_NIGHT: i64 = 1_000;

fn main() {
    metrics("ended", fill::ended);
    metrics("pending", fill::pending);
    digest();
    dashboard::first_page("ended", fill::ended);
    dashboard::first_page("pending", fill::pending);
    dashboard::long_session();
    dashboard::many_open();
}

fn metrics(kind: &str, fill: fn(&Path, usize)) {
    let place = place();
    let state = filled(place.path(), fill);
    // Nothing is claimed: a backlog stays one while it is looked at.
    let paused = "[queue]\nmax_parallel = 1\n";
    let agent = configuration(&["sleep", "1000"]);
    let daemon = Daemon::start(&state, &format!("{agent}{paused}"));
    let address = std::fs::read_to_string(state.join("ralphd.http")).expect("an address");
    let scrape = || get(&address, "/metrics");
    let (first, page) = scrape();
    note(
        &format!("/metrics, {SESSIONS} {kind}, first look"),
        &format!("{:.3} ms, {} bytes", millis(first), page.len()),
    );
    let mut times: Vec<Duration> = (0..LOOKS).map(|_| scrape().0).collect();
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let time = millis(percentile(&mut times, share));
        bound(
            &format!("/metrics, {SESSIONS} {kind}, {name}"),
            time,
            "ms",
            30.0,
        );
    }
    drop(daemon);
}

fn filled(place: &Path, fill: fn(&Path, usize)) -> std::path::PathBuf {
    let state = place.join("state");
    std::fs::create_dir(&state).expect("a state directory");
    drop(Store::open(&state).expect("a database"));
    fill(&state, SESSIONS);
    state
}

/// One look at a place, on a connection of its own.
fn get(address: &str, path: &str) -> (Duration, String) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).expect("connect");
    let call = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(call.as_bytes()).expect("ask");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    (begun.elapsed(), text)
}

fn digest() {
    let place = place();
    let state = filled(place.path(), fill::ended);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let store = Store::open_as_is(&state).expect("a store");
    let until_ms = FIRST_MS + SESSIONS as i64 + 1_000;
    let night = Span {
        since_ms: FIRST_MS + SESSIONS as i64 - OF_ONE_NIGHT,
        until_ms,
    };
    let all = Span {
        since_ms: FIRST_MS,
        until_ms,
    };
    let timed = |span: Span| {
        let mut times: Vec<Duration> = (0..10)
            .map(|_| {
                let begun = Instant::now();
                let digest = runtime.block_on(store.read(move |sql| Digest::of(sql, span)));
                let paper = Paper::of(&digest.expect("a digest"), &jiff::tz::TimeZone::UTC);
                assert!(paper.headline.contains("claimed"), "{}", paper.headline);
                begun.elapsed()
            })
            .collect();
        millis(percentile(&mut times, 0.5))
    };
    let name = format!("digest, {OF_ONE_NIGHT} of {SESSIONS} sessions");
    bound(&name, timed(night), "ms", 30.0);
    note(
        &format!("digest, all {SESSIONS}"),
        &format!("{:.3} ms", timed(all)),
    );
    let begun = Instant::now();
    let stats =
        runtime.block_on(store.read(move |sql| Stats::of(sql, all, &jiff::tz::TimeZone::UTC)));
    assert_eq!(stats.expect("statistics").agents[0].ended, SESSIONS);
    note(
        &format!("stats, all {SESSIONS}"),
        &format!("{:.3} ms", millis(begun.elapsed())),
    );
}
