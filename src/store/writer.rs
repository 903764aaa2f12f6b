//! The one writer thread of the SQLite driver: it commits all waiting jobs as one transaction, then answers them all.
//! One failing job does not undo its neighbours: the batch is then done again, each job in a savepoint of its own. It must not know what the jobs do.

use super::carry::Carrier;
use super::driver::{Audience, Job, Sql};
use super::pace::Pace;
use super::statements::Lasting;
use anyhow::{Context, Result};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, watch};

/// Jobs waiting for the writer; a full queue makes the callers wait.
const MAX_WAITING_JOBS: usize = 4096;
/// Jobs in one transaction; more would make the first of them wait too long.
const MAX_JOBS_PER_COMMIT: usize = 256;

/// The way to the writer thread. The thread ends when the last of these is dropped.
pub struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
    bell: Arc<Bell>,
    pace: Arc<Pace>,
}

impl Writer {
    /// Starts the thread on a connection of its own.
    pub fn start(connection: Connection, path: &Path) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING_JOBS);
        let bell = Arc::new(Bell::default());
        let pace = Arc::new(Pace::default());
        let (rung, measured) = (bell.clone(), pace.clone());
        let carrier = Carrier::start(&connection, path)?;
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || work(&connection, waiting, carrier, &rung, &measured))
            .context("cannot start the writer thread")?;
        Ok(Self { jobs, bell, pace })
    }

    /// Hands over a job; resolves when there was room for it.
    pub async fn submit(&self, job: Box<dyn Job>) -> Result<()> {
        self.jobs
            .send(job)
            .await
            .map_err(|_| anyhow::anyhow!("the database writer has stopped"))
    }

    /// Bumped after each commit for everybody that changed something.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.bell.commits.subscribe()
    }

    /// Bumped after each commit that there is something to see of.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.bell.news.subscribe()
    }

    /// Bumped for commits that were not made here.
    pub fn foreign_commits(&self) -> watch::Receiver<u64> {
        self.bell.foreign.subscribe()
    }

    /// How fast it is.
    pub fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }

    /// Has the thread look for commits that were not made here. Where too many jobs wait, those do it.
    pub fn look_for_others(&self) {
        let _ = self.jobs.try_send(Box::new(Look));
    }
}

/// Work that is done by beginning it.
struct Look;

impl Job for Look {
    fn run(&mut self, _: &mut dyn Sql) -> bool {
        true
    }

    fn audience(&self) -> Audience {
        Audience::Nobody
    }

    fn tell(self: Box<Self>, committed: Result<(), String>) {
        if let Err(reason) = committed {
            tracing::error!("cannot look for changes by others: {reason}");
        }
    }
}

/// Wakes those who wait for commits.
#[derive(Default)]
struct Bell {
    commits: watch::Sender<u64>,
    news: watch::Sender<u64>,
    foreign: watch::Sender<u64>,
}

impl Bell {
    /// Another process has committed.
    fn ring_for_others(&self) {
        self.foreign.send_modify(|count| *count += 1);
        self.ring(Audience::Everybody);
    }

    fn ring(&self, audience: Audience) {
        if audience >= Audience::Watchers {
            self.news.send_modify(|count| *count += 1);
        }
        if audience >= Audience::Everybody {
            self.commits.send_modify(|count| *count += 1);
        }
    }
}

fn work(
    connection: &Connection,
    mut waiting: mpsc::Receiver<Box<dyn Job>>,
    mut carrier: Carrier,
    bell: &Bell,
    pace: &Pace,
) {
    let (log, mut connection) = (connection, Lasting::new(connection));
    let mut batch = Vec::with_capacity(MAX_JOBS_PER_COMMIT);
    let mut foreign_version = None;
    while let Some(first) = waiting.blocking_recv() {
        batch.push(first);
        // Whoever is about to hand over a job may do so: what shares a commit shares its cost.
        std::thread::yield_now();
        while batch.len() < MAX_JOBS_PER_COMMIT {
            match waiting.try_recv() {
                Ok(job) => batch.push(job),
                Err(_) => break,
            }
        }
        let foreign_before = foreign_version;
        pace.group.observe(batch.len() as f64);
        let begun = Instant::now();
        let outcome = commit_together(&mut connection, &mut batch, &mut foreign_version);
        pace.commit.observe(begun.elapsed().as_secs_f64());
        let committed = outcome.as_ref().map(drop).map_err(String::clone);
        for job in batch.drain(..) {
            job.tell(committed.clone());
        }
        if foreign_before.is_some() && foreign_version != foreign_before {
            bell.ring_for_others();
        }
        bell.ring(outcome.unwrap_or(Audience::Nobody));
        carrier.look(log);
    }
}

/// Runs the batch in one transaction and says who has news by it. What was rolled back is nobody's: who waits for commits would try
/// again and again what cannot be written.
fn commit_together(
    connection: &mut Lasting<'_>,
    batch: &mut [Box<dyn Job>],
    foreign_version: &mut Option<i64>,
) -> Result<Audience, String> {
    match run_all(connection, batch, foreign_version) {
        Ok(audience) => Ok(audience),
        Err(error) => {
            // After a failed commit (a full disk) the transaction may still be open.
            let _ = connection.execute("ROLLBACK");
            Err(format!("cannot write to the database: {error}"))
        }
    }
}

/// First without savepoints, which would cost more than the work itself; they are needed only when a job fails.
fn run_all(
    connection: &mut Lasting<'_>,
    batch: &mut [Box<dyn Job>],
    foreign_version: &mut Option<i64>,
) -> rusqlite::Result<Audience> {
    // Waits for a commit that is under way elsewhere, so that it is seen.
    connection.execute("BEGIN IMMEDIATE")?;
    *foreign_version = Some(connection.foreign_version()?);
    let before = connection.total_changes();
    if batch.iter_mut().all(|job| job.run(connection)) {
        let changed = connection.total_changes() != before;
        let most = batch.iter().map(|job| job.audience()).max();
        connection.execute("COMMIT")?;
        return Ok(most.filter(|_| changed).unwrap_or(Audience::Nobody));
    }
    connection.execute("ROLLBACK")?;
    if batch.len() == 1 {
        return Ok(Audience::Nobody);
    }
    connection.execute("BEGIN IMMEDIATE")?;
    let mut audience = Audience::Nobody;
    for job in batch {
        connection.execute("SAVEPOINT job")?;
        let before = connection.total_changes();
        match job.run(connection) {
            true if connection.total_changes() != before => audience = audience.max(job.audience()),
            true => {}
            false => connection.execute("ROLLBACK TO job")?,
        }
        connection.execute("RELEASE job")?;
    }
    connection.execute("COMMIT")?;
    Ok(audience)
}
