//! Anthropic's Messages: how a question is written in them, and how their stream is read.

mod reading;
mod request;

use super::endpoint::{Endpoint, messages_url};
use super::http::Line;
use super::{Provider, Question};
use crate::agent::Pending;
use crate::model::conversation::Reply;
use crate::model::failure::Failure;
use anyhow::Result;
use reading::Messages;
use reqwest::header::HeaderName;
use serde_json::{Value as Json, json};

/// The tool by which a model gives an answer of a schema.
const ANSWER: &str = "answer";
/// Where an answer stands that is no object, as the input of a tool has to be.
const VALUE: &str = "value";

/// A model that is spoken with in Messages.
pub(super) struct Anthropic {
    model: String,
    line: Line,
}

impl Anthropic {
    pub(super) fn new(model: String, endpoint: Endpoint) -> Result<Self> {
        let url = messages_url(endpoint.base_url.as_deref())?;
        let header = |key: &str| (HeaderName::from_static("x-api-key"), key.to_owned());
        let line = Line::new(url, endpoint, header)?.with_header("anthropic-version", "2023-06-01");
        Ok(Self { model, line })
    }
}

impl Provider for Anthropic {
    fn reply<'a>(&'a self, question: &'a Question<'a>) -> Pending<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let body = request::body(&self.model, question);
            let asked = self
                .line
                .ask(&body, |_| false, || Box::<Messages>::default());
            let mut reply = asked.await.map_err(|trouble| trouble.failure)?;
            if let Some(schema) = question.schema {
                answer_becomes_text(&mut reply, schema);
            }
            Ok(reply)
        })
    }
}

/// A schema as the input of a tool.
fn answer_schema(schema: &Json) -> Json {
    if is_object_schema(schema) {
        return schema.clone();
    }
    let mut inner = schema.clone();
    let mut outer = json!({ "type": "object", "required": [VALUE], "additionalProperties": false });
    // References are looked up from the root.
    if let Some(definitions) = inner
        .as_object_mut()
        .and_then(|inner| inner.remove("$defs"))
    {
        outer["$defs"] = definitions;
    }
    outer["properties"] = json!({ VALUE: inner });
    outer
}

fn is_object_schema(schema: &Json) -> bool {
    schema["type"] == "object"
}

/// The input of the answering tool is what the model had to say.
fn answer_becomes_text(reply: &mut Reply, schema: &Json) {
    let Some(at) = reply.calls.iter().position(|call| call.name == ANSWER) else {
        return;
    };
    let answer = reply.calls.remove(at).arguments;
    reply.text = match serde_json::from_str::<Json>(&answer) {
        Ok(mut wrapped) if !is_object_schema(schema) && wrapped.get(VALUE).is_some() => {
            wrapped[VALUE].take().to_string()
        }
        _ => answer,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::conversation::Call;

    #[test]
    fn answers_come_out_of_their_tool() {
        let object = json!({ "type": "object" });
        let list =
            json!({ "type": "array", "items": { "$ref": "#/$defs/x" }, "$defs": { "x": {} } });
        assert_eq!(answer_schema(&object), object);
        let wrapped = answer_schema(&list);
        assert_eq!(wrapped["properties"]["value"]["type"], "array");
        assert_eq!(wrapped["$defs"], json!({ "x": {} }));
        for (schema, arguments, expected) in [
            (&object, r#"{"value":1}"#, r#"{"value":1}"#),
            (&list, r#"{"value":[1]}"#, "[1]"),
            (&list, "[1]", "[1]"),
            (&list, "{", "{"),
        ] {
            let mut reply = Reply {
                calls: vec![Call {
                    name: ANSWER.to_owned(),
                    arguments: arguments.to_owned(),
                    ..Call::default()
                }],
                ..Reply::default()
            };
            answer_becomes_text(&mut reply, schema);
            assert_eq!(reply.text, expected);
            assert!(reply.calls.is_empty());
        }
    }
}
