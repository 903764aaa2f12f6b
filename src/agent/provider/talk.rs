//! What both dialects make of a history in the same way: labels, pairs of calls and results, arguments that can be sent again.
//! It must not know how either writes a message.

use crate::model::conversation::{Call, CallResult, History, Step};
use serde_json::{Map, Value as Json, json};

/// What is said where the model would otherwise have the last word, which not every server takes.
pub const GO_ON: &str = "Go on.";
/// What stands for the result of a call that has none.
const NO_RESULT: &str = "There is no result: the call was not run.";

/// The summary of what was let go, so that the model knows it for one.
pub fn labelled_summary(history: &History) -> Option<String> {
    let summary = history.summary.as_deref()?.trim();
    (!summary.is_empty()).then(|| {
        format!(
            "<summary>\nThe conversation so far was longer than fits here. What it had come to:\n\n{summary}\n</summary>"
        )
    })
}

/// Each call of a step with its result: its own text, and whether it went well.
pub fn results(step: &Step) -> impl Iterator<Item = (&Call, &str, bool)> {
    step.reply.calls.iter().enumerate().map(|(index, call)| {
        // Some servers give all calls of a reply the same id: then the order tells.
        let same_place = step.results.get(index);
        let own = |result: &&CallResult| result.call_id == call.id;
        let found = same_place
            .filter(own)
            .or_else(|| step.results.iter().find(own));
        match found {
            Some(result) => (call, result.text.as_str(), result.ok),
            None => (call, NO_RESULT, false),
        }
    })
}

/// Arguments as the object that servers want, whatever the model wrote.
pub fn arguments_object(arguments: &str) -> Json {
    match serde_json::from_str(arguments) {
        Ok(object @ Json::Object(_)) => object,
        _ if arguments.trim().is_empty() => Json::Object(Map::new()),
        _ => json!({ "invalid_json": arguments }),
    }
}

/// Arguments as the model wrote them; none are an empty object.
pub fn arguments_text(written: String) -> String {
    if written.trim().is_empty() {
        "{}".to_owned()
    } else {
        written
    }
}

/// What the history asks for after the last step: words of ours, if none stand there.
pub fn needs_go_on(history: &History) -> bool {
    history
        .steps
        .last()
        .is_some_and(|step| step.reply.calls.is_empty() && !has_words(step.remark.as_deref()))
}

/// Whether there is anything to say: servers refuse blank texts.
pub fn has_words(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::conversation::Reply;

    #[test]
    fn arguments_are_always_an_object() {
        for (written, expected) in [
            (r#"{"a":1}"#, json!({ "a": 1 })),
            ("", json!({})),
            (" ", json!({})),
            ("{\"a\":", json!({ "invalid_json": "{\"a\":" })),
            ("[1]", json!({ "invalid_json": "[1]" })),
            ("null", json!({ "invalid_json": "null" })),
        ] {
            assert_eq!(arguments_object(written), expected, "{written}");
        }
    }

    #[test]
    fn every_call_has_one_result() {
        let call = |id: &str| Call {
            id: id.to_owned(),
            ..Call::default()
        };
        let result = |id: &str, text: &str| CallResult {
            call_id: id.to_owned(),
            text: text.to_owned(),
            ok: true,
            ..CallResult::default()
        };
        let step = |ids: &[&str], told: &[(&str, &str)]| Step {
            reply: Reply {
                calls: ids.iter().map(|id| call(id)).collect(),
                ..Reply::default()
            },
            results: told.iter().map(|(id, text)| result(id, text)).collect(),
            remark: None,
        };
        for (step, expected) in [
            (step(&["a", "b"], &[("a", "1"), ("b", "2")]), ["1", "2"]),
            (step(&["a", "b"], &[("b", "2"), ("a", "1")]), ["1", "2"]),
            (step(&["a", "a"], &[("a", "1"), ("a", "2")]), ["1", "2"]),
            (
                step(&["a", "b"], &[("a", "1"), ("x", "9")]),
                ["1", NO_RESULT],
            ),
        ] {
            let texts: Vec<&str> = results(&step).map(|(_, text, _)| text).collect();
            assert_eq!(texts, expected);
        }
    }
}
