//! What is wrong with a plan or a workflow, in words that its author, person or model, can act on.

use std::fmt;
use std::ops::Deref;

use crate::model::document::Finding;

/// Nobody mends more of them at once.
const MAX_SHOWN_PROBLEMS: usize = 20;
const MAX_SHOWN_CHARS: usize = 100;

/// One thing wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line in the file, from 1, where there is a file.
    pub line: Option<usize>,
    /// `task 3`, or its place in the list where it has no usable order.
    pub task: Option<String>,
    pub field: Option<String>,
    pub message: String,
}

impl Problem {
    pub(crate) fn plain(message: impl Into<String>) -> Problem {
        Problem {
            line: None,
            task: None,
            field: None,
            message: message.into(),
        }
    }

    pub(crate) fn of_field(field: &str, message: impl Into<String>) -> Problem {
        Problem {
            field: Some(field.to_owned()),
            ..Problem::plain(message)
        }
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Problem {
        Problem {
            line: finding.place.line(),
            task: None,
            field: Some(shown(&finding.key)).filter(|key| !key.is_empty()),
            message: finding.message,
        }
    }
}

/// A key is a stranger's text: short, and harmless in a log and on a terminal.
fn shown(key: &str) -> String {
    let harmless = |letter: char| if letter.is_control() { '?' } else { letter };
    key.chars().take(MAX_SHOWN_CHARS).map(harmless).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!("line {line}"));
        let parts = [&line, &self.task, &self.field];
        let place: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        if !place.is_empty() {
            write!(formatter, "{}: ", place.join(", "))?;
        }
        formatter.write_str(&self.message)
    }
}

/// Everything wrong with a plan; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

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
