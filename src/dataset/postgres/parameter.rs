//! Values that go into a statement: sent as text, which the server reads by the type it expects at that place. Never a part of the
//! statement.

use bytes::BytesMut;
use serde_json::Value;
use std::error::Error;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// One value.
#[derive(Debug)]
pub struct Parameter<'v>(pub &'v Value);

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        if self.0.is_null() {
            return Ok(IsNull::Yes);
        }
        out.extend_from_slice(written(self.0, kind).as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

fn written(value: &Value, kind: &Type) -> String {
    match (kind.kind(), value) {
        (Kind::Array(_), Value::Array(items)) => list(items),
        // The results of other tasks hold lists as JSON text.
        (Kind::Array(_), Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Array(items)) => list(&items),
            _ => text.clone(),
        },
        _ if matches!(*kind, Type::JSON | Type::JSONB) => json(value),
        _ => plain(value),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // A whole number without its `.0` is one for integers too.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

/// A text that is a list or an object is meant as such.
fn json(value: &Value) -> String {
    match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(_) | Value::Object(_)) => text.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// `{1,"a\"b",NULL}`
fn list(items: &[Value]) -> String {
    let item = |item: &Value| match item {
        Value::Null => "NULL".to_owned(),
        Value::Array(items) => list(items),
        other => format!(
            "\"{}\"",
            plain(other).replace('\\', "\\\\").replace('"', "\\\"")
        ),
    };
    let items: Vec<String> = items.iter().map(item).collect();
    format!("{{{}}}", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_the_server_reads_them() {
        for (value, kind, expected) in [
            (json!("East"), Type::TEXT, "East"),
            (json!(15.0), Type::INT4, "15"),
            (json!(0.5), Type::NUMERIC, "0.5"),
            (json!(1), Type::BOOL, "1"),
            (
                json!([1, "a\"b\\", null]),
                Type::TEXT_ARRAY,
                "{\"1\",\"a\\\"b\\\\\",NULL}",
            ),
            (json!("[1, 2]"), Type::INT4_ARRAY, "{\"1\",\"2\"}"),
            (json!("{1,2}"), Type::INT4_ARRAY, "{1,2}"),
            (json!([1]), Type::TEXT, "[1]"),
            (json!("x"), Type::JSONB, "\"x\""),
            (json!("{\"a\": 1}"), Type::JSONB, "{\"a\": 1}"),
        ] {
            assert_eq!(written(&value, &kind), expected, "{value} {kind}");
        }
    }
}
