//! A JSON Schema in the strict dialect of structured outputs: every property is required, what may be left out is null instead, nothing
//! else may be said, and the words that the dialect does not know are gone. It must not change what a schema means.

use serde_json::{Value as Json, json};

/// What the dialect refuses; whoever reads the answer checks it anyway.
const UNKNOWN_WORDS: [&str; 5] = ["$schema", "title", "format", "default", "maxLength"];

/// The same schema in the strict dialect, without what its type says of itself: that is for readers of the code.
pub(super) fn strict(mut schema: Json) -> Json {
    tighten(&mut schema);
    if let Json::Object(words) = &mut schema {
        words.shift_remove("description");
    }
    schema
}

fn tighten(schema: &mut Json) {
    let Json::Object(words) = schema else {
        return;
    };
    words.retain(|word, _| !UNKNOWN_WORDS.contains(&word.as_str()));
    for (word, inner) in words.iter_mut() {
        match (word.as_str(), inner) {
            ("properties" | "$defs", Json::Object(named)) => named.values_mut().for_each(tighten),
            ("anyOf", Json::Array(options)) => options.iter_mut().for_each(tighten),
            ("items", item) => tighten(item),
            ("description", Json::String(text)) => *text = text.replace('\n', " "),
            _ => {}
        }
    }
    if words.contains_key("properties") {
        require_all(schema);
    }
}

fn require_all(schema: &mut Json) {
    let required = schema["required"].take();
    let is_required = |name: &str| {
        let mut names = required.as_array().into_iter().flatten();
        names.any(|required| required == name)
    };
    let mut names = Vec::new();
    if let Some(properties) = schema["properties"].as_object_mut() {
        for (name, property) in properties {
            if !is_required(name) {
                allow_null(property);
            }
            names.push(name.clone());
        }
    }
    schema["required"] = json!(names);
    schema["additionalProperties"] = json!(false);
}

fn allow_null(schema: &mut Json) {
    if schema.get("anyOf").is_some() {
        return;
    }
    if let Json::String(kind) = &schema["type"] {
        schema["type"] = json!([kind, "null"]);
        if let Some(words) = schema.get_mut("enum").and_then(Json::as_array_mut) {
            words.push(Json::Null);
        }
    }
}
