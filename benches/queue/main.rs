//! The queue: durable enqueue, claim and settle by 64 at once, and what a claim costs as the backlog grows.
//! The limit is group commit over plain rusqlite with the smallest table that could be a queue, on the same disk in the same run.

#[path = "../support/mod.rs"]
mod support;

mod backlog;
mod ours;
mod raw;

use std::future::Future;
use std::time::{Duration, Instant};
use support::{Target, figure, per_second};
use tokio::task::JoinSet;

pub const JOBS: usize = 20_000;
/// Submitters and workers at once.
pub const AT_ONCE: usize = 64;
/// The machine is shared: each is measured so often, in turns, and the best of each counts.
const ROUNDS: usize = 4;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut best = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        let (raw_push, raw_drain) = runtime.block_on(raw::round());
        let (own_push, own_drain) = runtime.block_on(ours::round());
        for (best, time) in best
            .iter_mut()
            .zip([raw_push, own_push, raw_drain, own_drain])
        {
            *best = time.min(*best);
        }
    }
    compare("queue: enqueue, 64 submitters", best[1], best[0]);
    compare("queue: claim and settle, 64 workers", best[3], best[2]);
    runtime.block_on(backlog::measure());
}

fn compare(name: &str, ours: Duration, raw: Duration) {
    let (ours, raw) = (per_second(JOBS, ours), per_second(JOBS, raw));
    figure(
        name,
        &format!("{ours:.0}/s"),
        &format!("{raw:.0}/s"),
        ours / raw,
        Target::AtLeast(0.5),
    );
}

/// Runs `work` for every number below `JOBS`, `AT_ONCE` at a time, and says how long all of it took.
pub async fn by_many<W, F>(work: W) -> Duration
where
    W: Fn(usize) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let mut crowd = JoinSet::new();
    let started = Instant::now();
    for first in 0..AT_ONCE {
        let work = work.clone();
        crowd.spawn(async move {
            for number in (first..JOBS).step_by(AT_ONCE) {
                work(number).await;
            }
        });
    }
    while let Some(ended) = crowd.join_next().await {
        ended.expect("a member of the crowd panicked");
    }
    started.elapsed()
}
