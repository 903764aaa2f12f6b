//! What is wrong with a plan or a workflow, in words that its author, person or model, can act on.

use std::fmt;

use crate::model::document::Finding;
use crate::model::problems::{self, shown_key};

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
            field: shown_key(&finding.key),
            message: finding.message,
        }
    }
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
pub type Problems = problems::Problems<Problem>;
