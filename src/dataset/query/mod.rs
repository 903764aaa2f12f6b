//! One read-only question to SQLite, within limits of time, rows and room. What comes out is JSON.

mod explain;
mod functions;
mod guard;
mod permit;

pub use explain::{no_column, no_table};
pub use guard::{Watch, confine, open, open_with, tables_of};

use super::attached::Attached;
use super::limits::QueryLimits;
use super::schema::Schema;
use super::trouble::{Fault, Trouble};
use explain::explain;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Batch, Connection, Statement};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// One question.
#[derive(Clone, Debug, Default)]
pub struct Question<'q> {
    /// One SELECT, with `?1`, `?2` … for the parameters; with `$1`, `$2` … where [`Datasets::dialect_for`] says PostgreSQL.
    ///
    /// [`Datasets::dialect_for`]: super::Datasets::dialect_for
    pub sql: &'q str,
    /// The values of the parameters; arrays and objects are bound as JSON text.
    pub parameters: &'q [Value],
    /// The dataset that the question's task names; it decides where the tables of the SQL do not.
    pub target: Option<&'q str>,
    /// Once true, the question is given up.
    pub stop: Option<Arc<AtomicBool>>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rows {
    /// The columns' names; they may repeat.
    pub columns: Vec<String>,
    /// The rows, each with as many values as there are columns.
    pub rows: Vec<Vec<Value>>,
    /// Whether there were more rows than the limits allow.
    pub truncated: bool,
    /// Milliseconds from start to the last row.
    pub took_ms: u64,
}

impl Rows {
    /// Nothing found is a trouble of its own kind.
    pub fn require_some(&self) -> Result<(), Trouble> {
        let nothing = self.rows.is_empty() || self.rows.iter().flatten().all(Value::is_null);
        match nothing {
            false => Ok(()),
            true => Err(Trouble::new(
                Fault::NoData,
                "the query found nothing: no row, or only NULL",
            )),
        }
    }

    /// The rows as objects; of columns with the same name the last counts.
    pub fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row: &Vec<Value>| {
            let pairs = self.columns.iter().cloned().zip(row.iter().cloned());
            pairs.collect()
        };
        self.rows.iter().map(object).collect()
    }
}

/// More than this is not looked at.
pub fn check_length(sql: &str, limits: &QueryLimits) -> Result<(), Trouble> {
    let (length, most) = (sql.len(), limits.sql_bytes);
    match length > most {
        true => Err(Trouble::new(
            Fault::SqlError,
            format!("the SQL has {length} bytes; at most {most}"),
        )),
        false => Ok(()),
    }
}

/// Asks the imported tables and the attached files.
pub fn ask(
    file: &Path,
    attached: &[Attached],
    schema: &Schema,
    question: &Question<'_>,
    limits: &QueryLimits,
) -> Result<Rows, Trouble> {
    let connection = open_with(file, attached)?;
    let tables = tables_of(&connection, attached)?;
    let denied = confine(&connection, attached.len(), tables, limits)?;
    let watch = Watch::start(&connection, limits, question.stop.clone())?;
    run(&connection, question, limits, watch.started).map_err(|failed| match failed {
        Failed::Told(trouble) => trouble,
        Failed::Sqlite(error) => explain(&error, question.sql, schema, &watch, &denied),
    })
}

/// What stopped a question: our own words, or SQLite's, which need explaining.
enum Failed {
    Told(Trouble),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Failed::Sqlite(error)
    }
}

fn run(
    connection: &Connection,
    question: &Question<'_>,
    limits: &QueryLimits,
    started: Instant,
) -> Result<Rows, Failed> {
    let mut statement = single(connection, question.sql)?;
    bind(&mut statement, question.parameters)?;
    let columns: Vec<String> = statement
        .column_names()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut gathered = Gathered {
        rows: Vec::new(),
        room: limits.result_bytes,
        truncated: false,
    };
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if gathered.rows.len() >= limits.rows {
            gathered.truncated = true;
            break;
        }
        if !gathered.take(row, columns.len())? {
            break;
        }
    }
    Ok(Rows {
        columns,
        rows: gathered.rows,
        truncated: gathered.truncated,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// The one statement of a text. Not by `Connection::prepare`: that calls itself for every semicolon, down to the end of the stack.
fn single<'c>(connection: &'c Connection, sql: &str) -> Result<Statement<'c>, Failed> {
    let told = |fault, message: &str| Failed::Told(Trouble::new(fault, message));
    let sql = sql.trim_end_matches([';', ' ', '\t', '\r', '\n']);
    let mut batch = Batch::new(connection, sql);
    let Some(statement) = batch.next()? else {
        return Err(told(
            Fault::SqlError,
            "there is no SQL statement; write one SELECT",
        ));
    };
    if !matches!(batch.next(), Ok(None)) {
        let message = "more than one statement; write exactly one SELECT";
        return Err(told(Fault::Permission, message));
    }
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(told(
            Fault::Permission,
            "the datasets are read-only; write one SELECT",
        ));
    }
    Ok(statement)
}

