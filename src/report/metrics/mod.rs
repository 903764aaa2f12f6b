//! The daemon in numbers, for Prometheus: `/metrics`. `tally` counts what happened, `page` writes it down in the text format, `own` is the
//! process itself. It only looks, and a look is cheap: it goes on in the history where the last one stopped, and counts by indexes.
//!
//! No label takes a value from outside: states, reasons and verdicts are closed sets, agents and models those of the configuration.

mod own;
mod page;
mod tally;

pub use page::{Family, Kind, Page};

use crate::clock::now_ms;
use crate::engine::House;
use crate::store::census::{self, QueueCount};
use crate::store::pace::Pace;
use anyhow::Result;
use tally::Tally;
use tokio::sync::Mutex;

/// The content type of the text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is counted from the start of the daemon on.
pub struct Metrics {
    tally: Mutex<Tally>,
}

impl Metrics {
    /// Counts from the present end of the history on.
    pub async fn start(house: &House) -> Result<Self> {
        let position = house.store.read(crate::store::events::last).await?;
        Ok(Self {
            tally: Mutex::new(Tally::after(position)),
        })
    }

    /// All numbers of this moment.
    pub async fn page(&self, house: &House) -> Result<Page> {
        let mut page = Page::default();
        own::write(&mut page);
        let newest = {
            let mut tally = self.tally.lock().await;
            tally.read_on(house).await?;
            tally.write(&mut page, &house.config);
            tally.position()
        };
        let queue = house.store.read(census::queue).await?;
        write_queue(&mut page, &queue, now_ms());
        write_pace(&mut page, house.store.pace(), newest);
        Ok(page)
    }
}

fn write_queue(page: &mut Page, queue: &QueueCount, at_ms: i64) {
    let seconds = |since_ms: Option<i64>| match since_ms {
        Some(since_ms) => (at_ms - since_ms).max(0) as f64 / 1000.0,
        None => 0.0,
    };
    let mut tasks = page.family(
        "ralphd_queue_tasks",
        Kind::Gauge,
        "Tasks in the queue: ready to be claimed, running, waiting for a workspace or for others, parked (a limit, an outage), or not due yet.",
    );
    for (standing, count) in [
        ("ready", queue.ready),
        ("running", queue.running),
        ("waiting", queue.waiting),
        ("parked", queue.parked),
        ("scheduled", queue.later - queue.parked),
    ] {
        tasks.value(&[("standing", standing)], count as f64);
    }
    for (name, help, value) in [
        (
            "ralphd_queue_oldest_ready_seconds",
            "How long the oldest ready task has been waiting to be claimed.",
            seconds(queue.ready_since_ms),
        ),
        (
            "ralphd_questions_waiting",
            "Questions and approvals that wait for a person.",
            queue.asked as f64,
        ),
        (
            "ralphd_questions_oldest_seconds",
            "How long the oldest question has been waiting.",
            seconds(queue.asked_since_ms),
        ),
        (
            "ralphd_notices_owed",
            "Callbacks and notifications that were not taken yet.",
            queue.owed as f64,
        ),
        (
            "ralphd_notices_oldest_seconds",
            "How long the oldest of them has been owed.",
            seconds(queue.owed_since_ms),
        ),
    ] {
        page.family(name, Kind::Gauge, help).value(&[], value);
    }
}

fn write_pace(page: &mut Page, pace: &Pace, newest: i64) {
    let mut behind = page.family(
        "ralphd_events_behind",
        Kind::Gauge,
        "Events that a reader of the history has not gone through yet: notices, the mirror file, the feed of event streams while somebody watches.",
    );
    for (reader, upto) in pace.readers() {
        behind.value(&[("reader", reader)], (newest - upto).max(0) as f64);
    }
    for (name, help, measured) in [
        (
            "ralphd_store_write_seconds",
            "How long a write waits until it is on disk.",
            &pace.write,
        ),
        (
            "ralphd_store_commit_seconds",
            "How long one commit takes.",
            &pace.commit,
        ),
        (
            "ralphd_store_commit_jobs",
            "How many writes share a commit.",
            &pace.group,
        ),
    ] {
        let mut family = page.family(name, Kind::Histogram, help);
        family.histogram(&[], &measured.counted());
    }
}
