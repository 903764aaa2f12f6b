//! ralphd's own database: the queue and the whole state. The only place that speaks ralphd's SQL.
//! It must not decide: it applies the steps of `model/` by compare-and-set, writes the event in the same transaction, and says what it found.
//!
//! `driver` is the seam, `sqlite`, `statements`, `writer`, `carry` and `migrate` the one driver there is; every other file is the verbs of one table,
//! plain functions over a transaction, so that several verbs make one commit.

pub mod bookmarks;
pub mod budgets;
mod carry;
pub mod census;
pub mod deliveries;
pub mod driver;
pub mod events;
pub mod guidance;
pub mod health;
pub mod humans;
pub mod iterations;
pub mod ledger;
mod masking;
mod migrate;
pub mod notices;
pub mod pace;
pub mod plans;
pub mod requests;
pub mod restore_points;
pub mod review;
pub mod schedules;
pub mod sessions;
mod sqlite;
mod statements;
pub mod steps;
pub mod summaries;
pub mod tasks;
pub mod tokens;
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

use crate::secrets::Vault;
use anyhow::{Context, Result, anyhow};
use driver::{Audience, Driver, Job, Sql};
use masking::Masking;
use pace::Pace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{oneshot, watch};

/// A handle on the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    driver: Arc<dyn Driver>,
    secrets: Vault,
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
            secrets: Vault::default(),
        }
    }

    /// The same store, but these secrets never get into it.
    pub fn masking(self, secrets: Vault) -> Self {
        Self { secrets, ..self }
    }

    /// Runs `work` in a transaction; resolves when it is durable. The work may be done more than once, each time from the
    /// start and with the earlier one undone.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Sql) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.commit(work, Audience::Everybody).await
    }

    /// The same, for the turns of a running loop: they are something to see, but nothing becomes ready and nothing ends by them.
    pub async fn write_for_watchers<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Sql) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.commit(work, Audience::Watchers).await
    }

    /// The same, for what nobody waits for (a heartbeat): it wakes no one.
    pub async fn write_quietly<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Sql) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.commit(work, Audience::Nobody).await
    }

    async fn commit<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut dyn Sql) -> Result<T> + Send + 'static,
        audience: Audience,
    ) -> Result<T> {
        let mask = self.secrets.mask();
        let masked = move |sql: &mut dyn Sql| match mask.is_empty() {
            true => work(sql),
            false => work(&mut Masking {
                inner: sql,
                mask: &mask,
            }),
        };
        let (job, answer) = as_job(masked, audience);
        let asked = Instant::now();
        self.driver.write(job).await?;
        let answer = answer.await.context("the database writer has stopped")?;
        self.pace().write.observe(asked.elapsed().as_secs_f64());
        answer
    }

    /// Runs `work` on one consistent snapshot.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Sql) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (job, answer) = as_job(work, Audience::Nobody);
        let driver = self.driver.clone();
        tokio::task::spawn_blocking(move || driver.read(job))
            .await
            .context("a database read was interrupted")??;
        answer.await.context("a database read was dropped")?
    }

    /// Changes after each commit of this process that changed something, but for what only watchers care about.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.driver.commits()
    }

    /// Changes after each commit of this process that there is something to see of.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.driver.news()
    }

    /// Changes after each commit of another process that was noticed.
    pub fn foreign_commits(&self) -> watch::Receiver<u64> {
        self.driver.foreign_commits()
    }

    /// Has the writer see whether another process has committed, which wakes those who wait on `commits`. Every write sees it too.
    pub fn look_for_others(&self) {
        self.driver.look_for_others();
    }

    /// How fast it is, and how far the readers of its history are.
    pub fn pace(&self) -> &Arc<Pace> {
        self.driver.pace()
    }

    /// A consistent copy of the database in a new file.
    pub async fn backup(&self, target: std::path::PathBuf) -> Result<()> {
        let driver = self.driver.clone();
        tokio::task::spawn_blocking(move || driver.backup(&target)).await?
    }
}

/// Typed work, its result so far, and whoever waits for it.
struct Work<T, F> {
    work: F,
    audience: Audience,
    result: Option<Result<T>>,
    waiting: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: FnMut(&mut dyn Sql) -> Result<T> + Send,
{
    fn run(&mut self, sql: &mut dyn Sql) -> bool {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(sql)))
            .unwrap_or_else(|_| Err(anyhow!("a database verb panicked")));
        self.result.insert(result).is_ok()
    }

    fn audience(&self) -> Audience {
        self.audience
    }

    fn tell(self: Box<Self>, committed: Result<(), String>) {
        let answer = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(anyhow!(Unavailable("the work was not done".to_owned()))),
            (Err(reason), _) => Err(anyhow!(Unavailable(reason))),
        };
        // The caller may have gone away; the work is done all the same.
        let _ = self.waiting.send(answer);
    }
}

/// Wraps typed work as a job whose answer is sent only once the commit's fate is known.
fn as_job<T: Send + 'static>(
    work: impl FnMut(&mut dyn Sql) -> Result<T> + Send + 'static,
    audience: Audience,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T>>) {
    let (waiting, answer) = oneshot::channel();
    let job = Work {
        work,
        audience,
        result: None,
        waiting,
    };
    (Box::new(job), answer)
}
