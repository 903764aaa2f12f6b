//! The outputs of a filter as one JSON text, within bounds. It must not follow a value further than those: parts of a value may be
//! shared, and written out they can be larger than any memory.

use jaq_json::{Num, Val};
use serde_json::Number;

use super::{Trouble, size};

/// Readers of JSON, ours among them, give up soon beyond this.
const MAX_DEPTH: usize = 100;

/// What the filter gave so far.
pub struct Outputs {
    text: Vec<u8>,
    count: usize,
    max_bytes: usize,
}

impl Outputs {
    pub fn new(max_bytes: usize) -> Self {
        Self {
            text: Vec::new(),
            count: 0,
            max_bytes,
        }
    }

    pub fn add(&mut self, output: &Val) -> Result<(), Trouble> {
        if self.count > 0 {
            self.push(b",")?;
        }
        self.count += 1;
        self.value(output, 0)
    }

    pub fn into_json(self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        match self.count {
            0 => "null".to_owned(),
            1 => text.into_owned(),
            _ => format!("[{text}]"),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        if self.text.len() + bytes.len() > self.max_bytes {
            return Err(Trouble::other(format!(
                "the filter's result is larger than {} as JSON; let it select or sum up more",
                size(self.max_bytes as u64)
            )));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn value(&mut self, value: &Val, depth: usize) -> Result<(), Trouble> {
        match value {
            Val::Null => self.push(b"null"),
            Val::Bool(true) => self.push(b"true"),
            Val::Bool(false) => self.push(b"false"),
            Val::Num(number) => self.push(plain_number(number).as_bytes()),
            Val::TStr(text) => self.text(text),
            Val::BStr(_) => Err(Trouble::other(
                "the filter's result holds bytes, which JSON cannot; turn them into text with tostring or @base64",
            )),
            Val::Arr(items) => {
                let items = items.iter().map(|item| (None, item));
                self.nested(b"[]", items, depth)
            }
            Val::Obj(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| (Some(key), value));
                self.nested(b"{}", pairs, depth)
            }
        }
    }

    fn nested<'v>(
        &mut self,
        brackets: &[u8; 2],
        items: impl Iterator<Item = (Option<&'v Val>, &'v Val)>,
        depth: usize,
    ) -> Result<(), Trouble> {
        if depth == MAX_DEPTH {
            return Err(Trouble::other(format!(
                "the filter's result is nested deeper than {MAX_DEPTH} levels; let it be flatter"
            )));
        }
        self.push(&brackets[..1])?;
        for (place, (key, value)) in items.enumerate() {
            if place > 0 {
                self.push(b",")?;
            }
            if let Some(key) = key {
                self.key(key)?;
            }
            self.value(value, depth + 1)?;
        }
        self.push(&brackets[1..])
    }

    fn key(&mut self, key: &Val) -> Result<(), Trouble> {
        let kind = match key {
            Val::TStr(text) => {
                self.text(text)?;
                return self.push(b":");
            }
            Val::Null => "null".to_owned(),
            Val::Bool(value) => value.to_string(),
            Val::Num(number) => number.to_string(),
            Val::BStr(_) | Val::Arr(_) | Val::Obj(_) => "a value that is no text".to_owned(),
        };
        Err(Trouble::other(format!(
            "the filter's result has an object with the key {kind}; a key must be text: ({kind} | tostring)"
        )))
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Trouble> {
        // Escapes only add to it: one that is too long already is not copied.
        if text.len() > self.max_bytes {
            return self.push(text);
        }
        // A string always has a JSON form.
        let json = serde_json::Value::from(String::from_utf8_lossy(text));
        self.push(json.to_string().as_bytes())
    }
}

/// A number in JSON's words, as jq has them: not-a-number is null, infinity the largest number there is.
fn plain_number(number: &Num) -> String {
    let text = number.to_string();
    if text.parse::<Number>().is_ok() {
        return text;
    }
    match text.parse::<f64>() {
        Ok(value) if !value.is_nan() => value.clamp(f64::MIN, f64::MAX).to_string(),
        _ => "null".to_owned(),
    }
}
