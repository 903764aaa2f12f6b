//! Looks into a table that is there already: its columns, a few values, its size. It only reads.

use super::name;
use super::query::json_of;
use super::schema::{Column, Table, qualified};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

/// Rows from which samples are taken.
const LOOKED_AT: usize = 1000;
/// Different values of a column.
pub const SAMPLES: usize = 5;
/// Whole rows.
pub const SAMPLE_ROWS: usize = 3;
/// Longer texts are cut in samples.
pub const SAMPLE_CHARACTERS: usize = 40;

/// A table of `database`; rows are counted and nulls not.
pub fn describe(
    connection: &Connection,
    database: Option<&str>,
    table: &str,
    source: &str,
) -> rusqlite::Result<Table> {
    let name = qualified(database, table);
    let statement = connection.prepare(&format!("SELECT * FROM {name} LIMIT 0"))?;
    let columns: Vec<(String, String)> = statement
        .columns()
        .iter()
        .map(|column| {
            let kind = column.decl_type().unwrap_or("any").to_lowercase();
            (column.name().to_owned(), kind)
        })
        .collect();
    drop(statement);
    let column = |(own, kind): (String, String)| {
        Ok(Column {
            samples: samples(connection, &name, &own)?,
            name: name::in_sql(&own),
            kind,
            nulls: None,
        })
    };
    Ok(Table {
        columns: columns
            .into_iter()
            .map(column)
            .collect::<rusqlite::Result<_>>()?,
        sample_rows: first_rows(connection, &name)?,
        row_count: None,
        source: source.to_owned(),
        name,
    })
}

/// How many rows the table has.
pub fn count(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {name}"), [], |row| {
        row.get(0)
    })?;
    Ok(count.unsigned_abs())
}

fn samples(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<Vec<Value>> {
    let column = name::quoted(column);
    let mut statement = connection.prepare(&format!(
        "SELECT DISTINCT value FROM (SELECT {column} AS value FROM {table} LIMIT {LOOKED_AT}) WHERE value IS NOT NULL LIMIT {SAMPLES}"
    ))?;
    let values = statement.query_map([], |row| Ok(shortened(row.get_ref(0)?)))?;
    values.collect()
}

fn first_rows(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut statement =
        connection.prepare(&format!("SELECT * FROM {table} LIMIT {SAMPLE_ROWS}"))?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|index| Ok(shortened(row.get_ref(index)?)))
            .collect()
    })?;
    rows.collect()
}

fn shortened(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Blob(bytes) => Value::from(format!("blob of {} bytes", bytes.len())),
        other => cut(json_of(other)),
    }
}

/// A value short enough for a sample.
pub fn cut(value: Value) -> Value {
    match value {
        Value::String(text) if text.chars().nth(SAMPLE_CHARACTERS).is_some() => {
            let head: String = text.chars().take(SAMPLE_CHARACTERS).collect();
            Value::from(format!("{head}…"))
        }
        value => value,
    }
}
