//! The dashboard: its first page over a long history, a session with a long past, and a hundred of them open while much happens.

use super::support::daemon::{Daemon, configuration};
use super::support::{bound, fill, millis, note, percentile, place};
use super::{LOOKS, SESSIONS, filled, get};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const MAX_FIRST_PAGE_MS: f64 = 30.0;
const MAX_FIRST_PAGE_KB: f64 = 60.0;
const ITERATIONS: usize = 500;
const LOG_BYTES: usize = 50_000_000;
const MAX_LONG_SESSION_MS: f64 = 50.0;
const OPEN: usize = 100;
const EVENTS_PER_SECOND: u32 = 50;
const WATCHED: Duration = Duration::from_secs(20);
const MAX_PROCESSOR_PERCENT: f64 = 5.0;
/// Each becomes one event, and nothing is worked on.
const BODY: &str = r#"{"objective":"Refactor the module so that its tests pass.","not_before":"2099-01-01T00:00:00Z"}"#;

fn address_of(state: &Path) -> String {
    std::fs::read_to_string(state.join("ralphd.http")).expect("an address")
}

fn looked_at(name: &str, address: &str, path: &str, limit_ms: f64) -> String {
    let (first, page) = get(address, path);
    note(
        &format!("{name}, first look"),
        &format!("{:.3} ms", millis(first)),
    );
    let mut times: Vec<Duration> = (0..LOOKS).map(|_| get(address, path).0).collect();
    for (share_name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let time = millis(percentile(&mut times, share));
        bound(&format!("{name}, {share_name}"), time, "ms", limit_ms);
    }
    page
}

pub fn first_page(kind: &str, fill: fn(&Path, usize)) {
    let place = place();
    let state = filled(place.path(), fill);
    let slow = configuration(&["sleep", "1000"]);
    let _daemon = Daemon::start(&state, &format!("{slow}[queue]\nmax_parallel = 1\n"));
    let name = format!("dashboard: {SESSIONS} {kind}");
    let page = looked_at(&name, &address_of(&state), "/", MAX_FIRST_PAGE_MS);
    bound(
        &format!("{name}, size"),
        page.len() as f64 / 1000.0,
        "KB",
        MAX_FIRST_PAGE_KB,
    );
}

pub fn long_session() {
    let place = place();
    let state = place.path().join("state");
    let agent = configuration(&["true"]);
    drop(Daemon::start(&state, &agent));
    let log = place.path().join("long.log");
    let line = "a line of output such as agents print all day long\n";
    std::fs::write(&log, line.repeat(LOG_BYTES / line.len())).expect("a log");
    fill::ended(&state, 1);
    let session = fill::long(&state, ITERATIONS, &log);
    let _daemon = Daemon::start(&state, &agent);
    let name = format!("dashboard: {ITERATIONS} iterations, 50 MB of log");
    let path = format!("/sessions/{session}");
    let page = looked_at(&name, &address_of(&state), &path, MAX_LONG_SESSION_MS);
    note(
        &format!("{name}, size"),
        &format!("{} KB", page.len() / 1000),
    );
}

/// What a hundred open pages add to what the events themselves cost.
pub fn many_open() {
    let place = place();
    let daemon = Daemon::start(&place.path().join("state"), &configuration(&["true"]));
    let address = address_of(&daemon.state);
    // Nothing is encrypted here, but no client is made without.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let alone = runtime.block_on(while_much_happens(&daemon, &address, 0));
    let watched = runtime.block_on(while_much_happens(&daemon, &address, OPEN));
    note(
        "dashboard: 50 events a second, nobody looks",
        &format!("{alone:.2} %"),
    );
    bound(
        &format!("dashboard: {OPEN} open, 50 events a second"),
        watched - alone,
        "% of a core",
        MAX_PROCESSOR_PERCENT,
    );
}

/// The share of a core that the daemon takes.
async fn while_much_happens(daemon: &Daemon, address: &str, open: usize) -> f64 {
    let mut pages = JoinSet::new();
    for _ in 0..open {
        pages.spawn(page(address.to_owned()));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = daemon.activity();
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / EVENTS_PER_SECOND);
    let client = reqwest::Client::new();
    while begun.elapsed() < WATCHED {
        ticks.tick().await;
        let call = client
            .post(format!("http://{address}/v1/sessions"))
            .header("content-type", "application/json")
            .body(BODY);
        let answer = call.send().await.expect("an answer");
        assert_eq!(answer.status(), 202);
    }
    let (_, running) = daemon.activity().since(&before);
    pages.shutdown().await;
    running.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0
}

/// An open page: it is told that something has changed, and asks for its newest state.
async fn page(address: String) {
    let client = reqwest::Client::new();
    let ask = |path: &str| {
        client
            .get(format!("http://{address}{path}"))
            .header("cookie", "ralphd_form=0123456789abcdef0123456789abcdef")
    };
    let mut stream = ask("/live").send().await.expect("a stream");
    while let Ok(Some(chunk)) = stream.chunk().await {
        if chunk.starts_with(b"event: change") {
            let page = ask("/").header("x-live", "1").send().await.expect("a page");
            let text = page.text().await.expect("all of it");
            assert!(text.contains("Sessions"), "{text}");
        }
    }
}
