//! SQLite's errors in words that a planner can act on: what is wrong, what is there instead. Pure.

use super::guard::{Interrupted, Watch};
use super::permit::Denied;
use crate::dataset::limits::MAX_ROW_BYTES;
use crate::dataset::schema::{Column, Schema, Table};
use crate::dataset::trouble::{Fault, Trouble};
use crate::model::nearest::nearest;
use rusqlite::{Error, ErrorCode};

/// Of a long list of names, so much is shown.
const LIST_CHARACTERS: usize = 1500;
/// Of the SQL around an error, so much is shown.
const NEAR_CHARACTERS: usize = 40;

/// Any error of a question.
pub fn explain(
    error: &Error,
    sql: &str,
    schema: &Schema,
    watch: &Watch,
    denied: &Denied,
) -> Trouble {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => interrupted(watch),
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            let reason = denied
                .reason()
                .unwrap_or_else(|| "that is not allowed".into());
            let message = format!("{reason}; write one SELECT that only reads");
            Trouble::new(Fault::Permission, message)
        }
        Some(ErrorCode::ReadOnly) => Trouble::new(
            Fault::Permission,
            "the datasets are read-only; write one SELECT",
        ),
        Some(ErrorCode::TooBig) => too_big(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Trouble::format(format!("a SQLite file is damaged: {error}"))
        }
        Some(ErrorCode::Unknown) | None => {
            in_sql(&message_of(error), near(error, sql), sql, schema)
        }
        Some(_) => Trouble::new(Fault::Other, error.to_string()),
    }
}

fn interrupted(watch: &Watch) -> Trouble {
    match watch.reason() {
        Some(Interrupted::Stopped) => Trouble::new(Fault::Cancelled, "the query was cancelled"),
        Some(Interrupted::Spilled) => Trouble::new(
            Fault::SqlError,
            format!(
                "sorting or grouping needed more than {} bytes on disk; filter earlier or select fewer columns",
                watch.limits.spill_bytes
            ),
        ),
        Some(Interrupted::Time) | None => Trouble::new(
            Fault::Timeout,
            format!(
                "the query took more than {} s; filter earlier, join on equal columns, or end the recursion",
                watch.limits.time.as_secs_f32()
            ),
        ),
    }
}

fn too_big() -> Trouble {
    let message = format!("a value or row has more than {MAX_ROW_BYTES} bytes; make it shorter");
    Trouble::new(Fault::SqlError, message)
}

fn message_of(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg)) => msg.clone(),
        other => other.to_string(),
    }
}

/// The SQL where the error is.
fn near(error: &Error, sql: &str) -> Option<String> {
    let Error::SqlInputError { offset, .. } = error else {
        return None;
    };
    let rest = sql.get(usize::try_from(*offset).ok()?..)?.trim();
    let near: String = rest.chars().take(NEAR_CHARACTERS).collect();
    (!near.is_empty()).then(|| format!(", near: {near}"))
}

fn in_sql(message: &str, near: Option<String>, sql: &str, schema: &Schema) -> Trouble {
    if message.contains("too big") {
        return too_big();
    }
    if let Some(name) = message.strip_prefix("no such table: ") {
        return no_table(name, schema);
    }
    if let Some(name) = message.strip_prefix("no such column: ") {
        return no_column(name, sql, schema);
    }
    let near = near.unwrap_or_default();
    Trouble::new(Fault::SqlError, format!("{message}{near}"))
}

/// A table that does not exist, and those that do.
pub fn no_table(name: &str, schema: &Schema) -> Trouble {
    let known: Vec<&str> = schema
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    // Whoever leaves out the schema is to hear of the whole name.
    let near = |table: &&&str| {
        let bare = table.rsplit('.').next().unwrap_or(table);
        !name.contains('.') && nearest(name, [bare]).is_some()
    };
    let suggestion = match suggest(name, known.iter().copied()) {
        none if none.is_empty() => meant(known.iter().find(near).copied()),
        found => found,
    };
    Trouble::new(
        Fault::SchemaMismatch,
        format!(
            "no such table: {name}{suggestion}; tables: {}",
            list(&known)
        ),
    )
}

/// A column that does not exist, and those that do. SQLite may add a remark of its own after the name: that text wants single quotes.
pub fn no_column(written: &str, sql: &str, schema: &Schema) -> Trouble {
    let (name, remark) = match written.split_once(" - ") {
        Some((name, remark)) => (name, format!("; {remark}")),
        None => (written, String::new()),
    };
    let asked = asked_tables(sql, schema);
    let bare = name.rsplit('.').next().unwrap_or(name).trim_matches('"');
    let columns = || asked.iter().flat_map(|table| &table.columns);
    let known = columns().map(|column| column.name.trim_matches('"'));
    let suggestion = suggest(bare, known);
    let columns: Vec<String> = asked.iter().map(|table| of_table(table)).collect();
    Trouble::new(
        Fault::SchemaMismatch,
        format!(
            "no such column: {name}{remark}{suggestion}; columns: {}",
            list(&columns.iter().map(String::as_str).collect::<Vec<_>>())
        ),
    )
}

fn of_table(table: &Table) -> String {
    let name = |column: &Column| column.name.clone();
    let columns: Vec<String> = table.columns.iter().map(name).collect();
    format!("{} ({})", table.name, columns.join(", "))
}

/// The tables whose name is somewhere in the SQL; all, where none is.
fn asked_tables<'s>(sql: &str, schema: &'s Schema) -> Vec<&'s Table> {
    let sql = sql.to_lowercase();
    let asked = |table: &&Table| {
        let name = table.name.to_lowercase();
        let bare = name.rsplit('.').next().unwrap_or(&name);
        sql.contains(bare.trim_matches('"'))
    };
    let tables: Vec<&Table> = schema.tables.iter().filter(asked).collect();
    match tables.is_empty() {
        true => schema.tables.iter().collect(),
        false => tables,
    }
}

fn suggest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    meant(nearest(name, known))
}

fn meant(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean {name}?"))
}

fn list(names: &[&str]) -> String {
    let text = names.join(", ");
    match text.char_indices().nth(LIST_CHARACTERS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
