//! How the database file itself is: SQLite's own checks. They only look.

use super::driver::{Row, Sql, Value};
use super::query;
use anyhow::{Context, Result};

/// A glance at the structure of the file; nothing found is good.
pub fn quick_check(sql: &mut dyn Sql) -> Result<Vec<String>> {
    problems(&sql.rows(query!("health_quick_check"), &[])?)
}

/// The whole file, with its indexes; nothing found is good.
pub fn integrity_check(sql: &mut dyn Sql) -> Result<Vec<String>> {
    problems(&sql.rows(query!("health_integrity_check"), &[])?)
}

/// Rows that point to others which are not there.
pub fn foreign_key_check(sql: &mut dyn Sql) -> Result<Vec<String>> {
    let rows = sql.rows(query!("health_foreign_key_check"), &[])?;
    rows.iter()
        .map(|row| {
            let (table, parent) = (row.text("table")?, row.text("parent")?);
            let number = row.optional_int("rowid")?.map(|rowid| format!(" {rowid}"));
            let number = number.unwrap_or_default();
            Ok(format!(
                "row{number} of {table} points to a row of {parent} that is not there"
            ))
        })
        .collect()
}

/// Which schema the file has.
pub fn schema_version(sql: &mut dyn Sql) -> Result<i64> {
    let row = sql.row(query!("health_schema_version"), &[])?;
    row.context("no schema version")?.int("user_version")
}

/// SQLite answers with problems, or with the one word `ok`; the column's name is the check's own.
fn problems(rows: &[Row]) -> Result<Vec<String>> {
    let texts = rows.iter().filter_map(|row| match row.iter().next() {
        Some((_, Value::Text(text))) => Some(text.to_string()),
        _ => None,
    });
    Ok(texts.filter(|text| text != "ok").collect())
}
