//! What a claim costs with a thousand to five million tasks waiting.

use super::ours::{self, LEASE_MS};
use super::support::{Target, figure, fill, micros, note, percentile, place};
use ralphd::clock::now_ms;
use ralphd::model::room::Caps;
use ralphd::store::Store;
use ralphd::store::tasks::{self, Parking};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BACKLOGS: [(usize, &str); 4] = [
    (1_000, "1 k"),
    (100_000, "100 k"),
    (1_000_000, "1 M"),
    (5_000_000, "5 M"),
];
const CLAIMS: usize = 500;
const OTHER: &str = "other";

pub async fn measure() {
    let mut first: Option<[Duration; 3]> = None;
    for (count, name) in BACKLOGS {
        let directory = place();
        let store = Store::open(directory.path()).expect("open the store");
        fill::pending(directory.path(), count);
        fill::reassign(directory.path(), OTHER, CLAIMS);
        let mut alone = statements(&store, Caps::default()).await;
        let mut whole = end_to_end(&store).await;
        let mut past = past_a_busy_agent(&store).await;
        let samples = [&mut alone, &mut whole, &mut past];
        let both = samples.map(|samples| (percentile(samples, 0.5), percentile(samples, 0.99)));
        let (middle, last) = (both.map(|(middle, _)| middle), both.map(|(_, last)| last));
        let base = *first.get_or_insert(middle);
        let names = ["statements", "durable, end to end", "past a busy agent"];
        for (position, what) in names.into_iter().enumerate() {
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
async fn statements(store: &Store, caps: Caps) -> Vec<Duration> {
    let seen = Arc::new(Mutex::new(Vec::with_capacity(CLAIMS)));
    let samples = seen.clone();
    let rolled_back = store
        .write(move |sql| -> anyhow::Result<()> {
            for _ in 0..CLAIMS {
                let started = Instant::now();
                let (lease, at_ms) = (now_ms() + LEASE_MS, now_ms());
                let claim = tasks::claim_within(sql, &caps, "bench", lease, at_ms)?;
                samples.lock().expect("one thread").push(started.elapsed());
                let claim = claim.expect("a task");
                if !caps.is_empty() {
                    // Its agent is to have room, and few are to be busy, as in life.
                    tasks::park(sql, &claim, &Parking::Released, at_ms)?;
                }
            }
            anyhow::bail!("measured")
        })
        .await;
    assert!(rolled_back.is_err());
    std::mem::take(&mut *seen.lock().expect("one thread"))
}

/// The same, with an agent that is as busy as it may be and whose tasks are all before the others.
async fn past_a_busy_agent(store: &Store) -> Vec<Duration> {
    let caps = Caps {
        sessions: None,
        agents: vec![("bench".to_owned(), Some(1)), (OTHER.to_owned(), None)],
    };
    store
        .write(|sql| {
            tasks::index_by_agent(sql, true)?;
            tasks::claim(sql, "bench", now_ms() + LEASE_MS, now_ms())
        })
        .await
        .expect("make it busy");
    statements(store, caps).await
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
