//! The payload in a body: JSON, or a form with JSON in its field `payload`, as GitHub can send it.

use super::{Headers, Refusal};
use serde_json::Value as Json;

const FORM: &str = "application/x-www-form-urlencoded";
const FIELD: &str = "payload";

/// Reads a body. One without anything is an object without anything.
pub fn read(headers: &Headers<'_>, body: &[u8]) -> Result<Json, Refusal> {
    let kind = headers.one("content-type").ok().flatten();
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(FORM)) && !looks_like_json(body) {
        let mut fields = form_urlencoded::parse(body);
        let field = fields.find(|(name, _)| name == FIELD);
        let (_, text) =
            field.ok_or_else(|| Refusal::Malformed(format!("the form has no field '{FIELD}'")))?;
        return parse(text.as_bytes());
    }
    parse(body)
}

/// What `curl -d '{…}'` says to be a form.
fn looks_like_json(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

fn parse(text: &[u8]) -> Result<Json, Refusal> {
    if text.trim_ascii().is_empty() {
        return Ok(Json::Object(serde_json::Map::new()));
    }
    serde_json::from_slice(text)
        .map_err(|error| Refusal::Malformed(format!("the body is not JSON: {error}")))
}
