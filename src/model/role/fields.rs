//! The fields of an answer, read tolerantly: the case of words, numbers in quotes, one text for a list of one, fields that nobody asked
//! for. What is wrong is collected, so that a model is asked again once and not five times. It must not guess what is not there.

use crate::model::document::{Node, excerpt};
use crate::model::shorten::head;
use crate::model::words::UnknownWord;
use serde_json::{Map, Value as Json};
use std::str::FromStr;

/// Longer explanations are cut: nobody reads them, and rows and prompts carry them.
const MAX_PROSE_BYTES: usize = 20_000;
/// A person chooses among a few, not among hundreds.
const MAX_OPTIONS: usize = 20;
const MAX_OPTION_BYTES: usize = 1000;

/// An answer under examination.
pub(super) struct Fields<'j> {
    fields: &'j Map<String, Json>,
    wrong: Vec<String>,
}

impl<'j> Fields<'j> {
    /// Takes an answer apart; `wanted` lists its fields.
    pub(super) fn of(answer: &'j Json, wanted: &str) -> Result<Self, String> {
        let Json::Object(fields) = answer else {
            let is = Node::from(answer.clone()).value;
            return Err(format!(
                "the answer must be a JSON object with {wanted}, is {is}"
            ));
        };
        // {"answer": {…}}
        let fields = match fields.values().next() {
            Some(Json::Object(inner)) if fields.len() == 1 => inner,
            _ => fields,
        };
        Ok(Self {
            fields,
            wrong: Vec::new(),
        })
    }

    /// A field that says something.
    pub(super) fn get(&self, name: &str) -> Option<&'j Json> {
        let same = |(key, _): &(&String, &Json)| key.trim().eq_ignore_ascii_case(name);
        let exact = self.fields.get(name);
        let found = exact.or_else(|| self.fields.iter().find(same).map(|(_, value)| value))?;
        match found {
            Json::Null => None,
            Json::String(text) if text.trim().is_empty() => None,
            said => Some(said),
        }
    }

    /// Notes what is wrong with a field, and what to write instead.
    pub(super) fn reject(&mut self, name: &str, message: impl std::fmt::Display) {
        self.wrong.push(format!("{name}: {message}"));
    }

    /// A plain value as a text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        let text = plain(value);
        if text.is_none() {
            let is = Node::from(value.clone()).value;
            self.reject(name, format!("must be text, is {is}"));
        }
        text
    }

    /// An explanation; a very long one is cut.
    pub(super) fn prose(&mut self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        Some(head(&text, MAX_PROSE_BYTES).to_owned())
    }

    /// One word of a closed set, in any case.
    pub(super) fn word<W: FromStr<Err = UnknownWord>>(&mut self, name: &str) -> Option<W> {
        let given = self.text(name);
        let plain = given.as_deref().unwrap_or_default().to_lowercase();
        match plain.trim_matches(['"', '\'', '`', '*', '.', ' ']).parse() {
            Ok(word) => return Some(word),
            Err(UnknownWord { known, .. }) if given.is_none() => {
                if self.get(name).is_none() {
                    self.reject(name, format!("missing; write {}", known.join(" or ")));
                }
            }
            Err(UnknownWord { known, .. }) => {
                let is = excerpt(&plain);
                self.reject(name, format!("must be {}, is {is}", known.join(" or ")));
            }
        }
        None
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        let Some(given) = self.get(name) else {
            self.reject(name, "missing; write true or false");
            return None;
        };
        match plain(given).map(|text| text.to_lowercase()).as_deref() {
            Some("true" | "yes") => Some(true),
            Some("false" | "no") => Some(false),
            _ => {
                let is = Node::from(given.clone()).value;
                self.reject(name, format!("must be true or false, is {is}"));
                None
            }
        }
    }

    /// What a person may choose from: plain texts, each once.
    pub(super) fn options(&mut self, name: &str) -> Vec<String> {
        let items = match self.get(name) {
            None => return Vec::new(),
            Some(Json::Array(items)) => &items[..],
            Some(one) => std::slice::from_ref(one),
        };
        let mut options: Vec<String> = Vec::new();
        for item in items.iter().take(MAX_OPTIONS + 1) {
            match plain(item) {
                None => {
                    let is = Node::from(item.clone()).value;
                    self.reject(name, format!("each must be text, one is {is}"));
                    return Vec::new();
                }
                Some(text) => {
                    let text = head(&text, MAX_OPTION_BYTES);
                    if !text.is_empty() && !options.iter().any(|earlier| earlier == text) {
                        options.push(text.to_owned());
                    }
                }
            }
        }
        if items.len() > MAX_OPTIONS {
            let count = items.len();
            self.reject(
                name,
                format!("must be at most {MAX_OPTIONS}, are {count}; keep the likeliest"),
            );
        }
        options
    }

    /// Whether nothing was wrong so far.
    pub(super) fn is_right(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Everything that was wrong.
    pub(super) fn wrong(self) -> String {
        self.wrong.join("; ")
    }
}

/// A scalar as a text without white space around it.
fn plain(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.trim().to_owned()),
        Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        Json::Null => Some(String::new()),
        Json::Array(_) | Json::Object(_) => None,
    }
}
