//! The SQLite driver: WAL, full durability, one writer thread, pooled readers.
//! The database file is touched through SQLite alone: any other handle on it, once closed, drops the locks that protect the WAL.

use super::Unavailable;
use super::driver::{Driver, Job, Row, Sql, Value};
use super::migrate;
use super::writer::Writer;
use anyhow::{Context, Result, anyhow};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

const MAX_READERS: u32 = 4;
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const CACHED_STATEMENTS: usize = 128;
/// Pages the writer keeps: enough for the hot ends of all tables, little enough for an idle daemon.
const WRITER_CACHE_KIB: i64 = 8 * 1024;
/// Pages in the log before it is carried over into the file: fewer, larger carries under load.
const CHECKPOINT_PAGES: i64 = 4000;
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
            writer: Writer::start(connection)?,
            readers,
        })
    }
}

fn reader_connections(path: &Path) -> SqliteConnectionManager {
    SqliteConnectionManager::file(path)
        .with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .with_init(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
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
    // Every job of a shared commit has its savepoint; what that needs to undo it would otherwise be written to a temporary file.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
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
        job.run(&mut SqliteSql::new(&connection));
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

    fn foreign_commits(&self) -> tokio::sync::watch::Receiver<u64> {
        self.writer.foreign_commits()
    }

    fn poke(&self) {
        self.writer.poke();
    }

    fn backup(&self, target: &Path) -> Result<()> {
        let connection = self.readers.get().context("no database reader is free")?;
        migrate::copy_to(&connection, target)
    }
}

/// A SQLite connection as the verbs see it.
pub(super) struct SqliteSql<'a> {
    connection: &'a Connection,
}

impl<'a> SqliteSql<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// A stored text that is not UTF-8 must not poison a listing: it is shown with replacement marks.
fn value_from(column: ValueRef<'_>) -> Value {
    match column {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

impl Sql for SqliteSql<'_> {
    fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>> {
        self.query(statement, values).map_err(told_apart)
    }

    fn run(&mut self, statement: &str, values: &[Value]) -> Result<usize> {
        let execute = || {
            let mut prepared = self.connection.prepare_cached(statement)?;
            prepared.execute(rusqlite::params_from_iter(values))
        };
        execute().map_err(told_apart)
    }
}

/// A database that cannot work now is told apart from one that says no.
fn told_apart(error: rusqlite::Error) -> anyhow::Error {
    use rusqlite::ErrorCode::*;
    match error.sqlite_error_code() {
        Some(
            DiskFull
            | SystemIoFailure
            | DatabaseBusy
            | DatabaseLocked
            | ReadOnly
            | CannotOpen
            | OutOfMemory
            | FileLockingProtocolFailed,
        ) => anyhow!(Unavailable(error.to_string())),
        _ => error.into(),
    }
}

impl SqliteSql<'_> {
    fn query(&self, statement: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut prepared = self.connection.prepare_cached(statement)?;
        let column_count = prepared.column_count();
        let mut columns: Option<Arc<Vec<String>>> = None;
        let mut found = Vec::new();
        let mut rows = prepared.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let columns = columns.get_or_insert_with(|| {
                let names = row.as_ref().column_names();
                Arc::new(names.into_iter().map(str::to_owned).collect())
            });
            let values = (0..column_count)
                .map(|position| row.get_ref(position).map(value_from))
                .collect::<rusqlite::Result<Vec<_>>>()?;
            found.push(Row::new(columns.clone(), values));
        }
        Ok(found)
    }
}
