//! Shapes for reading JSON of others: a field of an unexpected type is an absent field, never a lost line. It must not build a tree
//! of a whole line; `serde` skips what no reader asks for.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The largest whole number that JSON carries safely; sums of a few of them cannot overflow.
const COUNT_MAX: u64 = 1 << 53;

/// A text, number or flag, borrowed from the line where it has no escapes; whatever else stood there is `Absent`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Leaf<'a> {
    #[default]
    Absent,
    Flag(bool),
    Count(u64),
    Amount(f64),
    Text(Cow<'a, str>),
}

impl Leaf<'_> {
    /// The text, or nothing.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// The text, where there is one that is not empty.
    pub(super) fn some_text(&self) -> Option<String> {
        let text = self.text();
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some((*count).min(COUNT_MAX)),
            Self::Amount(amount) if *amount >= 0.0 => Some((*amount as u64).min(COUNT_MAX)),
            _ => None,
        }
    }

    pub(super) fn amount(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Amount(amount) if amount.is_finite() => Some(*amount),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Leaf<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LeafVisitor)
    }
}

struct LeafVisitor;

impl<'de> Visitor<'de> for LeafVisitor {
    type Value = Leaf<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Leaf::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Leaf::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Leaf::Flag(flag))
    }

    fn visit_u64<E>(self, count: u64) -> Result<Self::Value, E> {
        Ok(Leaf::Count(count))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Leaf::Amount(number as f64))
    }

    fn visit_f64<E>(self, amount: f64) -> Result<Self::Value, E> {
        Ok(Leaf::Amount(amount))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Leaf::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Leaf::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Leaf::Absent)
    }
}

/// Hands on the events of one line: one object, or an array of them as some tools print at the end.
pub(super) fn each_event<'a, T: Deserialize<'a>>(line: &'a str, mut each: impl FnMut(&T)) {
    if let Some(event) = event(line) {
        each(&event);
    } else if line.starts_with('[') {
        let events: Vec<T> = serde_json::from_str(line).unwrap_or_default();
        events.iter().for_each(each);
    }
}

/// The object of one line, where it is one.
pub(super) fn event<'a, T: Deserialize<'a>>(line: &'a str) -> Option<T> {
    line.starts_with('{')
        .then(|| serde_json::from_str(line).ok())?
}

/// A part of a line that was put aside, read as what it should be.
pub(super) fn part<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// The first `max_bytes` of a value as text: of a string its content, of a list of text blocks their content, else its JSON.
pub(super) fn head(raw: Option<&RawValue>, max_bytes: usize) -> String {
    let Some(raw) = raw else { return String::new() };
    let json = raw.get();
    if json.starts_with('"') {
        return head_of_string(json, max_bytes);
    }
    match json
        .starts_with('[')
        .then(|| serde_json::from_str::<Vec<TextBlock>>(json))
    {
        Some(Ok(blocks)) => {
            let texts: Vec<String> = blocks
                .iter()
                .map(|block| head(block.text, max_bytes))
                .collect();
            cut(&texts.join("\n"), max_bytes).to_owned()
        }
        _ => cut(json, max_bytes).to_owned(),
    }
}

#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// Decodes only the beginning of a JSON string, so that a result of megabytes costs no copy.
fn head_of_string(json: &str, max_bytes: usize) -> String {
    if json.len() <= max_bytes {
        return serde_json::from_str(json).unwrap_or_default();
    }
    // An escape is at most 12 bytes long (a pair of surrogates): one of these cuts is between two characters.
    (max_bytes.saturating_sub(12)..=max_bytes)
        .rev()
        .filter_map(|at| json.get(..at))
        .find_map(|start| serde_json::from_str(&format!("{start}\"")).ok())
        .unwrap_or_default()
}

/// At most `max_bytes` of a text, ending between two characters.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Odd<'a> {
        #[serde(borrow, default)]
        a: Leaf<'a>,
        #[serde(borrow, default)]
        b: Leaf<'a>,
    }

    #[test]
    fn a_field_of_another_type_is_absent() {
        for (line, a, b) in [
            (r#"{"a":"x","b":1,"c":[1,{"d":2}]}"#, "x", Some(1)),
            (r#"{"a":{"deep":[1,2]},"b":2.9}"#, "", Some(2)),
            (r#"{"a":[1],"b":"3"}"#, "", None),
            (r#"{"a":null,"b":-1}"#, "", None),
            (r#"{"a":"a\nb"}"#, "a\nb", None),
        ] {
            let odd: Odd = event(line).expect("an object");
            assert_eq!((odd.a.text(), odd.b.count()), (a, b), "{line}");
        }
        assert!(event::<Odd>("not json").is_none() && event::<Odd>("{\"a\":").is_none());
    }

    #[test]
    fn heads_are_cut_between_characters() {
        for (json, max, expected) in [
            (r#""short""#, 100, "short"),
            (r#""aaaa\nbbbb""#, 7, "aaaa\n"),
            (r#""aaaa\nbbbb""#, 6, "aaaa"),
            (r#""ééééé""#, 6, "éé"),
            (r#""ab\ud83d\ude00cd and more""#, 14, "ab"),
            (
                r#"[{"type":"text","text":"one"},{"text":"two"}]"#,
                100,
                "one\ntwo",
            ),
            (r#"{"a":1}"#, 100, r#"{"a":1}"#),
            (r#"[1,2,3]"#, 3, "[1,"),
        ] {
            let raw: &RawValue = serde_json::from_str(json).expect("JSON");
            assert_eq!(head(Some(raw), max), expected, "{json} {max}");
        }
    }
}
