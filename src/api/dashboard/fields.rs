//! The fields of the form for a new request, made of the request's own schema: whatever a request can say, the form can ask for.
//! It only translates between what a form can carry and the JSON of a request; what is wrong with it is the request's own to say.

use super::form::Form;
use crate::model::request;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// These are always in sight; the others are folded away.
const FIRST: &[&str] = &["objective", "agent", "verify", "max_iterations"];

/// One field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Its place in the request, as `budget.usd`.
    pub key: String,
    label: String,
    help: String,
    kind: Kind,
    /// The only ones it takes.
    options: Vec<String>,
    min: Option<f64>,
    max: Option<f64>,
    pub first: bool,
    /// What was filled in.
    pub value: String,
}

/// How it is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Line,
    Text,
    Whole,
    Number,
    Choice,
    /// One entry a line.
    Lines,
    /// `name=value`, one a line.
    Pairs,
}

/// All of them, in the order of the schema, with those first that matter most.
pub fn all(agents: &[String]) -> Vec<Field> {
    let schema = request::schema();
    let mut fields = Vec::new();
    if let Some(properties) = schema["properties"].as_object() {
        for (key, property) in properties {
            add(&schema, "", key, property, &mut fields);
        }
    }
    for field in fields.iter_mut().filter(|field| field.key == "agent") {
        field.kind = Kind::Choice;
        field.options = agents.to_vec();
    }
    let rank = |field: &Field| {
        FIRST
            .iter()
            .position(|key| *key == field.key)
            .unwrap_or(FIRST.len())
    };
    fields.sort_by_key(rank);
    fields
}

fn add(schema: &Json, prefix: &str, key: &str, property: &Json, fields: &mut Vec<Field>) {
    let shape = resolved(schema, property);
    let place = format!("{prefix}{key}");
    if let Some(inner) = shape["properties"].as_object() {
        for (key, property) in inner {
            add(schema, &format!("{place}."), key, property, fields);
        }
        return;
    }
    let help = property["description"]
        .as_str()
        .or(shape["description"].as_str());
    let bound = |name: &str| shape[name].as_f64();
    fields.push(Field {
        label: label(&place),
        help: help.unwrap_or_default().replace('`', ""),
        kind: kind(shape),
        options: choices(shape),
        min: bound("minimum"),
        max: bound("maximum"),
        first: FIRST.contains(&place.as_str()),
        value: String::new(),
        key: place,
    });
}

/// What a property is, wherever the schema says it: references and «or nothing» are seen through.
fn resolved<'a>(schema: &'a Json, property: &'a Json) -> &'a Json {
    if let Some(place) = property["$ref"].as_str() {
        let target = schema.pointer(place.trim_start_matches('#'));
        return target.unwrap_or(property);
    }
    for several in ["anyOf", "allOf", "oneOf"] {
        let parts = property[several].as_array();
        let part = parts.and_then(|parts| parts.iter().find(|part| part.get("$ref").is_some()));
        if let Some(part) = part {
            return resolved(schema, part);
        }
    }
    property
}

