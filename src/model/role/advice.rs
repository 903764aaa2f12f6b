//! What the error analyzer answers: what to do about a failure, and why.

use super::fields::Fields;
use super::strict::strict;
use crate::model::policy::AnalyzerChoice;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value as Json;

/// What the error analyzer would do about a failure; `model/policy` decides what is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// What to do.
    pub decision: AnalyzerChoice,
    /// Why, in a few sentences.
    pub reasoning: String,
    /// With `retry` and `replan`: what to do differently this time. Otherwise null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// With `human`: what to ask. Otherwise null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// With `human`: what that person may choose from. Otherwise empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Advice {
    /// What a model is held to.
    pub fn schema() -> Json {
        strict(schema_for!(Advice).to_value())
    }

    /// Reads an answer; the error is for its author.
    pub fn read(answer: &Json) -> Result<Self, String> {
        let mut fields = Fields::of(answer, "decision and reasoning")?;
        let decision = fields.word("decision");
        let reasoning = fields.prose("reasoning");
        if fields.get("reasoning").is_none() {
            fields.reject("reasoning", "missing; say why");
        }
        let fix = fields.prose("fix");
        let question = fields.prose("question");
        let options = fields.options("options");
        match (decision, reasoning) {
            (Some(decision), Some(reasoning)) if fields.is_right() => Ok(Self {
                decision,
                reasoning,
                fix,
                question,
                options,
            }),
            _ => Err(fields.wrong()),
        }
    }
}
