//! Values of PostgreSQL as JSON. The server itself writes each value as text, by an expression that fits the column's type; here the
//! text becomes JSON. Pure.

use serde_json::{Number, Value};
use std::fmt::Write;
use tokio_postgres::types::{Kind, Type};

/// How the values of a column are asked for and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Boolean,
    /// Of any kind; those that a JSON number cannot hold stay text.
    Number,
    Text,
    /// With the T that ISO 8601 wants.
    Moment,
    Json,
    /// A list of exact numbers, as texts on the way.
    Numbers,
    /// Only how many there are.
    Bytes,
}

impl Shape {
    /// Of a column of this type.
    pub fn of(kind: &Type) -> Self {
        match *kind {
            Type::BOOL => Shape::Boolean,
            Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => Shape::Number,
            Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => Shape::Number,
            Type::TIMESTAMP | Type::TIMESTAMPTZ => Shape::Moment,
            Type::JSON | Type::JSONB | Type::RECORD => Shape::Json,
            Type::NUMERIC_ARRAY => Shape::Numbers,
            Type::BYTEA => Shape::Bytes,
            _ => match kind.kind() {
                Kind::Domain(inner) => Shape::of(inner),
                Kind::Composite(_) | Kind::Array(_) => Shape::Json,
                _ => Shape::Text,
            },
        }
    }

    /// What the server is asked to write, at most `characters` of it.
    fn expression(self, column: &str, characters: usize) -> String {
        let written = match self {
            Shape::Boolean | Shape::Number | Shape::Text => format!("{column}::text"),
            Shape::Moment => format!("to_json({column}) #>> '{{}}'"),
            Shape::Json => format!("to_json({column})::text"),
            Shape::Numbers => format!("to_json({column}::text[])::text"),
            Shape::Bytes => format!("octet_length({column})::text"),
        };
        format!("pg_catalog.left({written}, {characters})")
    }

    /// The value of a text that the server wrote.
    pub fn read(self, text: &str) -> Value {
        match self {
            Shape::Boolean => Value::from(text == "true"),
            Shape::Number => number(text),
            Shape::Text | Shape::Moment => Value::from(text),
            Shape::Json => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
            Shape::Numbers => numbers(Shape::Json.read(text)),
            Shape::Bytes => Value::from(format!("bytea of {text} bytes")),
        }
    }
}

/// The statement that asks for the same rows, every column as text. Columns go by number: names may repeat.
pub fn as_text(sql: &str, shapes: &[Shape], characters: usize) -> String {
    let mut expressions = String::new();
    let mut names = String::new();
    for (index, shape) in shapes.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let column = format!("c{index}");
        let _ = write!(
            expressions,
            "{comma}{}",
            shape.expression(&column, characters)
        );
        let _ = write!(names, "{comma}{column}");
    }
    // A comment may end the text.
    format!("SELECT {expressions} FROM (\n{sql}\n) AS asked ({names})")
}

/// A number where JSON can hold it digit by digit; else its text.
fn number(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return Value::from(whole);
    }
    let digits = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    let real = text.parse::<f64>().ok().filter(|real| real.is_finite());
    // Floats far from one are written with an exponent, and have no more digits than they need.
    let exact = |real: &f64| text.contains('e') || real.to_string() == digits;
    let number = real.filter(exact).and_then(Number::from_f64);
    number.map_or_else(|| Value::from(text), Value::Number)
}

fn numbers(list: Value) -> Value {
    match list {
        Value::Array(items) => items.into_iter().map(numbers).collect(),
        Value::String(text) => number(&text),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_become_json() {
        for (shape, text, expected) in [
            (Shape::Boolean, "true", json!(true)),
            (Shape::Boolean, "false", json!(false)),
            (Shape::Number, "-9223372036854775808", json!(i64::MIN)),
            (
                Shape::Number,
                "9223372036854775808",
                json!("9223372036854775808"),
            ),
            (Shape::Number, "0.10", json!(0.1)),
            (Shape::Number, "100.00", json!(100.0)),
            (
                Shape::Number,
                "123456789.123456789123",
                json!("123456789.123456789123"),
            ),
            (Shape::Number, "1e+300", json!(1e300)),
            (Shape::Number, "NaN", json!("NaN")),
            (Shape::Number, "-Infinity", json!("-Infinity")),
            (Shape::Text, "12", json!("12")),
            (Shape::Json, "{\"a\": [1, null]}", json!({"a": [1, null]})),
            (Shape::Json, "{\"a\": [1, nu", json!("{\"a\": [1, nu")),
            (
                Shape::Numbers,
                "[\"1.5\", null, [\"0.1234567890123456789\"]]",
                json!([1.5, null, ["0.1234567890123456789"]]),
            ),
            (Shape::Bytes, "3", json!("bytea of 3 bytes")),
        ] {
            assert_eq!(shape.read(text), expected, "{shape:?} {text}");
        }
    }

    #[test]
    fn every_column_is_asked_as_text_by_its_number() {
        let asked = as_text("SELECT a, a FROM t -- x", &[Shape::Text, Shape::Moment], 9);
        assert_eq!(
            asked,
            "SELECT pg_catalog.left(c0::text, 9), pg_catalog.left(to_json(c1) #>> '{}', 9) FROM (\nSELECT a, a FROM t -- x\n) AS asked (c0, c1)"
        );
    }
}
