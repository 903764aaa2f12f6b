//! What the analyst answers to an `analysis` task: a decision, or the choice that a person must make.

use super::fields::Fields;
use super::strict::strict;
use crate::model::document::Node;
use crate::model::words::words;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::Serialize;
use serde_json::Value as Json;

/// A longer decision is no value any more but an essay.
const MAX_DECISION_BYTES: usize = 100_000;

words! {
    /// How sure an analyst is.
    pub enum Confidence {
        High => "high",
        Medium => "medium",
        Low => "low",
    }
}

/// A decision about data or results. Without options it serialises as the task's result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    /// The decision itself, as one plain value that later tasks can use: a name, a number, a date, a sentence. Null where a person must
    /// choose.
    #[schemars(schema_with = "one_value")]
    pub decision: Json,
    /// Why, in a few sentences.
    pub reasoning: String,
    /// How sure the decision is.
    pub confidence: Confidence,
    /// Only where several answers are equally right and a person must choose: at least two. Otherwise empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// With options: what to ask that person. Otherwise null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

impl Analysis {
    /// What a model is held to.
    pub fn schema() -> Json {
        strict(schema_for!(Analysis).to_value())
    }

    /// Reads an answer; the error is for its author.
    pub fn read(answer: &Json) -> Result<Self, String> {
        let mut fields = Fields::of(answer, "decision, reasoning, confidence and options")?;
        let options = fields.options("options");
        let decision = decision(&mut fields, options.len());
        let reasoning = fields.prose("reasoning").unwrap_or_default();
        let question = fields.prose("question");
        // Who cannot decide need not say how surely.
        let confidence = match (options.len(), fields.get("confidence")) {
            (2.., None) => Some(Confidence::Low),
            _ => fields.word("confidence"),
        };
        match (decision, confidence) {
            (Some(decision), Some(confidence)) if fields.is_right() => Ok(Self {
                decision,
                reasoning,
                confidence,
                options,
                question,
            }),
            _ => Err(fields.wrong()),
        }
    }

    /// Whether several answers are equally right, so that a person must choose.
    pub fn needs_a_person(&self) -> bool {
        self.options.len() > 1
    }
}

fn decision(fields: &mut Fields<'_>, options: usize) -> Option<Json> {
    let wrong = match fields.get("decision") {
        None if options > 1 => return Some(Json::Null),
        None => "missing; give one value, or at least two options for a person to choose from"
            .to_owned(),
        Some(value @ (Json::Array(_) | Json::Object(_))) => format!(
            "must be one value (text, a number, true or false), is {}",
            Node::from(value.clone()).value
        ),
        Some(Json::String(text)) if text.len() > MAX_DECISION_BYTES => {
            format!(
                "must have at most {MAX_DECISION_BYTES} bytes, has {}",
                text.len()
            )
        }
        Some(Json::String(text)) => return Some(text.trim().into()),
        Some(value) => return Some(value.clone()),
    };
    fields.reject("decision", wrong);
    None
}

fn one_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"] })
}
