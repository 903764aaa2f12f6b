//! What a placeholder stands for, found in the results of a task's dependencies. What is not there is an error that says what is.

use serde_json::Value as Json;
use std::collections::BTreeMap;

use super::Placeholder;
use crate::model::document::excerpt;

/// Keys of a result under which a dataset is named.
const FILE_KEYS: [&str; 3] = ["file_id", "target", "decision"];
/// Keys of a result under which its one outcome stands.
const VALUE_KEYS: [&str; 2] = ["value", "decision"];
/// How many keys an error lists.
const MAX_LISTED: usize = 20;

/// Where values come from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The task's own dataset.
    pub target: Option<&'a str>,
    /// The results of the tasks it depends on, by their orders.
    pub dependencies: &'a BTreeMap<u32, Json>,
    /// The inputs of its workflow.
    pub inputs: &'a BTreeMap<String, String>,
}

/// A value as a database takes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
}

impl From<&Json> for Bound {
    /// Lists and objects go as JSON text, which SQL can take apart.
    fn from(value: &Json) -> Bound {
        match value {
            Json::Null => Bound::Null,
            Json::Bool(value) => Bound::Integer(i64::from(*value)),
            Json::Number(number) => match number.as_i64() {
                Some(number) => Bound::Integer(number),
                None => number.as_f64().map_or(Bound::Null, Bound::Real),
            },
            Json::String(text) => Bound::Text(text.clone()),
            Json::Array(_) | Json::Object(_) => Bound::Text(value.to_string()),
        }
    }
}

/// What to bind for a placeholder; the error says what is there instead.
pub fn resolve(placeholder: &Placeholder, sources: &Sources<'_>) -> Result<Bound, String> {
    match placeholder {
        Placeholder::FileId => match sources.target {
            Some(target) => Ok(Bound::Text(target.to_owned())),
            None => only(placeholder, sources, &FILE_KEYS),
        },
        Placeholder::Value => only(placeholder, sources, &VALUE_KEYS),
        Placeholder::Dependency { order, path } => {
            let result = sources.dependencies.get(order).ok_or_else(|| {
                format!(
                    "{placeholder}: the task does not depend on task {order}; {}",
                    depends(sources)
                )
            })?;
            let found = follow(result, path).map_err(|wrong| format!("{placeholder}: {wrong}"))?;
            Ok(Bound::from(found))
        }
        Placeholder::Input(name) => match sources.inputs.get(name) {
            Some(text) => Ok(Bound::Text(text.clone())),
            None => Err(format!("{placeholder}: there is no input {name}")),
        },
    }
}

/// The outcome of the only dependency that has one.
fn only(placeholder: &Placeholder, sources: &Sources<'_>, keys: &[&str]) -> Result<Bound, String> {
    let outcomes = sources.dependencies.iter();
    let found: Vec<(u32, &Json)> = outcomes
        .filter_map(|(order, result)| Some((*order, outcome(result, keys)?)))
        .collect();
    match found[..] {
        [(_, value)] => Ok(Bound::from(value)),
        [] => Err(format!(
            "{placeholder}: no dependency has a result with {}; {}",
            keys.join(" or "),
            depends(sources)
        )),
        [(order, _), ..] => Err(format!(
            "{placeholder}: {} dependencies have one; say which, as in {{{{dep.{order}.{}}}}}",
            found.len(),
            keys[0]
        )),
    }
}

/// A named outcome, a plain value, or the one field of the one row.
fn outcome<'j>(result: &'j Json, keys: &[&str]) -> Option<&'j Json> {
    match result {
        Json::Object(fields) => {
            let named = keys.iter().find_map(|key| fields.get(*key));
            let rows = fields.get("rows").filter(|rows| rows.is_array());
            let single = || match rows {
                Some(rows) => outcome(rows, keys),
                None => fields
                    .values()
                    .next()
                    .filter(|value| fields.len() == 1 && !value.is_array()),
            };
            named.or_else(single)
        }
        Json::Array(items) => match &items[..] {
            [one] => outcome(one, keys),
            _ => None,
        },
        Json::Null => None,
        plain => Some(plain),
    }
}

fn follow<'j>(result: &'j Json, path: &[String]) -> Result<&'j Json, String> {
    let mut here = result;
    for (index, step) in path.iter().enumerate() {
        let next = match here {
            Json::Object(fields) => fields.get(step),
            Json::Array(items) => step
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index)),
            _ => None,
        };
        here = next.ok_or_else(|| missing(here, step, &path[..index]))?;
    }
    Ok(here)
}

fn missing(here: &Json, step: &str, before: &[String]) -> String {
    let place = match before {
        [] => "the result".to_owned(),
        before => before.join("."),
    };
    let step = excerpt(step);
    match here {
        Json::Object(fields) => {
            let known: Vec<&str> = fields.keys().map(String::as_str).take(MAX_LISTED).collect();
            format!("{place} has no {step}; it has: {}", known.join(", "))
        }
        Json::Array(items) => format!(
            "{place} is a list of {} and has no {step}; the first is 0",
            items.len()
        ),
        Json::Null => format!("{place} is empty, so there is no {step}"),
        _ => format!("{place} is a plain value and has no {step}"),
    }
}

fn depends(sources: &Sources<'_>) -> String {
    let orders: Vec<String> = sources.dependencies.keys().map(u32::to_string).collect();
    match orders.len() {
        0 => "it depends on no task".to_owned(),
        1 => format!("it depends on task {}", orders[0]),
        _ => format!("it depends on tasks {}", orders.join(", ")),
    }
}
