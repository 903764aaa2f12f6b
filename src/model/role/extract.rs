//! The JSON object in the final text of an agent that cannot be held to a schema: all of the text, or the last fenced block, or the last
//! object among the prose. Linear in the length of the text, whatever is in it. It must not know what the object means.

use serde_json::{Map, Value as Json};

const FENCE: &str = "```";
const LANGUAGE: &str = "json";
/// How often the length of the text is walked at most to find the ends of broken objects.
const MAX_WALKS: usize = 8;

const NOT_THERE: &str = "there is no JSON object in it";
const CUT_OFF: &str = "it ends in the middle of its JSON object";

/// The JSON object of a final text; the error says in one sentence what is missing.
pub fn json_in(text: &str) -> Result<Json, String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let whole = serde_json::from_str(text).ok();
    let found = whole.or_else(|| serde_json::from_str(last_fenced(text)?).ok());
    match found {
        Some(object @ Json::Object(_)) => Ok(object),
        Some(Json::Array(_)) => Err("it is a JSON list where a JSON object is wanted".to_owned()),
        _ => last_object(text),
    }
}

/// What stands in the last block that is marked as JSON. A line of JSON never begins with a fence, so the first one closes it.
fn last_fenced(text: &str) -> Option<&str> {
    let mut last = None;
    let mut open: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(mark) = line.trim_start().strip_prefix(FENCE) {
            match open.take() {
                Some(start) => last = Some(&text[start..at]),
                None if mark.trim().eq_ignore_ascii_case(LANGUAGE) => open = Some(end),
                None => {}
            }
        }
        at = end;
    }
    last
}

/// The last object that is not part of another one. A broken last one is not passed over: an earlier one may be an example only.
fn last_object(text: &str) -> Result<Json, String> {
    let mut last = Err(NOT_THERE.to_owned());
    let mut walks = MAX_WALKS * text.len();
    let mut at = 0;
    while let Some(start) = next_beginning(text, at) {
        let rest = &text[start..];
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Json>>();
        match objects.next() {
            Some(Ok(object)) => {
                at = start + objects.byte_offset();
                last = Ok(Json::Object(object));
            }
            Some(Err(error)) if error.is_eof() => return Err(CUT_OFF.to_owned()),
            Some(Err(error)) => match end_of_object(rest, &mut walks) {
                Some(end) => {
                    at = start + end;
                    last = Err(format!("its JSON object is not valid: {error}"));
                }
                // No object at all: prose goes on where the parser stumbled.
                None => at = start + stumbled_at(rest, &error).max(1),
            },
            None => break,
        }
    }
    last
}

/// The next brace after which a key may stand; those of prose and code are passed over.
fn next_beginning(text: &str, from: usize) -> Option<usize> {
    let braces = memchr::memchr_iter(b'{', &text.as_bytes()[from..]);
    braces
        .map(|found| from + found)
        .find(|brace| text[brace + 1..].trim_start().starts_with(['"', '}']))
}

/// Where the braces of a broken object are balanced; `walks` is the way that may still be gone for it.
fn end_of_object(text: &str, walks: &mut usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().take(*walks) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            *walks -= index;
            return Some(index + 1);
        }
    }
    *walks -= text.len().min(*walks);
    None
}

