//! Files as rows: every reader goes over its file as often as asked, in flat memory, and names what is broken by line.
//! It must not know what becomes of the rows.

mod csv;
mod json;
mod lines;
mod sheet;

pub use self::csv::CsvFile;
pub use self::json::{JsonFile, WholeJson, opens_with_object};
pub use self::lines::JsonLines;
pub use self::sheet::Workbook;

use super::infer::Cell;
use super::limits::ImportLimits;
use super::trouble::{Fault, Trouble};
use std::cell::Cell as Counter;
use std::io::Read;
use std::rc::Rc;

/// What takes the rows, one by one.
pub type Visit<'v> = dyn FnMut(&[Cell<'_>]) -> Result<(), Trouble> + 'v;

/// A file, or a part of one, that gives rows.
pub trait Rows {
    /// The columns known so far, as the file spells them. After one pass these are all.
    fn header(&self) -> Vec<String>;

    /// Goes over all rows once. A row may be shorter than the header: the rest is NULL.
    fn pass(&mut self, broken: &mut Broken, visit: &mut Visit<'_>) -> Result<(), Trouble>;
}

/// The rows that were left out, and how many may be.
#[derive(Debug, Default)]
pub struct Broken {
    limit: usize,
    /// What was wrong, by line.
    pub rows: Vec<String>,
}

impl Broken {
    /// Tolerates `limit` broken rows.
    pub fn at_most(limit: usize) -> Self {
        Self {
            limit,
            rows: Vec::new(),
        }
    }

    /// Notes a broken row; the one over the limit refuses the file.
    pub fn note(&mut self, what: String) -> Result<(), Trouble> {
        if self.rows.len() < self.limit {
            self.rows.push(what);
            return Ok(());
        }
        Err(Trouble::format(format!(
            "more than {} broken rows, the last seen: {what}; the first: {}",
            self.limit,
            self.rows.first().map_or("none", String::as_str)
        )))
    }
}

/// A reader that refuses a row without end: whoever parses it tells when a row was complete.
struct Fenced<R> {
    inner: R,
    since: Rc<Counter<usize>>,
    max_bytes: usize,
}

/// Parsers read ahead by their buffers: that much more is no sign of a long row.
const READ_AHEAD: usize = 256 << 10;

impl<R: Read> Fenced<R> {
    fn new(inner: R, limits: &ImportLimits) -> (Self, Rc<Counter<usize>>) {
        let since = Rc::new(Counter::new(0));
        let fenced = Self {
            inner,
            since: since.clone(),
            max_bytes: limits.row_bytes + READ_AHEAD,
        };
        (fenced, since)
    }
}

impl<R: Read> Read for Fenced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.since.get() > self.max_bytes {
            return Err(std::io::Error::other(Trouble::format("a row is too large")));
        }
        let bytes = self.inner.read(buffer)?;
        self.since.set(self.since.get() + bytes);
        Ok(bytes)
    }
}

fn too_large(place: impl std::fmt::Display, limits: &ImportLimits) -> Trouble {
    let limit = limits.row_bytes;
    Trouble::format(format!("{place}: the row has more than {limit} bytes"))
}

fn too_wide(limits: &ImportLimits) -> Trouble {
    let limit = limits.columns;
    Trouble::format(format!("more than {limit} columns"))
}

/// Refuses what is no text before a parser makes nonsense of it.
fn require_text(head: &[u8]) -> Result<(), Trouble> {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Err(Trouble::format(
            "it is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)",
        ));
    }
    match memchr::memchr(0, head) {
        None => Ok(()),
        Some(_) => Err(Trouble::format("it is binary or UTF-16, not UTF-8 text")),
    }
}

fn not_utf8(line: u64) -> Trouble {
    Trouble::new(
        Fault::Format,
        format!(
            "line {line} is not UTF-8; save the file as UTF-8 (iconv -f WINDOWS-1252 -t UTF-8)"
        ),
    )
}
