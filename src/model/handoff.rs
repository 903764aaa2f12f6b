//! `state/handoff.json`: what one iteration leaves for the next.
//! Pure: it reads bytes and says what is wrong with them; the file itself belongs to `workspace/`.

use serde_json::{Map, Value as Json};

/// A larger handoff is refused: it would crowd out the objective.
pub const MAX_HANDOFF_BYTES: usize = 64 * 1024;

/// The fields that are shown under their own names, in this order.
const KNOWN: &[(&str, &str)] = &[
    ("phase", "Phase"),
    ("completed", "Completed"),
    ("next_step", "Next step"),
    ("critical_files", "Critical files"),
    ("memory_notes", "Notes"),
];

/// Reads a handoff, or says what is wrong with it in words for the agent.
pub fn parse(bytes: &[u8]) -> Result<Json, String> {
    if bytes.len() > MAX_HANDOFF_BYTES {
        return Err(format!(
            "it is larger than {} KiB",
            MAX_HANDOFF_BYTES / 1024
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let json: Json =
        serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    match json {
        Json::Object(_) => Ok(json),
        _ => Err("it is not a JSON object".to_owned()),
    }
}

/// The handoff as lines for the prompt; unknown fields are kept and shown.
pub fn as_lines(handoff: &Json) -> Vec<String> {
    let Json::Object(fields) = handoff else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (key, label) in KNOWN {
        if let Some(value) = fields.get(*key) {
            show(label, value, &mut lines);
        }
    }
    for (key, value) in unknown(fields) {
        show(key, value, &mut lines);
    }
    lines
}

fn unknown(fields: &Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    fields
        .iter()
        .filter(|(key, _)| !KNOWN.iter().any(|(known, _)| known == key))
}

fn show(label: &str, value: &Json, lines: &mut Vec<String>) {
    match value {
        Json::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            lines.push(format!("{label}:"));
            lines.extend(items.iter().map(|item| format!("- {}", plain(item))));
        }
        other => lines.push(format!("{label}: {}", plain(other))),
    }
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_with_a_file() {
        for (bytes, problem) in [
            (&b"{\"phase\": \"one\"}"[..], None),
            (b"", Some("it is not valid JSON")),
            (b"{\"phase\":", Some("it is not valid JSON")),
            (b"[1]", Some("it is not a JSON object")),
            (b"\xff\xfe", Some("it is not UTF-8")),
            (
                &[b' '; MAX_HANDOFF_BYTES + 1],
                Some("it is larger than 64 KiB"),
            ),
        ] {
            let found = parse(bytes).err();
            match problem {
                None => assert_eq!(found, None),
                Some(start) => assert!(found.unwrap().starts_with(start)),
            }
        }
    }

    #[test]
    fn known_fields_first_unknown_ones_kept() {
        let lines = as_lines(&json!({
            "branch": "fix", "next_step": "write tests", "phase": "2",
            "critical_files": ["src/a.rs", "src/b.rs"], "deep": {"a": [1]}
        }));
        assert_eq!(
            lines,
            [
                "Phase: 2",
                "Next step: write tests",
                "Critical files:",
                "- src/a.rs",
                "- src/b.rs",
                "branch: fix",
                "deep: {\"a\":[1]}"
            ]
        );
    }
}
