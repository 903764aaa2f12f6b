//! The arguments of a call: their schema for the model, and what a model sends made into what a tool takes.
//! Models send numbers as text, `null` for nothing and text for one-entry lists: that is understood. Unknown names are
//! not: who invents one expects something from it.

use super::Fault;
use crate::model::nearest::nearest;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

/// The schema of a tool's arguments, without what only validators want to know.
pub fn schema<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(whole) = schema.as_object_mut() {
        whole.shift_remove("title");
        whole.shift_remove("description");
        whole.entry("properties").or_insert_with(|| json!({}));
        whole.insert("additionalProperties".to_owned(), json!(false));
        if let Some(properties) = whole.get_mut("properties").and_then(Json::as_object_mut) {
            properties.values_mut().for_each(plain);
        }
    }
    schema
}

/// An argument that may be left out needs no `null` besides.
fn plain(property: &mut Json) {
    let Some(property) = property.as_object_mut() else {
        return;
    };
    property.shift_remove("format");
    property.shift_remove("default");
    if let Some(kind) = property.get_mut("type")
        && let Some(first) = kind.get(0).cloned()
    {
        *kind = first;
    }
}

/// What the model sent, as the tool takes it.
pub fn take<T: DeserializeOwned + JsonSchema>(tool: &str, sent: Json) -> Result<T, Fault> {
    let schema = schema::<T>();
    let wrong = |what: String| Fault::Wrong(format!("{what} {}", usage(tool, &schema)));
    let sent = object(sent)
        .ok_or_else(|| wrong(format!("{tool} takes its arguments as one JSON object.")))?;
    let known = schema["properties"].as_object();
    let known = |name: &str| known.and_then(|known| known.get(name));
    let mut taken = Map::new();
    for (name, value) in sent {
        let Some(property) = known(&name) else {
            return Err(wrong(unknown(tool, &name, &schema)));
        };
        if value.is_null() {
            continue;
        }
        let kind = property["type"].as_str().unwrap_or_default();
        let value = fitted(value, kind).map_err(|value| {
            wrong(format!(
                "{tool}: \"{name}\" must be {}, not {}.",
                in_words(kind),
                shown(&value)
            ))
        })?;
        taken.insert(name, value);
    }
    for name in names(&schema["required"]) {
        if !taken.contains_key(name) {
            return Err(wrong(format!("{tool} needs the argument \"{name}\".")));
        }
    }
    serde_json::from_value(Json::Object(taken)).map_err(|error| wrong(format!("{tool}: {error}.")))
}

