//! What is wrong with a configuration: every problem with its origin and its key.

use std::fmt;
use std::path::Path;

use crate::model::document::{Finding, Place};

/// One thing wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// `file:line`, `file:line:column` or the name of an environment variable.
    pub origin: Option<String>,
    /// The dotted path of the key.
    pub key: Option<String>,
    pub message: String,
}

impl ConfigProblem {
    pub(super) fn new(finding: Finding, file: Option<&Path>) -> ConfigProblem {
        let file = file.map(|file| file.display().to_string());
        let origin = match finding.place {
            Place::Unknown => file,
            Place::Line(line) => file.map(|file| format!("{file}:{line}")),
            Place::Variable(name) => Some(name),
        };
        ConfigProblem {
            origin,
            key: Some(finding.key).filter(|key| !key.is_empty()),
            message: finding.message,
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.origin, &self.key].into_iter().flatten() {
            write!(formatter, "{part}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

/// Everything wrong with the configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<ConfigProblem>,
}

impl fmt::Display for ConfigError {
    /// One problem a line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_break = if index > 0 { "\n" } else { "" };
            write!(formatter, "{line_break}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
