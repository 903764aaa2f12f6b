//! The memory of one conversation on disk: its assignment, then a line for every reply and for what came of it. A process that
//! was killed is followed by one that reads it and goes on, without paying for anything twice.
//! Lines are masked before they are written; a line that was torn by the end of its writer, or spoilt by the disk, counts as not
//! written, and so does what follows it.

use super::settings::Assignment;
use crate::agent::stream::ralphd::How;
use crate::files;
use crate::model::conversation::{CallResult, History, Reply, Step, StepUsage};
use crate::model::mask::Mask;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    Assignment(Box<Assignment>),
    /// The model has answered; its calls are not done yet.
    Reply(Reply),
    /// What came of the last reply.
    Outcome {
        results: Vec<CallResult>,
        remark: Option<String>,
        /// Why the conversation is over with it, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<(How, String)>,
    },
    /// The oldest steps gave way to a summary.
    Compacted {
        steps: usize,
        summary: String,
        /// Of the replies that the summary took.
        usage: StepUsage,
    },
}

/// Where the journal of a turn lies: beside its output.
pub fn path_for(output_file: &Path) -> PathBuf {
    output_file.with_extension("steps.jsonl")
}

/// Begins the journal of a turn, unless an earlier start of the same turn has.
pub fn begin(path: &Path, assignment: &Assignment) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut line = serde_json::to_vec(&Entry::Assignment(Box::new(assignment.clone())))?;
    line.push(b'\n');
    files::write_whole(path, &line)
}

/// What an earlier process of the same turn has come to.
pub struct Past {
    pub assignment: Assignment,
    pub entries: Vec<Entry>,
}

impl Past {
    /// The conversation up to its last reply.
    pub fn history(&self, objective: String) -> History {
        let mut history = History {
            objective,
            ..History::default()
        };
        for entry in &self.entries {
            apply(&mut history, entry);
        }
        history
    }

    /// What the last reply took in and gave out, where the history is still the one it was given.
    pub fn reported(&self) -> u64 {
        let last = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Reply(reply) => Some(reply.usage.input_tokens + reply.usage.output_tokens),
            Entry::Compacted { .. } => Some(0),
            Entry::Assignment(_) | Entry::Outcome { .. } => None,
        });
        last.unwrap_or(0)
    }
}

fn apply(history: &mut History, entry: &Entry) {
    match entry {
        Entry::Assignment(_) => {}
        Entry::Reply(reply) => history.steps.push(Step {
            reply: reply.clone(),
            ..Step::default()
        }),
        Entry::Outcome {
            results, remark, ..
        } => {
            if let Some(step) = history.steps.last_mut() {
                step.results.clone_from(results);
                step.remark.clone_from(remark);
            }
        }
        Entry::Compacted { steps, summary, .. } => {
            history.steps.drain(..(*steps).min(history.steps.len()));
            history.summary = Some(summary.clone());
        }
    }
}

/// Everything in a journal that can be read, and how many bytes that is.
fn read(path: &Path) -> Result<(Past, u64)> {
    let bytes = std::fs::read(path)
        .with_context(|| format!("cannot read the journal {}", path.display()))?;
    let mut readable = 0;
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut entries = lines.map_while(|line| {
        let entry = serde_json::from_slice::<Entry>(line.strip_suffix(b"\n")?).ok()?;
        readable += line.len() as u64;
        Some(entry)
    });
    let Some(Entry::Assignment(assignment)) = entries.next() else {
        bail!(
            "the journal {} does not begin with an assignment",
            path.display()
        );
    };
    let past = Past {
        assignment: *assignment,
        entries: entries.collect(),
    };
    Ok((past, readable))
}

/// An open journal.
pub struct Journal {
    file: Arc<File>,
    mask: Arc<Mask>,
}

impl Journal {
    /// What the turn of a journal is about.
    pub fn assignment(path: &Path) -> Result<Assignment> {
        Ok(read(path)?.0.assignment)
    }

    /// Reads what is there, cuts off what is not readable, and goes on writing behind it.
    pub fn open(path: &Path, mask: Arc<Mask>) -> Result<(Self, Past)> {
        let (past, whole) = read(path)?;
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .with_context(|| format!("cannot write the journal {}", path.display()))?;
        file.set_len(whole)?;
        let journal = Self {
            file: Arc::new(file),
            mask,
        };
        Ok((journal, past))
    }

    /// Notes an entry. It survives this process at once, and the machine some milliseconds later: nobody waits for the disk, for
    /// the worst that a lost line costs is one more reply.
    pub fn note(&self, entry: &Entry) -> Result<()> {
        let line = serde_json::to_string(entry)?;
        let line = format!("{}\n", self.mask.text(&line));
        (&*self.file)
            .write_all(line.as_bytes())
            .context("cannot write the journal")?;
        let file = self.file.clone();
        tokio::task::spawn_blocking(move || file.sync_data());
        Ok(())
    }
}
