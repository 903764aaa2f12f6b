//! The lines that were found, by file, and how they are told: in the order of their paths, within bounds.

use super::MAX_BUFFERED_BYTES;
use crate::agent::tool::show;
use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// When so many lines are found, the search may stop: nobody reads them all.
pub const MAX_KEPT_LINES: usize = 2_000;
const MAX_LINES_OF_FILE: usize = 200;
const MAX_SHOWN_LINES: usize = 200;
const MAX_SHOWN_BYTES: usize = 30 * 1024;
const MAX_LINE_CHARACTERS: usize = 300;
const MAX_LINE_BYTES: usize = 4_096;

struct Line {
    number: u64,
    kept: Vec<u8>,
    left_out: usize,
}

impl Line {
    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let mut shown = show::line(text.trim_end(), MAX_LINE_CHARACTERS).into_owned();
        if self.left_out > 0 {
            shown.push_str(&format!(" [… {} more bytes]", self.left_out));
        }
        shown
    }
}

/// What was found in one file.
pub struct OfFile {
    lines: Vec<Line>,
    more: bool,
    binary: bool,
}

impl OfFile {
    pub fn new() -> Self {
        Self {
            lines: Vec::new(),
            more: false,
            binary: false,
        }
    }

    pub fn is_binary(&self) -> bool {
        self.binary
    }
}

impl Sink for &mut OfFile {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.lines.len() >= MAX_LINES_OF_FILE {
            self.more = true;
            return Ok(false);
        }
        let line = found.bytes();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let end = line.len().min(MAX_LINE_BYTES);
        self.lines.push(Line {
            number: found.line_number().unwrap_or(0),
            kept: line[..end].to_vec(),
            left_out: line.len() - end,
        });
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> Result<(), io::Error> {
        Ok(())
    }
}

/// What was found in all files.
#[derive(Default)]
pub struct Hits(Mutex<Found>);

#[derive(Default)]
struct Found {
    files: Vec<(PathBuf, OfFile)>,
    lines: usize,
    unsearched: usize,
}

impl Hits {
    /// Takes what one file held; returns how many lines are kept now.
    pub fn add(&self, path: &Path, of_file: OfFile) -> usize {
        if of_file.binary || of_file.lines.is_empty() {
            return 0;
        }
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.lines += of_file.lines.len();
        found.files.push((path.to_owned(), of_file));
        found.lines
    }

    /// Takes note of a file that could not be searched to its end.
    pub fn miss(&self) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.unsearched += 1;
    }

    pub fn told(self, pattern: &str, name: impl Fn(&Path) -> String, cut: bool) -> String {
        let mut found = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.files.sort_by(|one, other| one.0.cmp(&other.0));
        let mut text = String::new();
        let mut shown = 0;
        'files: for (path, of_file) in &found.files {
            let name = name(path);
            for line in &of_file.lines {
                if shown >= MAX_SHOWN_LINES || text.len() >= MAX_SHOWN_BYTES {
                    break 'files;
                }
                text.push_str(&format!("{name}:{}:{}\n", line.number, line.shown()));
                shown += 1;
            }
        }
        let more = found.lines >= MAX_KEPT_LINES || found.files.iter().any(|(_, file)| file.more);
        if cut {
            text.push_str(
                "[the search was ended early: it took too long. Give a narrower path or glob]\n",
            );
        } else if shown == 0 {
            let missed = match unsearched(found.unsearched) {
                missed if missed.is_empty() => missed,
                missed => format!("\n{missed}"),
            };
            return format!(
                "No line matches {pattern}. Binary files, .git and what .gitignore names were not searched.{missed}"
            );
        }
        if shown < found.lines || more {
            let at_least = if more || cut { "at least " } else { "" };
            text.push_str(&format!(
                "[{shown} of {at_least}{} in {at_least}{}; narrow the pattern, path or glob to see the others]\n",
                show::count(found.lines, "matching line"),
                show::count(found.files.len(), "file")
            ));
        }
        text.push_str(&unsearched(found.unsearched));
        text
    }
}

fn unsearched(files: usize) -> String {
    let (what, have) = match files {
        0 => return String::new(),
        1 => ("1 file was".to_owned(), "it has"),
        many => (format!("{many} files were"), "they have"),
    };
    format!(
        "[{what} not searched to the end: {have} a line of more than {} MB, or cannot be read]\n",
        MAX_BUFFERED_BYTES >> 20
    )
}
