//! The SQLite driver: WAL, full durability, one writer thread, one beside it that carries the log over, pooled readers.
//! The database file is touched through SQLite alone: any other handle on it, once closed, drops the locks that protect the WAL.

use super::Unavailable;
use super::driver::{Driver, Job};
use super::migrate;
use super::pace::Pace;
use super::statements::Lent;
use super::writer::Writer;
use anyhow::{Context, Result, anyhow};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

const MAX_READERS: u32 = 4;
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const CACHED_STATEMENTS: usize = 128;
/// Pages the writer keeps: enough for the hot ends of all tables, little enough for an idle daemon.
const WRITER_CACHE_KIB: i64 = 2 * 1024;
/// Pages a reader keeps: each look is short, and every commit makes most of them stale.
const READER_CACHE_KIB: i64 = 512;
/// After a checkpoint the WAL file is cut back to this size, so that a burst does not keep its disk space for ever.
const MAX_WAL_BYTES: i64 = 64 << 20;

/// One SQLite file.
pub struct Sqlite {
    path: PathBuf,
    writer: Writer,
    readers: r2d2::Pool<SqliteConnectionManager>,
}

impl Sqlite {
    /// Opens the file, making it when it is not there yet.
    pub fn open(path: &Path) -> Result<Self> {
        forgo_memory_statistics();
        let connection = Connection::open(path)
            .with_context(|| format!("cannot open the database {}", path.display()))?;
        prepare(&connection).with_context(|| format!("cannot use {}", path.display()))?;
        migrate::refuse_newer(&connection, path)?;
        let readers = r2d2::Pool::builder()
            .max_size(MAX_READERS)
            .min_idle(Some(0))
            .idle_timeout(None)
            .max_lifetime(None)
            .test_on_check_out(false)
            .build_unchecked(reader_connections(path));
        Ok(Self {
            path: path.to_owned(),
            writer: Writer::start(connection, path)?,
            readers,
        })
    }
}

/// SQLite counts every allocation under a lock of the whole process unless it is told not to before its first use.
fn forgo_memory_statistics() {
    static FIRST: std::sync::Once = std::sync::Once::new();
    // SAFETY: the option takes one int. Once SQLite is in use the call changes nothing and says so, which is as good.
    FIRST.call_once(|| unsafe {
        rusqlite::ffi::sqlite3_config(rusqlite::ffi::SQLITE_CONFIG_MEMSTATUS, 0);
    });
}

fn reader_connections(path: &Path) -> SqliteConnectionManager {
    SqliteConnectionManager::file(path)
        .with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .with_init(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
            connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
            connection.pragma_update(None, "query_only", true)
        })
}

/// Settings that belong to a connection, not to the file.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Where a shared commit needs savepoints, what would undo them is otherwise written to a temporary file.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "journal_size_limit", MAX_WAL_BYTES)
}

impl Driver for Sqlite {
    fn migrate(&self) -> Result<()> {
        let mut connection = Connection::open(&self.path)?;
        prepare(&connection)?;
        migrate::migrate(&mut connection, &self.path)
    }

    fn require_current(&self) -> Result<()> {
        let connection = self.readers.get().context("no database reader is free")?;
        migrate::require_current(&connection, &self.path)
    }

    fn read(&self, mut job: Box<dyn Job>) -> Result<()> {
        let connection = self.readers.get().map_err(|error| {
            anyhow!(Unavailable(format!("no database reader is free: {error}")))
        })?;
        // One snapshot for the whole job: what it reads first and last belongs together.
        let snapshot = connection.unchecked_transaction()?;
        job.run(&mut Lent(&connection));
        drop(snapshot);
        job.tell(Ok(()));
        Ok(())
    }

    fn write(&self, job: Box<dyn Job>) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> {
        Box::pin(self.writer.submit(job))
    }

    fn commits(&self) -> tokio::sync::watch::Receiver<u64> {
        self.writer.commits()
    }

    fn news(&self) -> tokio::sync::watch::Receiver<u64> {
        self.writer.news()
    }

    fn foreign_commits(&self) -> tokio::sync::watch::Receiver<u64> {
        self.writer.foreign_commits()
    }

    fn look_for_others(&self) {
        self.writer.look_for_others();
    }

    fn pace(&self) -> &Arc<Pace> {
        self.writer.pace()
    }

    fn backup(&self, target: &Path) -> Result<()> {
        let connection = self.readers.get().context("no database reader is free")?;
        migrate::copy_to(&connection, target)
    }
}
