//! YAML as a placed tree. Bombs, deep nesting, duplicate keys, merge keys and foreign tags are refused;
//! `yes`, `no`, `on` and `off` are text, never truth values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, SnippetMode, Spanned};

use super::{Entry, Finding, Node, Place, Value};

const NESTING_LEVELS: usize = 16;
const NODES: usize = 20_000;
const ANCHORS: usize = 100;
const ALIAS_DEPTH: usize = 8;

/// Reads one YAML document; blank text is an empty table. Line 1 of `text` is reported as line
/// `lines_before + 1`.
pub fn parse(text: &str, lines_before: usize) -> Result<Node, Finding> {
    // Leading empty lines give every location of the parser the line of the whole file.
    let padded = "\n".repeat(lines_before) + text;
    let node = serde_saphyr::from_str_with_options::<Option<Placed>>(&padded, options());
    match node {
        Ok(Some(Placed(node))) => Ok(node),
        Ok(None) => Ok(Node::empty_table()),
        Err(error) => Err(finding(&error)),
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 4 * NODES,
            max_nodes: NODES,
            max_depth: NESTING_LEVELS,
            flow_nesting_limit: NESTING_LEVELS,
            max_aliases: NODES,
            max_anchors: ANCHORS,
            max_recorded_anchor_events: 4 * NODES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES,
            max_replay_stack_depth: ALIAS_DEPTH,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn finding(error: &serde_saphyr::Error) -> Finding {
    let place = match error.location() {
        Some(location) if location.line() > 0 => {
            Place::Line(usize::try_from(location.line()).unwrap_or(usize::MAX))
        }
        _ => Place::Unknown,
    };
    // What goes wrong inside an alias is placed where the alias is used, and told in its own words.
    let error = match error {
        serde_saphyr::Error::AliasError { error, .. } => error,
        other => other,
    };
    let (key, message) = match error {
        serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
            (key.clone().unwrap_or_default(), "given twice".to_owned())
        }
        serde_saphyr::Error::Budget { .. }
        | serde_saphyr::Error::AliasReplayLimitExceeded { .. }
        | serde_saphyr::Error::AliasReplayStackDepthExceeded { .. } => (
            String::new(),
            format!("too large or too deeply nested: {}", plain_message(error)),
        ),
        other => (
            String::new(),
            format!("not valid YAML: {}", plain_message(other)),
        ),
    };
    Finding {
        place,
        key,
        message,
    }
}

/// The parser's words on one line, without the excerpt of the source.
fn plain_message(error: &serde_saphyr::Error) -> String {
    let formatter = serde_saphyr::UserMessageFormatter;
    let mut options = serde_saphyr::RenderOptions::new(&formatter);
    options.snippets = SnippetMode::Off;
    let text = error.render_with_options(options);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match (text.rsplit_once(" at line "), error.location()) {
        (Some((reason, _)), Some(location)) => {
            format!(
                "{} (column {})",
                reason.trim_end_matches(','),
                location.column()
            )
        }
        _ => text,
    }
}

struct Placed(Node);

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Placed, D::Error> {
        let spanned = Spanned::<Plain>::deserialize(deserializer)?;
        Ok(Placed(Node::new(place(&spanned), spanned.value.0)))
    }
}

fn place<T>(spanned: &Spanned<T>) -> Place {
    match usize::try_from(spanned.referenced.line()) {
        Ok(line) if line > 0 => Place::Line(line),
        _ => Place::Unknown,
    }
}

struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Plain)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
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

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        let value = i128::try_from(value).map_err(|_| E::custom("the number is too large"))?;
        Ok(Value::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Placed(node)) = sequence.next_element()? {
            items.push(node);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        // Read as text, a key such as 2026 keeps its spelling.
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let Placed(node) = map.next_value()?;
            let place = place(&key);
            entries.push(Entry {
                name: key.value,
                place,
                node,
            });
        }
        Ok(Value::Table(entries))
    }
}
