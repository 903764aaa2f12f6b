//! TOML as a placed tree, with all syntax errors at once.

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::{Entry, Node, Place, Value};

/// A syntax error with its line and column, both from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// Reads a TOML document.
pub fn parse(text: &str) -> Result<Node, Vec<SyntaxError>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mut errors: Vec<_> = errors
            .iter()
            .map(|error| syntax_error(text, error))
            .collect();
        errors.sort_by_key(|error| (error.line, error.column));
        return Err(errors);
    }
    let lines = Lines::new(text);
    let value = table_value(table.into_inner(), &|offset| lines.place(offset));
    Ok(Node::new(Place::Unknown, value))
}

/// Reads a single TOML value, all of it at the one given place.
pub fn parse_value(text: &str, place: &Place) -> Option<Value> {
    let parsed = DeValue::parse(text).ok()?;
    Some(value(parsed.into_inner(), &|_| place.clone()))
}

fn syntax_error(text: &str, error: &toml::de::Error) -> SyntaxError {
    let offset = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    SyntaxError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: error.message().lines().collect::<Vec<_>>().join("; "),
    }
}

/// The offsets at which lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines(std::iter::once(0).chain(breaks).collect())
    }

    fn place(&self, offset: usize) -> Place {
        Place::Line(self.0.partition_point(|start| *start <= offset))
    }
}

fn table_value(table: DeTable<'_>, place: &dyn Fn(usize) -> Place) -> Value {
    let entries = table.into_iter().map(|(key, node)| Entry {
        place: place(key.span().start),
        name: key.into_inner().into_owned(),
        node: placed(node, place),
    });
    Value::Table(entries.collect())
}

fn placed(node: Spanned<DeValue<'_>>, place: &dyn Fn(usize) -> Place) -> Node {
    let start = node.span().start;
    Node::new(place(start), value(node.into_inner(), place))
}

fn value(value: DeValue<'_>, place: &dyn Fn(usize) -> Place) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => integer_value(&integer),
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Datetime(datetime) => Value::Datetime(datetime.to_string()),
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| placed(item, place)).collect())
        }
        DeValue::Table(table) => table_value(table, place),
    }
}

/// A number beyond 128 bits keeps its text, so that the message can show it.
fn integer_value(integer: &DeInteger<'_>) -> Value {
    match i128::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Text(integer.as_str().to_owned()),
    }
}
