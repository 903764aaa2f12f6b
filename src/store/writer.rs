//! The one writer thread of the SQLite driver: it commits all waiting jobs as one transaction, each in its own savepoint,
//! then answers them all. It must not know what the jobs do.

use super::driver::{Finished, Job, Row, Sql, Value};
use super::sqlite::SqliteSql;
use anyhow::{Context, Result};
use rusqlite::Connection;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Jobs waiting for the writer; a full queue makes the callers wait.
const MAX_WAITING_JOBS: usize = 4096;
/// Jobs in one transaction; more would make the first of them wait too long.
const MAX_JOBS_PER_COMMIT: usize = 256;

/// The way to the writer thread. The thread ends when the last of these is dropped.
pub struct Writer {
    jobs: mpsc::Sender<Job>,
    commits: Arc<watch::Sender<u64>>,
    foreign: watch::Sender<u64>,
}

impl Writer {
    /// Starts the thread on a connection of its own.
    pub fn start(connection: Connection) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING_JOBS);
        let commits = Arc::new(watch::Sender::new(0));
        let committed = commits.clone();
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || work(&connection, waiting, &committed))
            .context("cannot start the writer thread")?;
        Ok(Self {
            jobs,
            commits,
            foreign: watch::Sender::new(0),
        })
    }

    /// Hands over a job; resolves when there was room for it.
    pub async fn submit(&self, job: Job) -> Result<()> {
        self.jobs
            .send(job)
            .await
            .map_err(|_| anyhow::anyhow!("the database writer has stopped"))
    }

    /// Bumped after each commit that changed something.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// Bumped for commits that were not made here.
    pub fn foreign_commits(&self) -> watch::Receiver<u64> {
        self.foreign.subscribe()
    }

    /// Tells of a commit that was not made here.
    pub fn poke(&self) {
        self.foreign.send_modify(|count| *count += 1);
        self.commits.send_modify(|count| *count += 1);
    }
}

fn work(connection: &Connection, mut waiting: mpsc::Receiver<Job>, committed: &watch::Sender<u64>) {
    let mut batch = Vec::with_capacity(MAX_JOBS_PER_COMMIT);
    while let Some(first) = waiting.blocking_recv() {
        batch.push(first);
        while batch.len() < MAX_JOBS_PER_COMMIT {
            match waiting.try_recv() {
                Ok(job) => batch.push(job),
                Err(_) => break,
            }
        }
        let changed_before = connection.total_changes();
        commit_together(connection, &mut batch);
        if connection.total_changes() != changed_before {
            committed.send_modify(|count| *count += 1);
        }
    }
}

/// Runs the batch in one transaction and tells each job how it went.
fn commit_together(connection: &Connection, batch: &mut Vec<Job>) {
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        let reason = format!("cannot begin a transaction: {error}");
        for job in batch.drain(..) {
            let refused = refused(job, &reason);
            (refused.tell)(Err(reason.clone()));
        }
        return;
    }
    let alone = batch.len() == 1;
    let finished: Vec<Finished> = batch
        .drain(..)
        .map(|job| run_in_savepoint(connection, job, alone))
        .collect();
    let outcome = match finished.iter().any(|job| job.keep) || !alone {
        true => execute(connection, "COMMIT"),
        false => execute(connection, "ROLLBACK"),
    };
    let outcome = outcome.map_err(|error| {
        // After a failed commit (a full disk) the transaction may still be open.
        let _ = execute(connection, "ROLLBACK");
        format!("cannot write to the database: {error}")
    });
    for job in finished {
        (job.tell)(outcome.clone());
    }
}

/// A job alone in its transaction needs no savepoint: the transaction itself is rolled back.
fn run_in_savepoint(connection: &Connection, job: Job, alone: bool) -> Finished {
    if alone {
        return job(&mut SqliteSql::new(connection));
    }
    let mut finished = match execute(connection, "SAVEPOINT job") {
        Ok(()) => job(&mut SqliteSql::new(connection)),
        Err(error) => return refused(job, &error.to_string()),
    };
    let undone = match finished.keep {
        true => Ok(()),
        false => execute(connection, "ROLLBACK TO job"),
    };
    // Statement by statement, because only those are kept prepared, and this one runs for every job.
    let ended = undone.and_then(|()| execute(connection, "RELEASE job"));
    if let Err(error) = ended {
        finished.keep = false;
        let tell = finished.tell;
        finished.tell = Box::new(move |_| tell(Err(error.to_string())));
    }
    finished
}

/// A job that cannot run still has somebody waiting: it runs against a connection that refuses everything.
fn refused(job: Job, reason: &str) -> Finished {
    let mut finished = job(&mut Refusing(reason.to_owned()));
    finished.keep = false;
    finished
}

fn execute(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}

struct Refusing(String);

impl Sql for Refusing {
    fn rows(&mut self, _: &str, _: &[Value]) -> Result<Vec<Row>> {
        anyhow::bail!("{}", self.0)
    }

    fn run(&mut self, _: &str, _: &[Value]) -> Result<usize> {
        anyhow::bail!("{}", self.0)
    }
}
