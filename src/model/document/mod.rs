//! A settings document as a tree in which every value knows its place, whatever it was written in
//! (YAML, JSON, TOML, the environment), and the one checker that compares it with a JSON Schema.
//! It reads text that it is given; it opens no file and applies no default.

pub mod check;
pub mod format;
pub mod json;
pub mod shape;
pub mod toml;
pub mod yaml;

use std::fmt;

pub use check::check;
pub use shape::Shape;

/// Where a value was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    #[default]
    Unknown,
    /// A line of the document, from 1.
    Line(usize),
    /// An environment variable.
    Variable(String),
}

impl Place {
    pub fn line(&self) -> Option<usize> {
        match self {
            Place::Line(line) => Some(*line),
            Place::Unknown | Place::Variable(_) => None,
        }
    }
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    /// A bare date or time of TOML, as it was written.
    Datetime(String),
    List(Vec<Node>),
    /// Entries in the order of the document; a duplicate stays in, for the checker to report.
    Table(Vec<Entry>),
}

/// A key of a table, with the key's own place.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    pub place: Place,
    pub node: Node,
}

/// Something wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub place: Place,
    /// The dotted path of the key; empty for the document as a whole.
    pub key: String,
    pub message: String,
}

impl Node {
    pub fn new(place: Place, value: Value) -> Node {
        Node { place, value }
    }

    pub fn empty_table() -> Node {
        Node::new(Place::Unknown, Value::Table(Vec::new()))
    }

    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.name == name)
    }

    /// The place of the value at a path of table keys, if it was given.
    pub fn place_of(&self, path: &[&str]) -> Option<&Place> {
        match path {
            [] => Some(&self.place),
            [last] => self.entry(last).map(|entry| &entry.place),
            [first, rest @ ..] => self.entry(first)?.node.place_of(rest),
        }
    }
}

/// Values that a program made have no place.
impl From<serde_json::Value> for Node {
    fn from(value: serde_json::Value) -> Node {
        use serde_json::Value as Json;
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Boolean(value),
            Json::Number(number) => match number.as_i128() {
                Some(number) => Value::Integer(number),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(items.into_iter().map(Node::from).collect()),
            Json::Object(fields) => Value::Table(fields.into_iter().map(placeless_entry).collect()),
        };
        Node::new(Place::Unknown, value)
    }
}

fn placeless_entry((name, value): (String, serde_json::Value)) -> Entry {
    Entry {
        name,
        place: Place::Unknown,
        node: Node::from(value),
    }
}

/// How much of a value is repeated in a message.
const EXCERPT_CHARACTERS: usize = 40;

impl fmt::Display for Value {
    /// The value as a message names it: `text "5"`, `a list`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => formatter.write_str("empty"),
            Value::Boolean(value) => write!(formatter, "{value}"),
            Value::Integer(value) => write!(formatter, "the number {value}"),
            Value::Float(value) => write!(formatter, "the number {value}"),
            Value::Text(text) => write!(formatter, "text {}", excerpt(text)),
            Value::Datetime(text) => write!(formatter, "the date {text}"),
            Value::List(_) => formatter.write_str("a list"),
            Value::Table(_) => formatter.write_str("a table of keys"),
        }
    }
}

/// The beginning of a text, quoted on one line.
pub fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
