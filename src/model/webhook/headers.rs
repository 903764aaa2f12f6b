//! The headers of a delivery. It must not hand a secret on to a template.

use std::collections::BTreeMap;

/// What a template must not show: it would reach rows and prompts.
const SECRET: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-hub-signature",
    "x-hub-signature-256",
    "webhook-signature",
];

/// Headers by lower-case names, as they came.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a>(&'a [(String, String)]);

/// A header that must be there once came more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentTwice;

impl<'a> Headers<'a> {
    pub fn new(headers: &'a [(String, String)]) -> Self {
        Self(headers)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// The value of a header: of two with the same name, nobody knows which one another program on the way went by.
    pub fn one(&self, name: &str) -> Result<Option<&'a str>, SentTwice> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(SentTwice),
            (first, None) => Ok(first.map(|(_, value)| value.trim())),
        }
    }

    /// What a template may see; several values of one name in one, as HTTP has it.
    pub fn shown(&self) -> BTreeMap<&'a str, String> {
        let mut shown: BTreeMap<&str, String> = BTreeMap::new();
        let open = self
            .0
            .iter()
            .filter(|(name, _)| !SECRET.contains(&name.as_str()));
        for (name, value) in open {
            let known = shown.entry(name).or_default();
            if !known.is_empty() {
                known.push_str(", ");
            }
            known.push_str(value);
        }
        shown
    }
}
