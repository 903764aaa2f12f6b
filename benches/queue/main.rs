//! The queue: durable enqueue, claim and settle by 64 at once, and what a claim costs as the backlog grows.
//! The limit is group commit over plain rusqlite with the smallest table that could be a queue, on the same disk in the same run.

#[path = "../support/mod.rs"]
mod support;

mod backlog;
mod ours;
mod raw;
mod rows;

use rows::Around;
use std::future::Future;
use std::time::{Duration, Instant};
use support::{Target, figure, note, per_second};
use tokio::task::JoinSet;

pub const JOBS: usize = 20_000;
/// Submitters and workers at once.
pub const AT_ONCE: usize = 64;
/// Of what a queue and nothing else could do.
const SHARE_OF_RAW: f64 = 0.5;
/// The machine is shared: each is measured so often, in turns, and the best of each counts.
const ROUNDS: usize = 4;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut best = [(Duration::MAX, Duration::MAX); 4];
    for _ in 0..ROUNDS {
        let times = [
            runtime.block_on(raw::round()),
            runtime.block_on(ours::round()),
            runtime.block_on(rows::round(Around::Everything)),
            runtime.block_on(rows::round(Around::Nothing)),
        ];
        for ((push, drain), time) in best.iter_mut().zip(times) {
            *push = time.0.min(*push);
            *drain = time.1.min(*drain);
        }
    }
    let pushes = best.map(|(push, _)| push);
    compare("queue: enqueue, 64 submitters", pushes);
    let drains = best.map(|(_, drain)| drain);
    compare("queue: claim and settle, 64 workers", drains);
    runtime.block_on(backlog::measure());
}

fn compare(name: &str, [raw, ours, rows, bare]: [Duration; 4]) {
    let limit = format!("{:.0}/s", per_second(JOBS, raw));
    let share = |time: Duration| raw.as_secs_f64() / time.as_secs_f64();
    figure(
        name,
        &format!("{:.0}/s", per_second(JOBS, ours)),
        &limit,
        share(ours),
        Target::AtLeast(SHARE_OF_RAW),
    );
    let by_hand = |what: &str, time: Duration| {
        let rate = per_second(JOBS, time);
        note(what, &format!("{rate:.0}/s   ratio {:.3}", share(time)));
    };
    // What the rows alone allow, whatever writes them.
    by_hand("       the same rows by hand", rows);
    by_hand("       and no index, check or foreign key", bare);
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
