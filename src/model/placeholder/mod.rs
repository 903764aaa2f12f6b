//! Placeholders of SQL texts: `{{file_id}}`, `{{value}}`, `{{dep.N.path}}`, `{{input.name}}`. They become bound parameters; a value
//! never enters the text. It must not run SQL, and it judges a text only as far as placeholders go.

mod lookup;
mod region;
mod statement;
#[cfg(test)]
mod tests;

use std::fmt;

pub use lookup::{Bound, Sources, resolve};
pub use region::{Region, region};
pub use statement::{Dialect, Statement};

use super::document::excerpt;
use super::nearest::nearest;

/// What can stand between the braces, as a message lists it.
const KNOWN: [&str; 4] = ["file_id", "value", "dep.N.path", "input.name"];
/// A path longer than this is not meant as one.
const MAX_STEPS: usize = 32;

/// What a parameter stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The task's dataset, given or found by a dependency.
    FileId,
    /// What the one dependency came to.
    Value,
    /// A place in the result of the task with this order.
    Dependency { order: u32, path: Vec<String> },
    /// An input of the workflow.
    Input(String),
}

impl fmt::Display for Placeholder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileId => formatter.write_str("{{file_id}}"),
            Self::Value => formatter.write_str("{{value}}"),
            Self::Input(name) => write!(formatter, "{{{{input.{name}}}}}"),
            Self::Dependency { order, path } => {
                write!(formatter, "{{{{dep.{order}")?;
                for step in path {
                    write!(formatter, ".{step}")?;
                }
                formatter.write_str("}}")
            }
        }
    }
}

/// Why the placeholders of a text cannot be bound, in words for whoever wrote the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceholderError {
    Unknown {
        inner: String,
    },
    Unclosed,
    InQuotes(Placeholder),
    /// A table's name cannot be bound.
    AsTable(Placeholder),
    /// A parameter of SQL's own, which nothing would fill.
    Stray(String),
    TooMany {
        most: usize,
    },
}

impl fmt::Display for PlaceholderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { inner } => {
                write!(formatter, "unknown placeholder {}", excerpt(inner))?;
                match nearest(inner, KNOWN) {
                    Some(near) => write!(formatter, "; did you mean {{{{{near}}}}}?"),
                    None => write!(formatter, "; known: {{{{{}}}}}", KNOWN.join("}}, {{")),
                }
            }
            Self::Unclosed => formatter.write_str("a {{ is never closed by }}"),
            Self::InQuotes(placeholder) => write!(
                formatter,
                "{placeholder} stands inside quotes; remove the quotes, the value is bound as a parameter"
            ),
            Self::AsTable(placeholder) => write!(
                formatter,
                "{placeholder} stands where a table's name must be; write the name of the table itself"
            ),
            Self::Stray(parameter) => write!(
                formatter,
                "the parameter {parameter} would stay empty; use a placeholder such as {{{{value}}}} or {{{{dep.N.path}}}} instead"
            ),
            Self::TooMany { most } => write!(formatter, "more than {most} different placeholders"),
        }
    }
}

impl std::error::Error for PlaceholderError {}

/// Reads what stands between the braces.
pub fn parse(inner: &str) -> Option<Placeholder> {
    let inner = inner.trim();
    match inner {
        "file_id" => return Some(Placeholder::FileId),
        "value" => return Some(Placeholder::Value),
        _ => {}
    }
    if let Some(name) = inner.strip_prefix("input.") {
        return is_word(name).then(|| Placeholder::Input(name.to_owned()));
    }
    let mut path = steps(inner.strip_prefix("dep.")?)?.into_iter();
    let order = path.next()?.parse().ok()?;
    Some(Placeholder::Dependency {
        order,
        path: path.collect(),
    })
}

fn is_word(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The steps of a path: `1.rows[0].Total revenue` and `1.rows.0.Total revenue` are the same.
fn steps(path: &str) -> Option<Vec<String>> {
    let dotted = path.replace('[', ".").replace("].", ".");
    let dotted = dotted.strip_suffix(']').unwrap_or(&dotted);
    let steps: Vec<String> = dotted
        .split('.')
        .map(|step| step.trim().to_owned())
        .collect();
    let odd = |letter: char| letter.is_control() || "{}[]'\"`".contains(letter);
    let fits = |step: &String| !step.is_empty() && !step.contains(odd);
    (steps.len() <= MAX_STEPS && steps.iter().all(fits)).then_some(steps)
}
