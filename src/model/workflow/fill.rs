//! `{{ input.x }}` in the texts of a task. In prose the value itself is put in. In code it never is: SQL keeps the placeholder, to be bound;
//! a filter gets `$input.x`; a command gets a variable of its environment, quoted so that it stays one word.

use std::collections::BTreeMap;

use crate::model::plan::PlanTask;

/// What kind of text a placeholder stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Prose,
    Sql,
    Filter,
    Command,
}

/// Every text of a task, by its field.
pub(super) fn texts(
    task: &mut PlanTask,
) -> impl Iterator<Item = (&'static str, Slot, &mut String)> {
    let optional = [
        ("agent", Slot::Prose, &mut task.agent),
        ("target", Slot::Prose, &mut task.target),
        ("sql", Slot::Sql, &mut task.sql),
        ("filter", Slot::Filter, &mut task.filter),
        ("command", Slot::Command, &mut task.command),
        ("expected_output", Slot::Prose, &mut task.expected_output),
        ("reasoning", Slot::Prose, &mut task.reasoning),
    ];
    let given = optional
        .into_iter()
        .filter_map(|(field, slot, text)| Some((field, slot, text.as_mut()?)));
    std::iter::once(("description", Slot::Prose, &mut task.description)).chain(given)
}

/// The environment variable in which a command finds an input.
pub fn variable(name: &str) -> String {
    format!("RALPHD_INPUT_{}", name.to_uppercase())
}

enum Piece<'t> {
    Text(&'t str),
    Input(&'t str),
}

/// The names of the inputs that a text mentions.
pub(super) fn references(text: &str) -> Vec<&str> {
    let names = pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Input(name) => Some(name),
        Piece::Text(_) => None,
    });
    names.collect()
}

/// Other braces are other people's: they stay.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some(open) = text[from..].find("{{").map(|at| from + at) {
        let inner = text[open + 2..]
            .find("}}")
            .map(|length| &text[open + 2..open + 2 + length]);
        match inner.and_then(|inner| Some((inner, inner.trim().strip_prefix("input.")?))) {
            Some((inner, name)) => {
                pieces.push(Piece::Text(&text[start..open]));
                pieces.push(Piece::Input(name.trim()));
                start = open + inner.len() + 4;
                from = start;
            }
            None => from = open + 1,
        }
    }
    pieces.push(Piece::Text(&text[start..]));
    pieces
}

/// Whether every placeholder of a text stands where something can be put in.
pub(super) fn fits(text: &str, slot: Slot) -> Result<(), String> {
    put(text, slot, |_| Ok(String::new())).map(|_| ())
}

/// The text with its inputs put in, in one pass: what a value says is never looked at.
pub(super) fn fill(
    text: &str,
    slot: Slot,
    values: &BTreeMap<String, String>,
) -> Result<String, String> {
    put(text, slot, |name| {
        let value = values.get(name);
        value
            .cloned()
            .ok_or_else(|| format!("there is no input {name:?}"))
    })
}

fn put(
    text: &str,
    slot: Slot,
    value: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    if slot == Slot::Sql {
        return Ok(text.to_owned());
    }
    let mut filled = String::with_capacity(text.len());
    let mut quotes = Quotes::default();
    for piece in pieces(text) {
        match (piece, slot) {
            (Piece::Text(text), _) => {
                quotes.pass(text, slot);
                filled.push_str(text);
            }
            (Piece::Input(name), Slot::Command) => {
                value(name)?;
                filled.push_str(&quotes.shell_variable(name)?);
            }
            (Piece::Input(name), Slot::Filter) => {
                value(name)?;
                filled.push_str(&quotes.filter_variable(name)?);
            }
            (Piece::Input(name), Slot::Prose | Slot::Sql) => filled.push_str(&value(name)?),
        }
    }
    Ok(filled)
}

/// Which quotes are open. Should it be wrong about a tricky text, a variable is split or stays literal; nothing is ever run by it.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
    in_comment: bool,
    escaped: bool,
    at_word_start: bool,
}

impl Quotes {
    fn pass(&mut self, text: &str, slot: Slot) {
        for letter in text.chars() {
            if self.in_comment {
                self.in_comment = letter != '\n';
            } else if !std::mem::take(&mut self.escaped) {
                self.take(letter, slot);
            }
            self.at_word_start = letter.is_whitespace() || letter == ';';
        }
    }

    fn take(&mut self, letter: char, slot: Slot) {
        match (self.open, letter) {
            (open, '\\') => self.escaped = open != Some('\''),
            (Some(open), letter) if open == letter => self.open = None,
            (None, '"') => self.open = Some('"'),
            (None, '\'') if slot == Slot::Command => self.open = Some('\''),
            (None, '#') => self.in_comment = slot == Slot::Filter || self.at_word_start,
            _ => {}
        }
    }

    fn shell_variable(&self, name: &str) -> Result<String, String> {
        let variable = variable(name);
        match self.open {
            None => Ok(format!("\"${{{variable}}}\"")),
            Some('"') => Ok(format!("${{{variable}}}")),
            Some(_) => Err(format!(
                "{{{{ input.{name} }}}} stands inside single quotes, where the shell puts nothing in; use double quotes or none"
            )),
        }
    }

    fn filter_variable(&self, name: &str) -> Result<String, String> {
        match self.open {
            None => Ok(format!("$input.{name}")),
            Some(_) => Err(format!(
                "{{{{ input.{name} }}}} stands inside quotes; remove them, or write \\($input.{name}) there"
            )),
        }
    }
}
