//! `read`: a page of a text file, with line numbers. It must not take more memory than a page, however long the file or its lines.

use super::jail::Opened;
use super::room::Den;
use super::{Fault, Tool, ToolCard, arguments, aside, show};
use crate::agent::Pending;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read as _};
use std::sync::Arc;

const DEFAULT_LINES: u64 = 2_000;
const MAX_PAGE_BYTES: usize = 50 * 1024;
const MAX_LINE_CHARACTERS: usize = 2_000;
const MAX_LINE_BYTES: usize = MAX_LINE_CHARACTERS * 4;
/// Lines beyond the page are counted for so long.
const MAX_COUNTED_BYTES: u64 = 64 << 20;
const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Path of the file, relative to the workspace.
    path: String,
    /// Number of the first line to show; the first line of a file is 1.
    offset: Option<u64>,
    /// How many lines to show; 2000 unless told.
    limit: Option<u64>,
}

pub struct Read(pub Arc<Den>);

impl Tool for Read {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "read",
            description: "Shows a text file of the workspace with line numbers, at most 2000 lines or 50 KB a call. Page through longer ones with offset and limit.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        let den = self.0.clone();
        Box::pin(async move {
            let wanted: Arguments = arguments::take("read", sent)?;
            aside(move || {
                let opened = den.jail.read(&wanted.path)?;
                page(&wanted, opened)
            })
            .await
        })
    }
}

fn page(wanted: &Arguments, opened: Opened) -> Result<String, Fault> {
    let failed = |error| Fault::Passing(format!("{} could not be read: {error}", wanted.path));
    let bytes = opened.bytes;
    let mut source = BufReader::with_capacity(BUFFER_BYTES, opened.file);
    let start = source.fill_buf().map_err(failed)?;
    if start.is_empty() {
        return Ok(format!("{} is empty.", wanted.path));
    }
    if show::is_binary(start) {
        return Err(Fault::Wrong(format!(
            "{} is a binary file of {bytes} bytes: it is not shown as text.",
            wanted.path
        )));
    }
    let first = wanted.offset.unwrap_or(1).max(1);
    let limit = wanted
        .limit
        .unwrap_or(DEFAULT_LINES)
        .clamp(1, DEFAULT_LINES);
    let mut number = 0;
    let mut shown = String::new();
    let mut line = Line::default();
    while number + 1 < first + limit && shown.len() < MAX_PAGE_BYTES {
        if !line.next(&mut source).map_err(failed)? {
            return ended(wanted, shown, first, number);
        }
        number += 1;
        if number >= first {
            shown.push_str(&format!("{number:>6}\t{}\n", line.shown()));
        }
    }
    let (more, all) = count(&mut source).map_err(failed)?;
    if more > 0 {
        let at_least = if all { "" } else { "at least " };
        let more = show::count(more, "more line");
        let next = number + 1;
        shown.push_str(&format!("[{at_least}{more}; go on with offset {next}]\n"));
    }
    Ok(shown)
}

fn ended(wanted: &Arguments, shown: String, first: u64, lines: u64) -> Result<String, Fault> {
    if shown.is_empty() {
        return Err(Fault::Wrong(format!(
            "{} has {} only; offset {first} is behind its end.",
            wanted.path,
            show::count(usize::try_from(lines).unwrap_or(usize::MAX), "line")
        )));
    }
    Ok(shown)
}

/// One line, as much of it as is shown.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    left_out: u64,
}

impl Line {
    /// Reads the next one; false at the end.
    fn next(&mut self, source: &mut impl BufRead) -> std::io::Result<bool> {
        self.kept.clear();
        self.left_out = 0;
        let mut any = false;
        loop {
            let buffer = source.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let fitting = piece.len().min(MAX_LINE_BYTES - self.kept.len());
            self.kept.extend_from_slice(&piece[..fitting]);
            self.left_out += (piece.len() - fitting) as u64;
            let used = piece.len() + usize::from(end.is_some());
            source.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        let mut shown = show::line(text, MAX_LINE_CHARACTERS).into_owned();
        if self.left_out > 0 {
            shown.push_str(&format!(" [… {} more bytes]", self.left_out));
        }
        shown
    }
}

/// The lines that are left, and whether these are all.
fn count(source: &mut impl BufRead) -> std::io::Result<(usize, bool)> {
    let mut rest = source.take(MAX_COUNTED_BYTES);
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let buffer = rest.fill_buf()?;
        let Some(end) = buffer.last() else {
            break;
        };
        last = *end;
        lines += memchr::memchr_iter(b'\n', buffer).count();
        let used = buffer.len();
        rest.consume(used);
    }
    Ok((lines + usize::from(last != b'\n'), rest.limit() > 0))
}