/// The byte at which the parser gave up.
fn stumbled_at(text: &str, error: &serde_json::Error) -> usize {
    let lines_before: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    text.floor_char_boundary(lines_before + error.column().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn objects_are_found_in_what_agents_say() {
        let decided = json!({ "decision": "a {b}" });
        let plain = r#"{"decision": "a {b}"}"#;
        for text in [
            plain.to_owned(),
            format!("\u{feff}\n {plain} \n"),
            format!("Here it is:\n```json\n{plain}\n```\nI hope it helps."),
            format!("```json\n{{\"draft\": 1}}\n```\nBetter:\n  ```JSON\n{plain}\n  ```"),
            format!("```json\n{plain}\n```\nIn Rust: fn main() {{ let a = \"}}\"; }} and {{}}"),
            format!("```\n{plain}\n```"),
            format!("First {{\"draft\": {{}}}}, at last {plain}. That was all."),
            format!("Use {{this}} or {{ that; }}: {plain}"),
            format!("{{{{{plain}"),
            format!("{{\"never closed\n{plain}"),
            format!("It's {{\"odd\" and }} odd: {plain}"),
            format!("```json {plain} ```"),
            format!("{plain}\nand a brace {{"),
            format!("[note] {plain} [1]"),
        ] {
            assert_eq!(json_in(&text), Ok(decided.clone()), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        for (text, expected) in [
            ("", NOT_THERE),
            ("All done.", NOT_THERE),
            ("42", NOT_THERE),
            ("{ not, json }", NOT_THERE),
            (
                "[{\"order\": 1}]",
                "it is a JSON list where a JSON object is wanted",
            ),
            (
                "```json\n[{\"a\": 1}]\n```",
                "it is a JSON list where a JSON object is wanted",
            ),
            ("{\"a\": {\"b\": 1}, \"c\": \"cut he", CUT_OFF),
            ("For example {\"a\": 1}. So:\n{\"a\": {\"b\": 2}", CUT_OFF),
            ("```json\n{\"a\": [{\"b\": 1},", CUT_OFF),
            (
                "{\"tasks\": [{\"order\": 1}], \"more\": {\"a\": 1},}",
                "its JSON object is not valid: trailing comma at line 1 column 44",
            ),
            (
                "Example {\"a\": 1}, answer {\"a\": 'one'}",
                "its JSON object is not valid: expected value at line 1 column 7",
            ),
        ] {
            assert_eq!(json_in(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_megabyte_of_braces_is_no_trouble() {
        for part in [
            "{",
            "}",
            "{}",
            "{\"",
            "{\"a\":",
            "{\"a\":{",
            "{\"a\":[",
            "{\"a\":1,",
            "{\"a\"}",
            "{\"a\" ",
            "{ ",
            "{\"a\":1}x}",
            "{\"a\":[{\"a\":1},{\"a\":1},",
            "{\"\n",
            "{\"\\",
            "{\n\n\"a\": \"",
            "```json\n{\"a\":\n```\n",
        ] {
            let text = part.repeat((1 << 20) / part.len());
            let _ = json_in(&text);
            let _ = json_in(&format!("{text}{}", "}".repeat(1 << 18)));
        }
    }

    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "(\\PC|[{}\"\\\\`\n]){0,12}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map("(\\PC|[{}\"`]){0,6}", inner, 0..4)
                    .prop_map(|map| json!(map)),
            ]
        })
    }

    fn object() -> impl Strategy<Value = Json> {
        prop::collection::btree_map("(\\PC|[{}\"`]){0,6}", value(), 0..4).prop_map(|map| json!(map))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn any_object_comes_back_out_of_prose_and_fences(
            object in object(),
            before in "[^{`\u{feff}]{0,40}",
            after in "[^{`]{0,40}",
            form in 0..4,
        ) {
            let pretty = serde_json::to_string_pretty(&object).unwrap();
            let text = match form {
                0 => format!("{before}{object}{after}"),
                1 => format!("{before}{pretty}{after}"),
                2 => format!("{before}\n```json\n{pretty}\n```\n{after}"),
                _ => format!("{before} {{\"an\": \"example\"}} {before}\n```\n{object}\n```\n{after}"),
            };
            prop_assert_eq!(json_in(&text), Ok(object));
        }

        #[test]
        fn no_text_is_too_strange(
            text in "(\\PC|[{}\\[\\]\"\\\\:,\n]|```json\n|```\n|\\{\"a\":|\u{feff}){0,60}",
        ) {
            let found = json_in(&text);
            prop_assert!(found.is_err() || found.unwrap().is_object());
        }
    }
}
