//! Connections that cannot do harm: opened to read, held to limits, watched while they work.

use super::functions;
use super::permit::{Denied, Tables, judge};
use crate::dataset::attached::Attached;
use crate::dataset::import::MANIFEST;
use crate::dataset::limits::{MAX_COLUMNS, MAX_ROW_BYTES, QueryLimits};
use crate::dataset::name;
use crate::dataset::trouble::{Fault, Trouble};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Steps of SQLite between two looks at the clock.
const STEPS: i32 = 1000;
/// Time to wait for whoever writes into a user's file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const CACHE_KIB: i64 = 16 << 10;
/// Time between two looks at what was written.
const SPILL_LOOKS: Duration = Duration::from_millis(20);
/// A pattern's cost is its length times that of the text, and cannot be interrupted.
const MAX_PATTERN_BYTES: i32 = 256;

/// The imports of a workspace. They are never changed in place, so no lock and no journal is looked at.
pub fn open(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(uri(file, "immutable=1"), flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false)?;
    // So that "East" in double quotes is told to be no column, rather than taken for a text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // Sorting spills to disk, where it is counted, rather than into memory.
    connection.pragma_update(None, "temp_store", "FILE")?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// The same with the users' files under their names.
pub fn open_with(file: &Path, attached: &[Attached]) -> Result<Connection, Trouble> {
    let connection = open(file)?;
    for one in attached {
        let sql = format!("ATTACH ?1 AS {}", name::quoted(&one.name));
        let attach = connection.execute(&sql, [uri(&one.path, "mode=ro")]);
        let look = |_| {
            let sql = format!(
                "SELECT count(*) FROM {}.sqlite_schema",
                name::quoted(&one.name)
            );
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
        };
        attach
            .and_then(look)
            .map_err(|error| unusable(one, &error))?;
    }
    Ok(connection)
}

fn unusable(one: &Attached, error: &rusqlite::Error) -> Trouble {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, PermissionDenied};
    let fault = match error.sqlite_error_code() {
        Some(NotADatabase | DatabaseCorrupt) => Fault::Format,
        Some(PermissionDenied | CannotOpen) => Fault::Permission,
        _ => Fault::Other,
    };
    let path = one.path.display();
    Trouble::new(
        fault,
        format!("{path} cannot be used as a SQLite database: {error}"),
    )
}

/// A path as SQLite's address of a file, whatever bytes it has.
fn uri(path: &Path, query: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    format!("{uri}?{query}")
}

/// All tables and views that may be read, in small letters.
pub fn tables_of(connection: &Connection, attached: &[Attached]) -> Result<Tables, Trouble> {
    let mut tables = Tables::new();
    let databases = attached.iter().map(|one| one.name.as_str());
    for database in std::iter::once("main").chain(databases) {
        let sql = format!(
            "SELECT name FROM {}.sqlite_schema WHERE type IN ('table', 'view')",
            name::quoted(database)
        );
        let mut statement = connection.prepare(&sql)?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        for name in names {
            tables.insert((database.to_lowercase(), name?.to_lowercase()));
        }
    }
    tables.remove(&("main".to_owned(), MANIFEST.to_owned()));
    Ok(tables)
}

/// From here on the connection only reads these tables, and only so much at a time.
pub fn confine(
    connection: &Connection,
    attached: usize,
    tables: Tables,
    limits: &QueryLimits,
) -> Result<Denied, Trouble> {
    functions::install(connection)?;
    let bytes = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
    for (limit, most) in [
        (
            Limit::SQLITE_LIMIT_LENGTH,
            bytes(MAX_ROW_BYTES + (64 << 10)),
        ),
        (
            Limit::SQLITE_LIMIT_SQL_LENGTH,
            bytes(limits.sql_bytes.max(4096)),
        ),
        (Limit::SQLITE_LIMIT_COLUMN, bytes(MAX_COLUMNS)),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
        (Limit::SQLITE_LIMIT_ATTACHED, bytes(attached)),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN_BYTES),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1000),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    let denied = Denied::default();
    connection.authorizer(Some(judge(tables, denied.clone())))?;
    Ok(denied)
}

/// Why a query was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Interrupted {
    Time = 1,
    Stopped = 2,
    Spilled = 3,
}

/// Interrupts a connection that takes too long or too much.
pub struct Watch {
    pub started: Instant,
    pub limits: QueryLimits,
    reason: Arc<AtomicU8>,
}

impl Watch {
    /// Watches from now on, in the place of any watch before. The query must run on this thread.
    pub fn start(
        connection: &Connection,
        limits: &QueryLimits,
        stop: Option<Arc<AtomicBool>>,
    ) -> Result<Self, Trouble> {
        let watch = Self {
            started: Instant::now(),
            limits: limits.clone(),
            reason: Arc::default(),
        };
        let (deadline, most) = (watch.started + limits.time, limits.spill_bytes);
        let reason = watch.reason.clone();
        let mut spill = Spill::from_now();
        let look = move || {
            let now = Instant::now();
            let why = if stop
                .as_ref()
                .is_some_and(|stop| stop.load(Ordering::Relaxed))
            {
                Interrupted::Stopped
            } else if now >= deadline {
                Interrupted::Time
            } else if spill.bytes(now) > most {
                Interrupted::Spilled
            } else {
                return false;
            };
            reason.store(why as u8, Ordering::Relaxed);
            true
        };
        connection.progress_handler(STEPS, Some(look))?;
        Ok(watch)
    }

    /// Why it was interrupted, if it was.
    pub fn reason(&self) -> Option<Interrupted> {
        match self.reason.load(Ordering::Relaxed) {
            1 => Some(Interrupted::Time),
            2 => Some(Interrupted::Stopped),
            3 => Some(Interrupted::Spilled),
            _ => None,
        }
    }
}

/// What this thread has written since the start: SQLite has no other way to tell of a temporary file before it is closed.
struct Spill {
    before: u64,
    seen: u64,
    looked: Instant,
}

impl Spill {
    fn from_now() -> Self {
        Self {
            before: written_by_this_thread(),
            seen: 0,
            looked: Instant::now(),
        }
    }

    fn bytes(&mut self, now: Instant) -> u64 {
        if now.duration_since(self.looked) >= SPILL_LOOKS {
            self.looked = now;
            self.seen = written_by_this_thread().saturating_sub(self.before);
        }
        self.seen
    }
}

/// A kernel that does not count leaves the limit of time.
fn written_by_this_thread() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_bytes_are_addresses() {
        let path = Path::new("/a b/ä?x=1#&%.db");
        assert_eq!(
            uri(path, "mode=ro"),
            "file:///a%20b/%C3%A4%3Fx%3D1%23%26%25.db?mode=ro"
        );
    }
}