/// Some models send the object as text.
fn object(sent: Json) -> Option<Map<String, Json>> {
    match sent {
        Json::Object(object) => Some(object),
        Json::Null => Some(Map::new()),
        Json::String(text) if text.trim().is_empty() => Some(Map::new()),
        Json::String(text) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

fn fitted(value: Json, kind: &str) -> Result<Json, Json> {
    let parsed = |text: &str| serde_json::from_str::<Json>(text.trim()).ok();
    match (kind, &value) {
        ("integer", Json::Number(number)) => match number.as_f64() {
            Some(float) if !number.is_u64() && float.fract() == 0.0 && float >= 0.0 => {
                Ok(json!(float as u64))
            }
            _ if number.is_u64() => Ok(value),
            _ => Err(value),
        },
        ("integer", Json::String(text)) => match parsed(text) {
            Some(number) if number.is_number() => fitted(number, kind).map_err(|_| value),
            _ => Err(value),
        },
        ("boolean", Json::Bool(_)) | ("string", Json::String(_)) | ("array", Json::Array(_)) => {
            Ok(value)
        }
        ("boolean", Json::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(json!(true)),
            "false" | "no" | "0" | "" => Ok(json!(false)),
            _ => Err(value),
        },
        ("string", Json::Number(_) | Json::Bool(_)) => Ok(json!(value.to_string())),
        ("array", Json::String(text)) => match parsed(text) {
            Some(list @ Json::Array(_)) => Ok(list),
            _ => Ok(json!([text])),
        },
        _ => Err(value),
    }
}

fn names(list: &Json) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
}

fn unknown(tool: &str, name: &str, schema: &Json) -> String {
    let known = schema["properties"].as_object();
    let guess = nearest(
        name,
        known.into_iter().flat_map(Map::keys).map(String::as_str),
    );
    let guess = guess.map_or(String::new(), |guess| format!(" Did you mean \"{guess}\"?"));
    let name: String = name.chars().take(100).collect();
    format!("{tool} has no argument \"{name}\".{guess}")
}

/// The arguments of a tool on one line, those that may be left out with a question mark.
fn usage(tool: &str, schema: &Json) -> String {
    let needed: Vec<&str> = names(&schema["required"]).collect();
    let known = schema["properties"].as_object();
    let known: Vec<String> = known
        .into_iter()
        .flat_map(Map::keys)
        .map(|name| match needed.contains(&name.as_str()) {
            true => name.clone(),
            false => format!("{name}?"),
        })
        .collect();
    format!("Its arguments: {tool}{{{}}}.", known.join(", "))
}

fn in_words(kind: &str) -> &str {
    match kind {
        "integer" => "a whole number, 0 or more",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "text",
    }
}

fn shown(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// Not for the model.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        /// Where.
        path: String,
        limit: Option<u64>,
        all: Option<bool>,
        options: Option<Vec<String>>,
    }

    #[test]
    fn the_schema_is_plain() {
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"description": "Where.", "type": "string"},
                "limit": {"type": "integer", "minimum": 0},
                "all": {"type": "boolean"},
                "options": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!(schema::<Sample>(), expected);
    }

    #[test]
    fn what_models_send_is_understood() {
        let sample = |limit, all, options: Option<Vec<&str>>| Sample {
            path: "a".to_owned(),
            limit,
            all,
            options: options.map(|list| list.into_iter().map(str::to_owned).collect()),
        };
        for (sent, expected) in [
            (json!({"path": "a"}), sample(None, None, None)),
            (
                json!({"path": "a", "limit": null, "all": null}),
                sample(None, None, None),
            ),
            (
                json!({"path": "a", "limit": "12", "all": "true"}),
                sample(Some(12), Some(true), None),
            ),
            (
                json!({"path": "a", "limit": 12.0, "options": ["x"]}),
                sample(Some(12), None, Some(vec!["x"])),
            ),
            (
                json!({"path": "a", "options": "[\"x\", \"y\"]"}),
                sample(None, None, Some(vec!["x", "y"])),
            ),
            (
                json!({"path": "a", "options": "x"}),
                sample(None, None, Some(vec!["x"])),
            ),
            (json!("{\"path\": \"a\"}"), sample(None, None, None)),
        ] {
            assert_eq!(take::<Sample>("t", sent.clone()), Ok(expected), "{sent}");
        }
        let number: Result<Sample, Fault> = take("t", json!({"path": 7}));
        assert_eq!(number.unwrap().path, "7");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_right() {
        let usage = "Its arguments: t{path, limit?, all?, options?}.";
        for (sent, expected) in [
            (json!({}), "t needs the argument \"path\"."),
            (json!({"path": null}), "t needs the argument \"path\"."),
            (json!([1]), "t takes its arguments as one JSON object."),
            (
                json!({"path": "a", "limt": 1}),
                "t has no argument \"limt\". Did you mean \"limit\"?",
            ),
            (
                json!({"path": "a", "colour": 1}),
                "t has no argument \"colour\".",
            ),
            (
                json!({"path": "a", "limit": -1}),
                "t: \"limit\" must be a whole number, 0 or more, not -1.",
            ),
            (
                json!({"path": "a", "limit": "many"}),
                "t: \"limit\" must be a whole number, 0 or more, not \"many\".",
            ),
            (
                json!({"path": {"x": 1}}),
                "t: \"path\" must be text, not {\"x\":1}.",
            ),
        ] {
            let fault = take::<Sample>("t", sent.clone()).unwrap_err();
            assert_eq!(fault, Fault::Wrong(format!("{expected} {usage}")), "{sent}");
        }
    }
}
