//! A tool call in a few words, for people who look on: its name is not enough, its arguments are too much.

use serde_json::Value as Json;

/// Arguments that say what a call is about, in the order in which they are looked for.
const TELLING: &[&str] = &[
    "command",
    "pattern",
    "file_path",
    "path",
    "url",
    "query",
    "question",
    "description",
];
const MAX_CHARS: usize = 100;

/// What a call is about, on one line; nothing where its arguments do not say.
pub fn of_arguments(arguments: &str) -> Option<String> {
    let arguments: Json = serde_json::from_str(arguments).ok()?;
    let arguments = arguments.as_object()?;
    let text = |key: &&str| arguments.get(*key).and_then(Json::as_str);
    let named = TELLING.iter().find_map(text);
    let told = named.or_else(|| arguments.values().find_map(Json::as_str))?;
    let line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(MAX_CHARS).collect();
    let cut = if short.len() < line.len() { "…" } else { "" };
    Some(format!("{short}{cut}")).filter(|brief| !brief.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_a_few_words() {
        let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(200));
        for (arguments, expected) in [
            (
                r#"{"command":"cargo\n  test"}"#,
                Some("cargo test".to_owned()),
            ),
            (
                r#"{"content":"much","path":"a.txt"}"#,
                Some("a.txt".to_owned()),
            ),
            (r#"{"n":3,"what":"this"}"#, Some("this".to_owned())),
            (r#"{"count":3}"#, None),
            ("{}", None),
            ("not JSON", None),
            (r#"["a"]"#, None),
            (&long, Some(format!("{}…", "x".repeat(MAX_CHARS)))),
        ] {
            assert_eq!(of_arguments(arguments), expected, "{arguments}");
        }
    }
}
