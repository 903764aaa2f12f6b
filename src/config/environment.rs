//! The environment as it was handed over, and the keys that it sets. It never asks the process itself,
//! except in [`Environment::of_process`].

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::model::document::shape::Kind;
use crate::model::document::{Entry, Finding, Node, Place, Shape, Value, toml};

const PREFIX: &str = "RALPHD_";
const SEPARATOR: &str = "__";

/// A snapshot of environment variables.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Environment {
        let pairs = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Environment(pairs.collect())
    }
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Environment {
        std::env::vars_os().collect()
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(OsStr::new(name))?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// The value of a variable that must be an absolute path to count, as the XDG rules have it.
    pub fn absolute_path(&self, name: &str) -> Option<PathBuf> {
        self.get(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    /// Lays the keys that variables set over `tree`, in the types that `shape` wants.
    pub(super) fn lay_over(&self, tree: &mut Node, shape: &Shape) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, value) in &self.0 {
            let Some((variable, path)) = name.to_str().and_then(key_path) else {
                continue;
            };
            let place = Place::Variable(variable.to_owned());
            let outcome = match value.to_str() {
                Some(text) => set(tree, shape, &path, text, &place),
                None => Err("is not valid UTF-8".to_owned()),
            };
            if let Err(message) = outcome {
                findings.push(Finding {
                    place,
                    key: path.join("."),
                    message,
                });
            }
        }
        findings
    }
}

/// `RALPHD_HTTP__LISTEN` names `http.listen`; a variable without the double underscore names no key.
fn key_path(variable: &str) -> Option<(&str, Vec<String>)> {
    let path = variable.strip_prefix(PREFIX)?;
    let steps = path.split(SEPARATOR).map(str::to_lowercase);
    path.contains(SEPARATOR)
        .then(|| (variable, steps.collect()))
}

fn set(
    node: &mut Node,
    shape: &Shape,
    path: &[String],
    text: &str,
    place: &Place,
) -> Result<(), String> {
    let Some((name, rest)) = path.split_first() else {
        node.value = wanted_value(text, shape, place);
        node.place = place.clone();
        return Ok(());
    };
    let Value::Table(entries) = &mut node.value else {
        return Err(
            "cannot be set by the environment: it is not inside a table of keys".to_owned(),
        );
    };
    let index = match entries.iter().position(|entry| entry.name == *name) {
        Some(index) => index,
        None => {
            entries.push(Entry {
                name: name.clone(),
                place: place.clone(),
                node: Node::new(place.clone(), Value::Table(Vec::new())),
            });
            entries.len() - 1
        }
    };
    let entry = &mut entries[index];
    if rest.is_empty() {
        entry.place = place.clone();
    }
    // An unknown key is kept as it is, for the checker to report with its nearest known one.
    let anything = Shape {
        kind: Kind::Anything,
        nullable: false,
    };
    let inner = shape.entry(name).unwrap_or(&anything);
    set(&mut entry.node, inner, rest, text, place)
}

/// The text as a TOML value where that has the wanted type, else as plain text or a comma-separated list.
fn wanted_value(text: &str, shape: &Shape, place: &Place) -> Value {
    let parsed = toml::parse_value(text, place);
    match (&shape.kind, parsed) {
        (Kind::Text(_), Some(value @ Value::Text(_)))
        | (
            Kind::Integer(_) | Kind::Number(_),
            Some(value @ (Value::Integer(_) | Value::Float(_))),
        )
        | (Kind::Boolean, Some(value @ Value::Boolean(_)))
        | (Kind::List(_), Some(value @ Value::List(_)))
        | (Kind::Table(_), Some(value @ Value::Table(_))) => value,
        (Kind::List(list), _) => {
            let items = text
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty());
            Value::List(
                items
                    .map(|item| Node::new(place.clone(), wanted_value(item, &list.item, place)))
                    .collect(),
            )
        }
        _ => Value::Text(text.to_owned()),
    }
}
