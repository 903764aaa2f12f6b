//! Everything that is wrong with something a stranger wrote, told at once: for requests, plans and workflows alike.
//! It must not know what any of it means.

use std::fmt;
use std::ops::Deref;

/// There may be as many mistakes as there are keys; nobody mends more of them at once.
const MAX_SHOWN: usize = 20;
const MAX_KEY_CHARS: usize = 100;

/// All problems, in the order in which they are told; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems<P>(Vec<P>);

impl<P> Deref for Problems<P> {
    type Target = [P];

    fn deref(&self) -> &[P] {
        &self.0
    }
}

impl<P> From<Vec<P>> for Problems<P> {
    fn from(problems: Vec<P>) -> Self {
        Self(problems)
    }
}

impl<P> From<P> for Problems<P> {
    fn from(problem: P) -> Self {
        Self(vec![problem])
    }
}

impl<P: fmt::Display> fmt::Display for Problems<P> {
    /// One problem a line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(MAX_SHOWN).enumerate() {
            let line_break = if index > 0 { "\n" } else { "" };
            write!(formatter, "{line_break}{problem}")?;
        }
        match self.0.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\nand {more} more"),
        }
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for Problems<P> {}

/// A key is a stranger's text: short, and harmless in a log and on a terminal. Nothing for an empty one.
pub fn shown_key(key: &str) -> Option<String> {
    let short = key.chars().take(MAX_KEY_CHARS);
    let harmless: String = short
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect();
    Some(harmless).filter(|key| !key.is_empty())
}
