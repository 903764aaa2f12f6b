//! What the analyst answers where a query is to be written or mended. Whether the SQL is allowed and right, the datasets say.

use super::fields::Fields;
use super::strict::strict;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value as Json;

/// As in a plan.
const MAX_SQL_BYTES: usize = 100_000;
const FENCE: &str = "```";

/// A query that somebody wrote or mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Query {
    /// One SELECT, with placeholders for values and without a semicolon at its end.
    pub sql: String,
    /// What it does, or what was wrong with the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

impl Query {
    /// What a model is held to.
    pub fn schema() -> Json {
        strict(schema_for!(Query).to_value())
    }

    /// Reads an answer; the error is for its author.
    pub fn read(answer: &Json) -> Result<Self, String> {
        let mut fields = Fields::of(answer, "sql")?;
        let reasoning = fields.prose("reasoning");
        let sql = fields.text("sql").map(|text| unfenced(&text).to_owned());
        match &sql {
            Some(sql) if sql.is_empty() => fields.reject("sql", "is empty; write one SELECT"),
            Some(sql) if sql.len() > MAX_SQL_BYTES => {
                let length = sql.len();
                let message = format!("must have at most {MAX_SQL_BYTES} bytes, has {length}");
                fields.reject("sql", message);
            }
            None if fields.get("sql").is_none() => {
                fields.reject("sql", "missing; write one SELECT");
            }
            _ => {}
        }
        match sql {
            Some(sql) if fields.is_right() => Ok(Self { sql, reasoning }),
            _ => Err(fields.wrong()),
        }
    }
}

/// The text without the Markdown that models put around code.
fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix(FENCE) else {
        return text;
    };
    let inner = inner.strip_suffix(FENCE).unwrap_or(inner);
    let language = inner
        .get(..3)
        .filter(|word| word.eq_ignore_ascii_case("sql"));
    inner[language.map_or(0, str::len)..].trim()
}