fn bind(statement: &mut Statement<'_>, parameters: &[Value]) -> Result<(), Failed> {
    let wanted = statement.parameter_count();
    if wanted != parameters.len() {
        return Err(Failed::Told(Trouble::new(
            Fault::SqlError,
            format!(
                "the SQL has {wanted} parameters, but {} values were given; write ?1 to ?{} and use each",
                parameters.len(),
                parameters.len().max(1)
            ),
        )));
    }
    for (index, value) in parameters.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, ToSqlOutput::Owned(sql_of(value)))?;
    }
    Ok(())
}

fn sql_of(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Bool(truth) => SqlValue::Integer(i64::from(*truth)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => SqlValue::Integer(whole),
            // Beyond 64 bits imports keep integers as text.
            (None, _) if number.is_u64() => SqlValue::Text(number.to_string()),
            (None, Some(real)) => SqlValue::Real(real),
            (None, None) => SqlValue::Text(number.to_string()),
        },
        Value::String(text) => SqlValue::Text(text.clone()),
        nested => SqlValue::Text(nested.to_string()),
    }
}

/// Rows so far, and the room that is left.
struct Gathered {
    rows: Vec<Vec<Value>>,
    room: usize,
    truncated: bool,
}

impl Gathered {
    /// Whether the row still had room. Not one row is an error rather than an empty answer.
    fn take(&mut self, row: &rusqlite::Row<'_>, columns: usize) -> Result<bool, Failed> {
        let mut values = Vec::with_capacity(columns);
        for index in 0..columns {
            let value = row.get_ref(index)?;
            let bytes = weight(value);
            if bytes > self.room {
                self.truncated = true;
                return match self.rows.is_empty() {
                    false => Ok(false),
                    true => Err(Failed::Told(Trouble::new(
                        Fault::SqlError,
                        "the first row alone is larger than a result may be; select fewer columns",
                    ))),
                };
            }
            self.room -= bytes;
            values.push(json_of(value));
        }
        self.rows.push(values);
        Ok(true)
    }
}

/// About what a value takes as JSON.
fn weight(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        ValueRef::Text(text) => text.len() + 3,
        ValueRef::Blob(bytes) => bytes.len() * 2 + 3,
    }
}

/// A value as JSON: bytes in hexadecimal, the infinite in words.
pub fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) if number.is_infinite() => match number > 0.0 {
            true => Value::from("Infinity"),
            false => Value::from("-Infinity"),
        },
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => {
            let hexadecimal = bytes.iter().map(|byte| format!("{byte:02x}"));
            Value::from(hexadecimal.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_by_their_kind() {
        for (value, expected) in [
            (json!(null), SqlValue::Null),
            (json!(true), SqlValue::Integer(1)),
            (json!(5), SqlValue::Integer(5)),
            (json!(0.5), SqlValue::Real(0.5)),
            (json!(u64::MAX), SqlValue::Text(u64::MAX.to_string())),
            (json!("x"), SqlValue::Text("x".into())),
            (json!([1, "a"]), SqlValue::Text("[1,\"a\"]".into())),
        ] {
            assert_eq!(sql_of(&value), expected);
        }
    }

    #[test]
    fn values_as_json() {
        for (value, expected) in [
            (ValueRef::Null, json!(null)),
            (ValueRef::Integer(i64::MAX), json!(i64::MAX)),
            (ValueRef::Real(0.1), json!(0.1)),
            (ValueRef::Real(f64::NEG_INFINITY), json!("-Infinity")),
            (ValueRef::Text(b"a"), json!("a")),
            (ValueRef::Blob(&[1, 255]), json!("01ff")),
        ] {
            assert_eq!(json_of(value), expected);
        }
    }
}
