//! `not_before` as RFC 3339 text.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(
    timestamp: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match timestamp {
        Some(timestamp) => serializer.collect_str(timestamp),
        None => serializer.serialize_none(),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<Cow<str>>::deserialize(deserializer)?;
    let parsed = text.map(|text| text.parse()).transpose();
    parsed.map_err(serde::de::Error::custom)
}
