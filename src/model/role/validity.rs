//! What the validator answers: whether results hold, and what is wrong with them.

use super::fields::Fields;
use super::strict::strict;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value as Json;

/// A verdict about results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Validity {
    /// Whether the results are what the task says they must be.
    pub is_valid: bool,
    /// What was checked; where it is not valid, what is wrong.
    pub message: String,
}

impl Validity {
    /// What a model is held to.
    pub fn schema() -> Json {
        strict(schema_for!(Validity).to_value())
    }

    /// Reads an answer; the error is for its author.
    pub fn read(answer: &Json) -> Result<Self, String> {
        let mut fields = Fields::of(answer, "is_valid and message")?;
        let is_valid = fields.flag("is_valid");
        let message = fields.prose("message");
        if is_valid == Some(false) && fields.get("message").is_none() {
            fields.reject("message", "missing; say what is wrong with the results");
        }
        match is_valid {
            Some(is_valid) if fields.is_right() => Ok(Self {
                is_valid,
                message: message.unwrap_or_default(),
            }),
            _ => Err(fields.wrong()),
        }
    }
}
