//! One statement to a server, within limits of time, rows and room.

use super::explain::explain;
use super::parameter::Parameter;
use super::permit::{HARMLESS, not_allowed, single_select};
use super::session::read_only;
use super::value::{Shape, as_text};
use crate::dataset::limits::{MAX_COLUMNS, MAX_ROW_BYTES, QueryLimits};
use crate::dataset::query::{Question, Rows};
use crate::dataset::schema::Schema;
use crate::dataset::trouble::{Fault, Trouble};
use futures_util::TryStreamExt;
use serde_json::Value;
use std::error::Error as Cause;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Error, Row, Statement, Transaction};

/// Rows asked for at a time: a huge result is never on its way as a whole.
const BATCH: i32 = 256;
/// Of functions with these names, one that may do more than compute. A trigger's cannot be called.
const VOLATILE: &str = "SELECT proname::text FROM pg_catalog.pg_proc WHERE provolatile = 'v' AND proname::text = ANY ($1) \
    AND NOT proname::text = ANY ($2) AND prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype ORDER BY 1 LIMIT 1";

/// A question that takes too long, in words.
pub fn too_long(time: Duration) -> Trouble {
    let message = format!(
        "the query took more than {} s; filter earlier, join on equal columns, or end the recursion",
        time.as_secs_f32()
    );
    Trouble::new(Fault::Timeout, message)
}

/// Asks one question. The transaction ends with the connection, by being rolled back.
pub async fn ask(
    client: &mut Client,
    question: &Question<'_>,
    limits: &QueryLimits,
    schema: &Schema,
) -> Result<Rows, Trouble> {
    let started = Instant::now();
    let (sql, functions) = single_select(question.sql)?;
    let explained = |error: Error| match explain(&error, sql, schema) {
        trouble if trouble.fault == Fault::Timeout => too_long(limits.time),
        trouble => trouble,
    };
    let transaction = read_only(client, limits.time).await.map_err(explained)?;
    let found = transaction
        .query_opt(VOLATILE, &[&functions, &HARMLESS])
        .await;
    if let Some(row) = found.map_err(explained)? {
        let message = not_allowed(row.get(0));
        return Err(Trouble::new(Fault::Permission, message));
    }
    let asked = transaction.prepare(sql).await.map_err(explained)?;
    check(&asked, question.parameters)?;
    let fetched = Fetch {
        transaction: &transaction,
        asked: &asked,
        sql,
        parameters: question.parameters,
        limits,
        characters: MAX_ROW_BYTES + 1,
    };
    let gathered = fetched.rows().await.map_err(|failed| match failed {
        Failed::Told(trouble) => trouble,
        Failed::Server(error) => explained(error),
    })?;
    Ok(Rows {
        columns: asked
            .columns()
            .iter()
            .map(|column| column.name().to_owned())
            .collect(),
        rows: gathered.rows,
        truncated: gathered.truncated,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

fn check(asked: &Statement, parameters: &[Value]) -> Result<(), Trouble> {
    let (columns, wanted, given) = (
        asked.columns().len(),
        asked.params().len(),
        parameters.len(),
    );
    if wanted != given {
        let most = given.max(1);
        return Err(Trouble::new(
            Fault::SqlError,
            format!(
                "the SQL has {wanted} parameters, but {given} values were given; write $1 to ${most} and use each"
            ),
        ));
    }
    match columns {
        // SELECT INTO among them.
        0 => Err(Trouble::new(
            Fault::Permission,
            "the datasets are read-only; write one SELECT with columns",
        )),
        1..=MAX_COLUMNS => Ok(()),
        _ => Err(Trouble::new(
            Fault::SqlError,
            format!("{columns} columns; at most {MAX_COLUMNS}"),
        )),
    }
}

/// What stopped a question: our own words, or the server's, which need explaining.
pub enum Failed {
    Told(Trouble),
    Server(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Server(error)
    }
}

/// How a prepared statement's rows are to be had.
pub struct Fetch<'f> {
    pub transaction: &'f Transaction<'f>,
    pub asked: &'f Statement,
    pub sql: &'f str,
    pub parameters: &'f [Value],
    pub limits: &'f QueryLimits,
    /// Of each value; the rest does not leave the server.
    pub characters: usize,
}

impl Fetch<'_> {
    /// The rows, as many as the limits let through.
    pub async fn rows(&self) -> Result<Gathered, Failed> {
        let shapes: Vec<Shape> = self
            .asked
            .columns()
            .iter()
            .map(|column| Shape::of(column.type_()))
            .collect();
        let text = as_text(self.sql, &shapes, self.characters);
        let statement = self
            .transaction
            .prepare_typed(&text, self.asked.params())
            .await?;
        let parameters: Vec<Parameter<'_>> = self.parameters.iter().map(Parameter).collect();
        let portal = self.transaction.bind_raw(&statement, &parameters).await?;
        let mut gathered = Gathered {
            rows: Vec::new(),
            room: self.limits.result_bytes,
            truncated: false,
        };
        loop {
            let mut batch = pin!(self.transaction.query_portal_raw(&portal, BATCH).await?);
            let mut arrived = 0;
            while let Some(row) = batch.try_next().await? {
                arrived += 1;
                if gathered.rows.len() >= self.limits.rows {
                    gathered.truncated = true;
                }
                if gathered.truncated || !gathered.take(&row, &shapes)? {
                    return Ok(gathered);
                }
            }
            if arrived < BATCH {
                return Ok(gathered);
            }
        }
    }
}

/// Rows so far, and the room that is left.
pub struct Gathered {
    pub rows: Vec<Vec<Value>>,
    room: usize,
    pub truncated: bool,
}

impl Gathered {
    /// Whether the row still had room. Not one row is an error rather than an empty answer.
    fn take(&mut self, row: &Row, shapes: &[Shape]) -> Result<bool, Failed> {
        let told = |message: String| Failed::Told(Trouble::new(Fault::SqlError, message));
        let mut values = Vec::with_capacity(shapes.len());
        for (index, shape) in shapes.iter().enumerate() {
            let bytes = row
                .try_get::<_, Option<Bytes<'_>>>(index)?
                .map(|bytes| bytes.0);
            let length = bytes.map_or(0, <[u8]>::len);
            if length > MAX_ROW_BYTES {
                let message =
                    format!("a value has more than {MAX_ROW_BYTES} bytes; make it shorter");
                return Err(told(message));
            }
            if length + WEIGHT > self.room {
                self.truncated = true;
                return match self.rows.is_empty() {
                    false => Ok(false),
                    true => Err(told(
                        "the first row alone is larger than a result may be; select fewer columns"
                            .to_owned(),
                    )),
                };
            }
            self.room -= length + WEIGHT;
            let text = bytes.map(String::from_utf8_lossy);
            values.push(text.map_or(Value::Null, |text| shape.read(&text)));
        }
        self.rows.push(values);
        Ok(true)
    }
}

/// What a value takes as JSON beside its text.
const WEIGHT: usize = 3;

/// A text that may not be UTF-8, as in a database without an encoding.
struct Bytes<'r>(&'r [u8]);

impl<'r> FromSql<'r> for Bytes<'r> {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Cause + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
