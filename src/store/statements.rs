//! A SQLite connection as the verbs see it: statements, the values that go in, the rows that come out.
//! It must not know a table, nor when a transaction begins and ends.

use super::Unavailable;
use super::driver::{Row, Sql, Value};
use anyhow::{Result, anyhow};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, PrepFlags, Statement, ToSql};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// A reader's connection, lent for one job; it finds its prepared statements by their text.
pub(super) struct Lent<'c>(pub &'c Connection);

impl Sql for Lent<'_> {
    fn rows(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let query = || fetch(&mut *self.0.prepare_cached(statement)?, &mut None, values);
        query().map_err(told_apart)
    }

    fn run(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<usize> {
        let execute = || {
            let mut prepared = self.0.prepare_cached(statement)?;
            prepared.execute(rusqlite::params_from_iter(values))
        };
        execute().map_err(told_apart)
    }
}

/// The writer's connection, which lasts as long as its thread. A statement is found by its place in the program:
/// looking up its text costs as much as a row.
pub(super) struct Lasting<'c> {
    connection: &'c Connection,
    prepared: HashMap<(usize, usize), Prepared<'c>, BuildHasherDefault<PlaceHasher>>,
}

/// A statement that stays, and the names of its columns once it has returned a row.
struct Prepared<'c> {
    statement: Statement<'c>,
    columns: Option<Arc<Vec<String>>>,
}

/// Places in the program come from nobody who could choose them badly, so that a stronger hash would be wasted.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(32)
    }
}

impl<'c> Lasting<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            prepared: HashMap::default(),
        }
    }

    /// Runs a statement that takes and returns nothing.
    pub(super) fn execute(&mut self, statement: &'static str) -> rusqlite::Result<()> {
        self.prepare(statement)?.statement.execute([])?;
        Ok(())
    }

    /// A number that changes when another connection has committed.
    pub(super) fn foreign_version(&mut self) -> rusqlite::Result<i64> {
        self.prepare("PRAGMA data_version")?
            .statement
            .query_row([], |row| row.get(0))
    }

    /// How many rows were changed since the connection was opened.
    pub(super) fn total_changes(&self) -> u64 {
        self.connection.total_changes()
    }

    /// Persistent, as SQLite calls it: a statement that stays would otherwise use up the memory kept for short-lived things.
    fn prepare(&mut self, statement: &'static str) -> rusqlite::Result<&mut Prepared<'c>> {
        let place = (statement.as_ptr().addr(), statement.len());
        Ok(match self.prepared.entry(place) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Prepared {
                statement: self
                    .connection
                    .prepare_with_flags(statement, PrepFlags::SQLITE_PREPARE_PERSISTENT)?,
                columns: None,
            }),
        })
    }
}

impl Sql for Lasting<'_> {
    fn rows(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.prepare(statement)
            .and_then(|known| fetch(&mut known.statement, &mut known.columns, values))
            .map_err(told_apart)
    }

    fn run(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<usize> {
        self.prepare(statement)
            .and_then(|known| known.statement.execute(rusqlite::params_from_iter(values)))
            .map_err(told_apart)
    }
}

fn fetch(
    prepared: &mut Statement<'_>,
    columns: &mut Option<Arc<Vec<String>>>,
    values: &[Value<'_>],
) -> rusqlite::Result<Vec<Row>> {
    let column_count = prepared.column_count();
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

impl ToSql for Value<'_> {
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
fn value_from(column: ValueRef<'_>) -> Value<'static> {
    match column {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
        }
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
