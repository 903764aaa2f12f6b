//! Every event that a test's daemon wrote, held to what `ralphd schema events` promises: a known type, all its fields, and no other.

use super::Site;
use rusqlite::OpenFlags;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The schema of each event's data, by type.
fn schemas() -> &'static BTreeMap<String, Json> {
    static SCHEMAS: OnceLock<BTreeMap<String, Json>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let schema = ralphd::model::contract::schema();
        let events = schema["oneOf"].as_array().unwrap().iter();
        events
            .map(|event| {
                let properties = &event["properties"];
                let kind = properties["type"]["const"].as_str().unwrap();
                (kind.to_owned(), properties["data"].clone())
            })
            .collect()
    })
}

/// What is wrong with the events of a site.
pub fn broken(site: &Site) -> Vec<String> {
    let path = site.state().join("ralphd.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(database) = rusqlite::Connection::open_with_flags(path, flags) else {
        return Vec::new();
    };
    let Ok(mut statement) = database.prepare("SELECT DISTINCT type, data FROM events") else {
        return Vec::new();
    };
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let rows: Vec<(String, String)> = rows.unwrap().flatten().collect();
    rows.iter()
        .filter_map(|(kind, data)| {
            let problem = problem(kind, &serde_json::from_str(data).ok()?)?;
            Some(format!("{kind} {data}: {problem}"))
        })
        .collect()
}

fn problem(kind: &str, data: &Json) -> Option<String> {
    let Some(schema) = schemas().get(kind) else {
        return Some("is not in the contract".to_owned());
    };
    let data = data.as_object()?;
    for (name, value) in data {
        let field = &schema["properties"][name];
        if field.is_null() {
            return Some(format!("{name} is not in the contract"));
        }
        if !fits(&field["type"], value) {
            return Some(format!("{name} is {value}, not {}", field["type"]));
        }
    }
    let mut required = schema["required"].as_array()?.iter();
    let missing = required.find(|name| !data.contains_key(name.as_str().unwrap()));
    missing.map(|name| format!("{name} is missing"))
}

fn fits(kind: &Json, value: &Json) -> bool {
    match kind.as_str() {
        None => kind
            .as_array()
            .unwrap()
            .iter()
            .any(|kind| fits(kind, value)),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        Some(other) => panic!("no such type: {other}"),
    }
}
