//! ralphd's own database: the queue and the whole state. The only place that speaks ralphd's SQL.
//! It must not decide: it applies the steps of `model/` by compare-and-set, writes the event in the same transaction, and says what it found.
//!
//! `driver` is the seam, `sqlite`, `writer` and `migrate` the one driver there is; every other file is the verbs of one table,
//! plain functions over a transaction, so that several verbs make one commit.

pub mod driver;
pub mod events;
pub mod guidance;
pub mod health;
pub mod humans;
pub mod iterations;
pub mod ledger;
mod masking;
mod migrate;
pub mod requests;
pub mod sessions;
mod sqlite;
pub mod tasks;
pub mod tool_calls;
pub mod workers;
pub mod workspaces;
mod writer;

/// A statement from `sql/queries`, by its file name.
macro_rules! query {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/sql/queries/",
            $name,
            ".sql"
        ))
    };
}
use query;

use crate::model::mask::Mask;
use anyhow::{Context, Result, anyhow};
use driver::{Driver, Finished, Job, Sql};
use masking::Masking;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// A handle on the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    driver: Arc<dyn Driver>,
    mask: Arc<Mask>,
}

/// A store call that failed for a reason outside the caller's reach: the disk, a lock, another process.
#[derive(Debug)]
pub struct Unavailable(pub String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// The file name of the database inside the state directory.
pub const DATABASE_FILE: &str = "ralphd.db";

impl Store {
    /// Opens the database of a state directory and brings its schema up to date.
    pub fn open(state: &Path) -> Result<Self> {
        let driver = sqlite::Sqlite::open(&state.join(DATABASE_FILE))?;
        driver.migrate()?;
        Ok(Self::over(driver))
    }

    /// Opens a database for a look, as it is: bringing an older one up to date is left to whoever works on it.
    pub fn open_as_is(state: &Path) -> Result<Self> {
        let driver = sqlite::Sqlite::open(&state.join(DATABASE_FILE))?;
        driver.require_current()?;
        Ok(Self::over(driver))
    }

    fn over(driver: impl Driver) -> Self {
        Self {
            driver: Arc::new(driver),
            mask: Arc::default(),
        }
    }

    /// The same store, but these secrets never get into it.
    pub fn masking(self, mask: Mask) -> Self {
        Self {
            mask: Arc::new(mask),
            ..self
        }
    }

    /// Runs `work` in a transaction; resolves when it is durable.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Sql) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mask = self.mask.clone();
        let (job, answer) = as_job(move |sql| match mask.is_empty() {
            true => work(sql),
            false => work(&mut Masking {
                inner: sql,
                mask: &mask,
            }),
        });
        self.driver.write(job).await?;
        answer.await.context("the database writer has stopped")?
    }

    /// Runs `work` on one consistent snapshot.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Sql) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (job, answer) = as_job(work);
        let driver = self.driver.clone();
        tokio::task::spawn_blocking(move || driver.read(job))
            .await
            .context("a database read was interrupted")??;
        answer.await.context("a database read was dropped")?
    }

    /// Changes after each commit of this process that changed something.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.driver.commits()
    }

    /// Changes after each commit of another process that was noticed.
    pub fn foreign_commits(&self) -> watch::Receiver<u64> {
        self.driver.foreign_commits()
    }

    /// Wakes those who wait on `commits`: another process has committed.
    pub fn poke(&self) {
        self.driver.poke();
    }

    /// A number that changes when another process has committed.
    pub async fn foreign_version(&self) -> Result<i64> {
        self.write(|sql| {
            let row = sql.row("PRAGMA data_version", &[])?;
            row.context("no data_version")?.int("data_version")
        })
        .await
    }

    /// A consistent copy of the database in a new file.
    pub async fn backup(&self, target: std::path::PathBuf) -> Result<()> {
        let driver = self.driver.clone();
        tokio::task::spawn_blocking(move || driver.backup(&target)).await?
    }
}

/// Wraps typed work as a job whose answer is sent only once the commit's fate is known.
fn as_job<T: Send + 'static>(
    work: impl FnOnce(&mut dyn Sql) -> Result<T> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T>>) {
    let (sender, receiver) = oneshot::channel();
    let job: Job = Box::new(move |sql| {
        let result = catch_unwind(AssertUnwindSafe(|| work(sql)))
            .unwrap_or_else(|_| Err(anyhow!("a database verb panicked")));
        Finished {
            keep: result.is_ok(),
            tell: Box::new(move |committed| {
                let answer = match committed {
                    Ok(()) => result,
                    Err(reason) => Err(anyhow!(Unavailable(reason))),
                };
                // The caller may have gone away; the work is done all the same.
                let _ = sender.send(answer);
            }),
        }
    });
    (job, receiver)
}
