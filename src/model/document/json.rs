//! JSON as a placed tree. serde_json reads the text; a scan of the same tokens, which come in the same
//! order, knows their lines. Duplicate keys stay in the tree for the checker to report.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Entry, Finding, Node, Place, Value};

/// Reads one JSON value.
pub fn parse(text: &str) -> Result<Node, Finding> {
    let mut lines = Lines::new(text);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Placed { lines: &mut lines }
        .deserialize(&mut deserializer)
        .and_then(|node| deserializer.end().map(|()| node))
        .map_err(|error| finding(&error))
}

fn finding(error: &serde_json::Error) -> Finding {
    let text = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&suffix).unwrap_or(&text);
    let message = format!("not valid JSON: {reason} (column {})", error.column());
    let place = match error.line() {
        0 => Place::Unknown,
        line => Place::Line(line),
    };
    Finding {
        place,
        key: String::new(),
        message,
    }
}

/// The lines at which the tokens of a JSON text begin, keys and values alike, in their order.
struct Lines<'t> {
    bytes: std::iter::Peekable<std::slice::Iter<'t, u8>>,
    line: usize,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        Lines {
            bytes: text.as_bytes().iter().peekable(),
            line: 1,
        }
    }

    fn next_place(&mut self) -> Place {
        while let Some(byte) = self.bytes.next() {
            match byte {
                b'\n' => self.line += 1,
                b'"' => {
                    self.skip_string();
                    return Place::Line(self.line);
                }
                b'{' | b'[' => return Place::Line(self.line),
                b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                    self.skip_word();
                    return Place::Line(self.line);
                }
                _ => {}
            }
        }
        Place::Unknown
    }

    /// A JSON string holds no line break, so the line stays.
    fn skip_string(&mut self) {
        while let Some(byte) = self.bytes.next() {
            match byte {
                b'\\' => {
                    self.bytes.next();
                }
                b'"' => return,
                _ => {}
            }
        }
    }

    fn skip_word(&mut self) {
        let in_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(*byte);
        while self.bytes.next_if(in_word).is_some() {}
    }
}

struct Placed<'l, 't> {
    lines: &'l mut Lines<'t>,
}

impl<'de> DeserializeSeed<'de> for Placed<'_, '_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let place = self.lines.next_place();
        let value = deserializer.deserialize_any(self)?;
        Ok(Node::new(place, value))
    }
}

impl<'de> Visitor<'de> for Placed<'_, '_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(node) = sequence.next_element_seed(Placed {
            lines: &mut *self.lines,
        })? {
            items.push(node);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let place = self.lines.next_place();
            let node = map.next_value_seed(Placed {
                lines: &mut *self.lines,
            })?;
            entries.push(Entry { name, place, node });
        }
        Ok(Value::Table(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_knows_its_line() {
        let text =
            "{\n\"a\\\"{\": [1,\n -2.5e+3, true, null],\n\n\"b\": {\"c\":\n\"é\\\\\"}, \"d\": 7}";
        let node = parse(text).unwrap();
        let line = |path: &[&str]| node.place_of(path).and_then(Place::line);
        assert_eq!(line(&["a\"{"]), Some(2));
        assert_eq!(line(&["b"]), Some(5));
        assert_eq!(line(&["b", "c"]), Some(5));
        assert_eq!(line(&["d"]), Some(6));
        let Value::List(items) = &node.entry("a\"{").unwrap().node.value else {
            panic!("not a list")
        };
        let lines: Vec<_> = items.iter().map(|item| item.place.line()).collect();
        assert_eq!(lines, [Some(2), Some(3), Some(3), Some(3)]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, part) in [
            ("", 1, "EOF"),
            ("{\n\"a\": }", 2, "expected value"),
            ("{}\n{}", 2, "trailing characters"),
            (&"[".repeat(100_000), 1, "recursion limit"),
        ] {
            let finding = parse(text).unwrap_err();
            assert_eq!(
                finding.place.line().unwrap_or(1),
                line,
                "{}",
                finding.message
            );
            assert!(finding.message.contains(part), "{}", finding.message);
        }
    }
}
