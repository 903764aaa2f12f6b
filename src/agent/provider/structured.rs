//! An answer that fits a schema, from any provider: read tolerantly, checked strictly, asked for again with what was wrong; what is
//! an object and still not quite right is left to whoever asked.
//! It must not know a dialect; a provider that can hold its model to the schema has done so already.

use super::{Provider, Question};
use crate::model::conversation::{Reply, ReplyStop, Step, StepUsage};
use crate::model::document::{Finding, Node, Shape, check};
use crate::model::failure::{Failure, FailureClass};
use serde_json::Value as Json;

/// How often the model is told what was wrong.
const MAX_REPEATS: usize = 2;
/// Of a long list of mistakes the first ones will do.
const MAX_FINDINGS: usize = 10;
/// Places in a text at which a document may begin; all of a long text could take minutes.
const MAX_BEGINNINGS: usize = 100;

/// The answer, and what all tries have used, whether they came to one or not.
pub async fn ask(
    provider: &dyn Provider,
    question: &Question<'_>,
) -> (Result<Json, Failure>, Vec<StepUsage>) {
    let schema = question.schema.unwrap_or(&Json::Null);
    let shape = Shape::from_schema(schema);
    let mut history = question.history.clone();
    let mut used = Vec::new();
    loop {
        let again = Question {
            history: &history,
            ..*question
        };
        let reply = match provider.reply(&again).await {
            Ok(reply) => reply,
            Err(failure) => return (Err(failure), used),
        };
        used.push(reply.usage);
        if reply.stop == ReplyStop::Refusal {
            return (Err(declined(&reply)), used);
        }
        let wrong = match fitting(&reply, &shape) {
            Ok(answer) => return (Ok(answer), used),
            Err(wrong) => wrong,
        };
        if used.len() > MAX_REPEATS {
            // What is only not quite as wanted may still be understood by whoever asked.
            let answer = document_in(&reply.text).filter(Json::is_object);
            return (answer.ok_or_else(|| unfit(&wrong, used.len())), used);
        }
        let remark = format!(
            "That is not an answer of the wanted form: {wrong}. Answer again, with the whole JSON document and nothing else."
        );
        // Nobody runs tools here: a call is not answered but dropped.
        history.steps.push(Step {
            reply: Reply {
                calls: Vec::new(),
                ..reply
            },
            results: Vec::new(),
            remark: Some(remark),
        });
    }
}

fn declined(reply: &Reply) -> Failure {
    let said = reply.text.lines().next().unwrap_or_default();
    let said: String = said.chars().take(200).collect();
    Failure {
        class: FailureClass::Refusal,
        detail: format!("the model declined: {said}"),
        reset_at_ms: None,
    }
}

fn unfit(wrong: &str, tries: usize) -> Failure {
    Failure {
        class: FailureClass::Other,
        detail: format!("the model's answer does not fit its schema, {tries} times: {wrong}"),
        reset_at_ms: None,
    }
}

/// The document in a reply, if it fits; otherwise what is wrong with it.
fn fitting(reply: &Reply, shape: &Shape) -> Result<Json, String> {
    let Some(document) = document_in(&reply.text) else {
        return Err(match reply.stop {
            ReplyStop::MaxTokens => "it was cut off because it was too long".to_owned(),
            ReplyStop::Finished | ReplyStop::Refusal => {
                "there is no JSON document in it".to_owned()
            }
        });
    };
    let (_, findings) = check(&Node::from(document.clone()), shape);
    if findings.is_empty() {
        return Ok(document);
    }
    let told: Vec<String> = findings.iter().take(MAX_FINDINGS).map(told).collect();
    Err(told.join("; "))
}

fn told(finding: &Finding) -> String {
    match finding.key.as_str() {
        "" => finding.message.clone(),
        key => format!("{key}: {}", finding.message),
    }
}

/// The JSON in a text: all of it, or the first object or list in it, fenced or not.
fn document_in(text: &str) -> Option<Json> {
    if let Ok(document) = serde_json::from_str(text.trim()) {
        return Some(document);
    }
    let beginnings = text.match_indices(['{', '[']).take(MAX_BEGINNINGS);
    beginnings
        .filter_map(|(at, _)| {
            let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Json>();
            documents.next()?.ok()
        })
        .find(|document| document.is_object() || document.is_array())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_are_found_in_what_models_write() {
        for (text, expected) in [
            (r#" {"a":1} "#, Some(json!({ "a": 1 }))),
            ("```json\n{\"a\":1}\n```", Some(json!({ "a": 1 }))),
            (
                "Here it is:\n{\"a\": {\"b\": [1]}}\nDone.",
                Some(json!({ "a": { "b": [1] } })),
            ),
            ("see {this}: [1, 2]", Some(json!([1, 2]))),
            ("7", Some(json!(7))),
            ("{\"a\":", None),
            ("no", None),
            ("", None),
        ] {
            assert_eq!(document_in(text), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let schema = json!({
            "type": "object",
            "properties": { "verdict": { "enum": ["yes", "no"], "type": "string" }, "count": { "type": "integer", "maximum": 9 } },
            "required": ["verdict"],
        });
        let shape = Shape::from_schema(&schema);
        for (text, expected) in [
            (r#"{"verdict":"yes","count":3}"#, Ok(())),
            (r#"{"verdict":"perhaps"}"#, Err("verdict: must be ")),
            (r#"{"count":3}"#, Err("verdict: missing")),
            (
                r#"{"verdict":"yes","cuont":3}"#,
                Err("cuont: unknown key; did you mean count?"),
            ),
            ("[]", Err("must be a table of keys")),
            ("well", Err("there is no JSON document in it")),
        ] {
            let reply = Reply {
                text: text.to_owned(),
                ..Reply::default()
            };
            match (fitting(&reply, &shape), expected) {
                (Ok(_), Ok(())) => {}
                (Err(wrong), Err(part)) => assert!(wrong.contains(part), "{wrong}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
