//! What is wrong with a request, in words for the person who wrote it.

use std::fmt;

use crate::model::document::Finding;
use crate::model::problems::{self, shown_key};

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
pub type Problems = problems::Problems<Problem>;

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Problem {
        Problem {
            line: finding.place.line(),
            key: shown_key(&finding.key),
            message: finding.message,
        }
    }
}

impl From<Finding> for Problems {
    fn from(finding: Finding) -> Problems {
        Problem::from(finding).into()
    }
}

impl From<Vec<Finding>> for Problems {
    fn from(mut findings: Vec<Finding>) -> Problems {
        findings.sort_by(|one, other| one.place.cmp(&other.place));
        findings
            .into_iter()
            .map(Problem::from)
            .collect::<Vec<_>>()
            .into()
    }
}
