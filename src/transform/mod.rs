//! The task kind `transform`: a jq filter over the results of a task's dependencies.
//!
//! ```text
//!  run ──► question (stdin) ──► `ralphd transform` (child: bounds itself, program, evaluate, output) ──► verdict (stdout) ──► run
//! ```
//!
//! A filter is a program of strangers that may loop, recurse or fill the memory, so it runs in a process of its own, within bounds. It
//! sees `.` and `$input` and nothing else: it must not reach files, the environment or the network, nor end more than itself.

mod child;
mod evaluate;
mod failure;
mod mistake;
mod output;
mod program;
mod run;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::policy::ErrorClass;

pub use child::transform_main;
pub use program::check;
pub use run::run;

/// What a filter may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From the start of its process to the verdict.
    pub time: Duration,
    /// Address space of its process, the program's own included.
    pub memory_bytes: u64,
    /// The result, as JSON.
    pub result_bytes: usize,
    /// The text of the filter.
    pub filter_bytes: usize,
    /// What it is given, as JSON.
    pub input_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            result_bytes: 1 << 20,
            filter_bytes: program::MAX_FILTER_BYTES,
            input_bytes: 64 << 20,
        }
    }
}

/// Why there is no result: the class that a policy acts on, and words for whoever wrote the filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub class: ErrorClass,
    pub message: String,
}

impl Trouble {
    fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
        }
    }

    fn other(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Other, message)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Trouble {}

/// What the child is asked; the input is a value on our side and its text on the child's.
#[derive(Serialize, Deserialize)]
struct Question<Input> {
    filter: String,
    inputs: BTreeMap<String, String>,
    input: Input,
}

/// What the child answers; the result is its text on the child's side and a value on ours.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict<Result> {
    Result(Result),
    Trouble(Trouble),
}

fn out_of_memory(memory_bytes: u64) -> Trouble {
    Trouble::other(format!(
        "the filter needs more memory than it may have ({}); let it build less at once",
        size(memory_bytes)
    ))
}

/// A size for people.
fn size(bytes: u64) -> String {
    let (unit_bytes, unit) = match bytes {
        0..1_024 => return format!("{bytes} bytes"),
        1_024..1_048_576 => (1_u64 << 10, "KiB"),
        1_048_576..1_073_741_824 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    let tenths = bytes.saturating_mul(10) / unit_bytes;
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        tenth => format!("{}.{tenth} {unit}", tenths / 10),
    }
}
