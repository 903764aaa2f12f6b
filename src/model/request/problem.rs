//! What is wrong with a request, in words for the person who wrote it.

use std::fmt;
use std::ops::Deref;

use crate::model::document::Finding;

/// A request may have as many mistakes as it has keys; nobody reads more of them at once.
const MAX_SHOWN_PROBLEMS: usize = 20;
const MAX_SHOWN_KEY_CHARS: usize = 100;

/// One thing wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line in the whole file, from 1.
    pub line: Option<usize>,
    /// The dotted path of the key.
    pub key: Option<String>,
    pub message: String,
}

impl Problem {
    pub(super) fn plain(message: impl Into<String>) -> Problem {
        Problem {
            line: None,
            key: None,
            message: message.into(),
        }
    }

    pub(super) fn of_key(key: &str, message: &str) -> Problem {
        Problem {
            key: Some(key.to_owned()),
            ..Problem::plain(message)
        }
    }

    pub(super) fn at_line(line: usize, message: impl Into<String>) -> Problem {
        Problem {
            line: Some(line),
            ..Problem::plain(message)
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, &self.key) {
            (Some(line), Some(key)) => write!(formatter, "line {line}, {key}: ")?,
            (Some(line), None) => write!(formatter, "line {line}: ")?,
            (None, Some(key)) => write!(formatter, "{key}: ")?,
            (None, None) => {}
        }
        formatter.write_str(&self.message)
    }
}

/// Everything wrong with a request, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    /// One problem a line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(MAX_SHOWN_PROBLEMS).enumerate() {
            let line_break = if index > 0 { "\n" } else { "" };
            write!(formatter, "{line_break}{problem}")?;
        }
        match self.0.len().saturating_sub(MAX_SHOWN_PROBLEMS) {
            0 => Ok(()),
            more => write!(formatter, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

impl From<Vec<Problem>> for Problems {
    fn from(problems: Vec<Problem>) -> Problems {
        Problems(problems)
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Problem {
        Problem {
            line: finding.place.line(),
            key: Some(shown(&finding.key)).filter(|key| !key.is_empty()),
            message: finding.message,
        }
    }
}

/// A key is a stranger's text: short, and harmless in a log and on a terminal.
fn shown(key: &str) -> String {
    let short = key.chars().take(MAX_SHOWN_KEY_CHARS);
    short
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

impl From<Finding> for Problems {
    fn from(finding: Finding) -> Problems {
        Problem::from(finding).into()
    }
}

impl From<Vec<Finding>> for Problems {
    fn from(mut findings: Vec<Finding>) -> Problems {
        findings.sort_by(|one, other| one.place.cmp(&other.place));
        Problems(findings.into_iter().map(Problem::from).collect())
    }
}