fn is_type(shape: &Json, name: &str) -> bool {
    match &shape["type"] {
        Json::String(kind) => kind == name,
        Json::Array(kinds) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

fn kind(shape: &Json) -> Kind {
    match () {
        () if !choices(shape).is_empty() => Kind::Choice,
        () if is_type(shape, "array") => Kind::Lines,
        () if is_type(shape, "object") => Kind::Pairs,
        () if is_type(shape, "integer") => Kind::Whole,
        () if is_type(shape, "number") => Kind::Number,
        () if shape["format"] == "text" => Kind::Text,
        () => Kind::Line,
    }
}

fn choices(shape: &Json) -> Vec<String> {
    let words = |list: &Vec<Json>| {
        list.iter()
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    if let Some(list) = shape["enum"].as_array() {
        return words(list);
    }
    if let Some(list) = shape["oneOf"].as_array() {
        let constants: Vec<Json> = list.iter().map(|one| one["const"].clone()).collect();
        return words(&constants);
    }
    match is_type(shape, "boolean") {
        true => vec!["true".to_owned(), "false".to_owned()],
        false => Vec::new(),
    }
}

/// `budget.tool_calls` as `Budget: tool calls`.
pub fn label(key: &str) -> String {
    let mut words = key.replace('.', ": ").replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// What was filled in, kept in the fields so that nobody has to write it again.
pub fn filled(mut fields: Vec<Field>, form: &Form) -> Vec<Field> {
    for field in &mut fields {
        field.value = form.text(&field.key).unwrap_or_default();
    }
    fields
}

/// The request that the fields say, as JSON.
pub fn request(fields: &[Field]) -> Json {
    let mut request = json!({});
    for field in fields.iter().filter(|field| !field.value.is_empty()) {
        let value = value(field);
        match field.key.split_once('.') {
            None => request[&field.key] = value,
            Some((outer, inner)) => {
                if request.get(outer).is_none() {
                    request[outer] = json!({});
                }
                request[outer][inner] = value;
            }
        }
    }
    request
}

fn value(field: &Field) -> Json {
    let text = field.value.as_str();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    // What is no number stays a text: the request says what is wrong with it, and where.
    let number = || match text.parse::<i64>() {
        Ok(number) => json!(number),
        Err(_) => text
            .parse::<f64>()
            .map_or_else(|_| json!(text), |number| json!(number)),
    };
    match field.kind {
        Kind::Lines => lines().collect(),
        Kind::Pairs => {
            let pairs = lines().map(|line| line.split_once('=').unwrap_or((line, "")));
            let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), json!(value.trim())));
            Json::Object(pairs.collect::<Map<_, _>>())
        }
        Kind::Whole | Kind::Number => number(),
        Kind::Choice if field.options == ["true", "false"] => json!(text == "true"),
        Kind::Choice | Kind::Line | Kind::Text => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::request::Request;

    fn fields(filled: &[(&str, &str)]) -> Vec<Field> {
        let mut fields = all(&["claude".to_owned()]);
        for (key, value) in filled {
            let field = fields.iter_mut().find(|field| field.key == *key);
            field.unwrap_or_else(|| panic!("{key}")).value = (*value).to_owned();
        }
        fields
    }

    #[test]
    fn every_key_of_a_request_has_a_field_of_its_kind() {
        let fields = fields(&[]);
        assert_eq!(fields[0].key, "objective");
        for (key, kind) in [
            ("objective", Kind::Text),
            ("agent", Kind::Choice),
            ("max_iterations", Kind::Whole),
            ("promise_match", Kind::Choice),
            ("protect", Kind::Lines),
            ("budget.usd", Kind::Number),
            ("budget.wall", Kind::Line),
            ("labels", Kind::Pairs),
            ("workspace.repo", Kind::Line),
            ("workspace.in_place", Kind::Choice),
            ("workspace.collaboration", Kind::Choice),
            ("not_before", Kind::Line),
        ] {
            let field = fields.iter().find(|field| field.key == key);
            assert_eq!(field.map(|field| field.kind), Some(kind), "{key}");
            assert!(field.is_some_and(|field| !field.help.is_empty()), "{key}");
        }
    }

    #[test]
    fn what_is_filled_in_becomes_a_request() {
        let filled = fields(&[
            ("objective", "Paint.\n\nAll of it."),
            ("max_iterations", "7"),
            ("budget.usd", "1.5"),
            ("budget.wall", "2h"),
            ("labels", "team=red\n\n kind = door "),
            ("protect", "tests/**\n*.lock"),
            ("workspace.in_place", "false"),
            ("promise_match", "contains"),
        ]);
        let text = request(&filled).to_string();
        let request = Request::from_json(&text).unwrap();
        assert_eq!(request.objective, "Paint.\n\nAll of it.");
        assert_eq!(request.max_iterations, Some(7));
        assert_eq!(request.labels["kind"], "door");
        assert_eq!(request.protect, ["tests/**", "*.lock"]);
        assert_eq!(request.budget.unwrap().usd, Some(1.5));
        let wrong = fields(&[("objective", "x"), ("max_iterations", "many")]);
        let problems = Request::from_json(&super::request(&wrong).to_string()).unwrap_err();
        assert!(
            problems.to_string().contains("max_iterations"),
            "{problems}"
        );
    }
}
