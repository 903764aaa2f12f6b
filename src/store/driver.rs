//! The seam to a database: a few kinds of value, rows, and a driver that runs closures.
//! It must not know a table or a verb; those are written once, above it, for every driver.

use super::pace::Pace;
use anyhow::{Context, Result, bail};
use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

/// A value on its way to or from the database. A text on its way in is borrowed where it can be: the one writer is what all wait for.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Int(i64::from(value))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Int(i64::from(value))
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Value::Text(Cow::Owned(value))
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// Builds the parameter list of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::store::driver::Value::from($value)),*] };
}
pub(crate) use values;

/// One row, its values found by column name.
#[derive(Clone, Debug)]
pub struct Row {
    columns: Arc<Vec<String>>,
    values: Vec<Value<'static>>,
}

impl Row {
    /// A row of `values` under `columns`.
    pub fn new(columns: Arc<Vec<String>>, values: Vec<Value<'static>>) -> Self {
        Self { columns, values }
    }

    /// The value under `column`.
    pub fn value(&self, column: &str) -> Result<&Value<'static>> {
        let position = self
            .columns
            .iter()
            .position(|name| name == column)
            .with_context(|| format!("the query returns no column {column}"))?;
        Ok(&self.values[position])
    }

    /// The names and values, in the order of the query.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'static>)> {
        self.columns
            .iter()
            .map(String::as_str)
            .zip(self.values.iter())
    }

    /// A text, or nothing where the column is null.
    pub fn optional_text(&self, column: &str) -> Result<Option<String>> {
        Ok(match self.value(column)? {
            Value::Null => None,
            Value::Text(text) => Some(text.clone().into_owned()),
            Value::Int(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
        })
    }

    /// A text that must be there.
    pub fn text(&self, column: &str) -> Result<String> {
        self.optional_text(column)?
            .with_context(|| format!("column {column} is null"))
    }

    /// A whole number, or nothing where the column is null.
    pub fn optional_int(&self, column: &str) -> Result<Option<i64>> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(*number)),
            other => bail!("column {column} holds {other:?}, not a whole number"),
        }
    }

    /// A whole number that must be there.
    pub fn int(&self, column: &str) -> Result<i64> {
        self.optional_int(column)?
            .with_context(|| format!("column {column} is null"))
    }

    /// A number, or nothing where the column is null.
    pub fn optional_real(&self, column: &str) -> Result<Option<f64>> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(*number as f64)),
            Value::Real(number) => Ok(Some(*number)),
            other => bail!("column {column} holds {other:?}, not a number"),
        }
    }

    /// A yes or no, stored as 1 or 0.
    pub fn flag(&self, column: &str) -> Result<bool> {
        Ok(self.optional_int(column)? == Some(1))
    }

    /// JSON, or nothing where the column is null.
    pub fn optional_json(&self, column: &str) -> Result<Option<serde_json::Value>> {
        self.optional_text(column)?
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .with_context(|| format!("column {column} is not JSON"))
    }

    /// A word of a closed set.
    pub fn word<W: FromStr>(&self, column: &str) -> Result<W>
    where
        W::Err: std::error::Error + Send + Sync + 'static,
    {
        self.text(column)?
            .parse::<W>()
            .with_context(|| format!("column {column}"))
    }

    /// A word of a closed set, or nothing where the column is null.
    pub fn optional_word<W: FromStr>(&self, column: &str) -> Result<Option<W>>
    where
        W::Err: std::error::Error + Send + Sync + 'static,
    {
        self.optional_text(column)?
            .map(|text| text.parse::<W>())
            .transpose()
            .with_context(|| format!("column {column}"))
    }
}

/// A connection inside a transaction: all that the verbs above need. Statements are part of the program, so a driver may know
/// them by their place in it.
pub trait Sql {
    /// Runs a statement and returns its rows.
    fn rows(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>>;

    /// Runs a statement and returns how many rows it changed.
    fn run(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<usize>;

    /// Runs a statement and returns its first row, if any.
    fn row(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Option<Row>> {
        Ok(self.rows(statement, values)?.into_iter().next())
    }
}

/// Who is woken by a commit, beside the one who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// A heartbeat.
    Nobody,
    /// Something to see, but nothing became ready and nothing ended: a turn of a running loop.
    Watchers,
    /// The queue and the outbox too.
    Everybody,
}

/// Work to be done inside a transaction, with somebody who waits for it.
pub trait Job: Send {
    /// Does the work; false undoes it. It may be done again, from the start, when a neighbour in the same commit failed.
    fn run(&mut self, sql: &mut dyn Sql) -> bool;

    /// Who else may care that it was done.
    fn audience(&self) -> Audience;

    /// Tells whoever waits, once it is known whether the commit that holds the work reached the disk.
    fn tell(self: Box<Self>, committed: Result<(), String>);
}

/// A database.
pub trait Driver: Send + Sync + 'static {
    /// Brings the schema up to date, after a backup where there is something to lose.
    fn migrate(&self) -> Result<()>;

    /// Refuses a schema that is not up to date, without touching it.
    fn require_current(&self) -> Result<()>;

    /// Runs a job on a reader. Blocking.
    fn read(&self, job: Box<dyn Job>) -> Result<()>;

    /// Hands a job to the writer, which commits it together with its neighbours. Resolves when it was taken.
    fn write(
        &self,
        job: Box<dyn Job>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send + '_>>;

    /// Changes with each commit for everybody that changed something.
    fn commits(&self) -> tokio::sync::watch::Receiver<u64>;

    /// Changes with each commit that there is something to see of.
    fn news(&self) -> tokio::sync::watch::Receiver<u64>;

    /// Changes with each commit of another process that was noticed.
    fn foreign_commits(&self) -> tokio::sync::watch::Receiver<u64>;

    /// Sees soon whether another process has committed, and wakes whoever waits for a commit if so.
    fn look_for_others(&self);

    /// How fast it is.
    fn pace(&self) -> &Arc<Pace>;

    /// A consistent copy of the whole database in a new file.
    fn backup(&self, target: &std::path::Path) -> Result<()>;
}
