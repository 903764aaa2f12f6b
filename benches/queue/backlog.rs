//! What a claim costs with a thousand, a hundred thousand and a million tasks waiting.

use super::ours::{self, LEASE_MS};
use super::support::{Target, figure, fill, micros, note, percentile, place};
use ralphd::clock::now_ms;
use ralphd::store::Store;
use ralphd::store::tasks::{self, Parking};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BACKLOGS: [(usize, &str); 3] = [(1_000, "1 k"), (100_000, "100 k"), (1_000_000, "1 M")];
const CLAIMS: usize = 500;

pub async fn measure() {
    let mut first: Option<[Duration; 2]> = None;
    for (count, name) in BACKLOGS {
        let directory = place();
        let store = Store::open(directory.path()).expect("open the store");
        fill::pending(directory.path(), count);
        let mut alone = statements(&store).await;
        let mut whole = end_to_end(&store).await;
        let middle = [percentile(&mut alone, 0.5), percentile(&mut whole, 0.5)];
        let last = [percentile(&mut alone, 0.99), percentile(&mut whole, 0.99)];
        let base = *first.get_or_insert(middle);
        for (position, what) in ["statements", "durable, end to end"]
            .into_iter()
            .enumerate()
        {
            let ratio = middle[position].as_secs_f64() / base[position].as_secs_f64();
            figure(
                &format!("queue: claim at {name} pending, {what}"),
                &format!("p50 {:.0} us", micros(middle[position])),
                &format!("{:.0} us at 1 k", micros(base[position])),
                ratio,
                Target::AtMost(1.5),
            );
            note("", &format!("p99 {:.0} us", micros(last[position])));
        }
    }
}

/// The statements alone, many claims in one transaction that is rolled back.
async fn statements(store: &Store) -> Vec<Duration> {
    let seen = Arc::new(Mutex::new(Vec::with_capacity(CLAIMS)));
    let samples = seen.clone();
    let rolled_back = store
        .write(move |sql| -> anyhow::Result<()> {
            for _ in 0..CLAIMS {
                let started = Instant::now();
                tasks::claim(sql, "bench", now_ms() + LEASE_MS, now_ms())?.expect("a task");
                samples.lock().expect("one thread").push(started.elapsed());
            }
            anyhow::bail!("measured")
        })
        .await;
    assert!(rolled_back.is_err());
    std::mem::take(&mut *seen.lock().expect("one thread"))
}

/// One claim at a time, each waited for until it is on disk, then given back.
async fn end_to_end(store: &Store) -> Vec<Duration> {
    let mut samples = Vec::with_capacity(CLAIMS);
    for _ in 0..CLAIMS {
        let started = Instant::now();
        let claim = ours::claim(store).await;
        samples.push(started.elapsed());
        store
            .write(move |sql| tasks::park(sql, &claim, &Parking::Released, now_ms()))
            .await
            .expect("give back");
    }
    samples
}
