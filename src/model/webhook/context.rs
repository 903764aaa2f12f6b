//! What templates see of a delivery, and what they ask for that it does not have.

use super::{Headers, Refusal};
use minijinja::value::Serde;
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashSet};

/// The only names that a template has.
pub(super) const NAMES: [&str; 2] = ["payload", "headers"];

#[derive(Serialize)]
struct Values<'a> {
    payload: &'a Json,
    headers: BTreeMap<&'a str, String>,
}

/// The values of one delivery.
pub(super) fn of(payload: &Json, headers: &Headers<'_>) -> Value {
    let headers = headers.shown();
    Value::from(Serde(&Values { payload, headers }))
}

/// The values of a delivery that says nothing.
pub(super) fn nothing() -> Value {
    of(&Json::Object(serde_json::Map::new()), &Headers::new(&[]))
}

/// Why a template could not be filled; `asked` are the values that it names.
pub(super) fn refusal(
    key: &str,
    error: &Error,
    asked: HashSet<String>,
    context: &Value,
) -> Refusal {
    if error.kind() == ErrorKind::UndefinedError {
        let mut missing: Vec<String> = asked
            .into_iter()
            .filter(|path| is_missing(path, context))
            .collect();
        missing.sort();
        if !missing.is_empty() {
            return Refusal::Malformed(format!(
                "{key}: the delivery has no {}",
                missing.join(", ")
            ));
        }
    }
    Refusal::Malformed(format!("{key}: {error}"))
}

fn is_missing(path: &str, context: &Value) -> bool {
    let mut found = context.clone();
    for step in path.split('.') {
        match found.get_attr(step) {
            Ok(inner) if !inner.is_undefined() => found = inner,
            _ => return true,
        }
    }
    false
}
