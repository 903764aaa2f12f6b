//! CSV and TSV. The separator is the one that the header uses most: comma, semicolon, tab or bar.

use super::{Broken, Fenced, Rows, Visit, not_utf8, require_text, too_large, too_wide};
use crate::dataset::infer::Cell;
use crate::dataset::limits::ImportLimits;
use crate::dataset::trouble::Trouble;
use csv::{ErrorKind, StringRecord};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
const HEAD_BYTES: u64 = 64 << 10;
const BUFFER_BYTES: usize = 128 << 10;

/// One file of separated values, the first row its header.
pub struct CsvFile<'f> {
    file: &'f File,
    separator: u8,
    header: Vec<String>,
    limits: ImportLimits,
}

impl<'f> CsvFile<'f> {
    /// Finds out how the file is separated. `separator` is given where the file's ending says it.
    pub fn open(
        mut file: &'f File,
        separator: Option<u8>,
        limits: &ImportLimits,
    ) -> Result<Self, Trouble> {
        let mut head = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(HEAD_BYTES).read_to_end(&mut head)?;
        require_text(&head)?;
        Ok(Self {
            file,
            separator: separator.unwrap_or_else(|| sniff(&head)),
            header: Vec::new(),
            limits: limits.clone(),
        })
    }

    fn take_header(&mut self, record: &StringRecord) -> Result<(), Trouble> {
        if record.len() > self.limits.columns {
            return Err(too_wide(&self.limits));
        }
        self.header = record.iter().map(str::to_owned).collect();
        Ok(())
    }

    /// A last field with a line break was in quotes: a file that does not end with one has lost its closing quote, and all rows
    /// after that are in this field.
    fn require_closed(&self, line: u64) -> Result<(), Trouble> {
        let (mut file, mut tail) = (self.file, Vec::new());
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(16)))?;
        file.read_to_end(&mut tail)?;
        match tail.trim_ascii_end().ends_with(b"\"") {
            true => Ok(()),
            false => Err(Trouble::format(format!(
                "line {line}: a quote is opened and never closed"
            ))),
        }
    }
}

impl Rows for CsvFile<'_> {
    fn header(&self) -> Vec<String> {
        self.header.clone()
    }

    fn pass(&mut self, broken: &mut Broken, visit: &mut Visit<'_>) -> Result<(), Trouble> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(0))?;
        let (fenced, since) = Fenced::new(file, &self.limits);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(self.separator)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(fenced);
        let (mut record, mut line, mut first) = (StringRecord::new(), 1, true);
        let mut ends_in_quotes = false;
        while reader
            .read_record(&mut record)
            .map_err(|error| explain(error, line, &self.limits))?
        {
            since.set(0);
            line = record.position().map_or(line, csv::Position::line);
            ends_in_quotes = record.iter().next_back().is_some_and(|f| f.contains('\n'));
            if record.as_slice().len() > self.limits.row_bytes {
                return Err(too_large(format_args!("line {line}"), &self.limits));
            }
            if first {
                first = false;
                self.take_header(&record)?;
                continue;
            }
            match fits(&record, self.header.len()) {
                true => with_cells(&record, self.header.len(), visit)?,
                false => broken.note(format!(
                    "line {line}: {} fields where the header has {}",
                    record.len(),
                    self.header.len()
                ))?,
            }
        }
        match ends_in_quotes {
            true => self.require_closed(line),
            false => Ok(()),
        }
    }
}

/// As many fields as the header; a separator too many at the end is no field.
fn fits(record: &StringRecord, columns: usize) -> bool {
    record.len() == columns
        || record.len() > columns && record.iter().skip(columns).all(str::is_empty)
}

fn with_cells(record: &StringRecord, columns: usize, visit: &mut Visit<'_>) -> Result<(), Trouble> {
    const FEW: usize = 32;
    if columns <= FEW {
        let mut cells = [const { Cell::Null }; FEW];
        for (cell, field) in cells.iter_mut().zip(record.iter().take(columns)) {
            *cell = Cell::Written(field);
        }
        return visit(&cells[..columns]);
    }
    let cells: Vec<Cell> = record.iter().take(columns).map(Cell::Written).collect();
    visit(&cells)
}

fn explain(error: csv::Error, last_line: u64, limits: &ImportLimits) -> Trouble {
    let line = error.position().map_or(last_line, csv::Position::line);
    match error.into_kind() {
        ErrorKind::Utf8 { .. } => not_utf8(line),
        ErrorKind::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<Trouble>()) => {
            let place = format!("after line {last_line} (a quote that is never closed?)");
            too_large(place, limits)
        }
        ErrorKind::Io(error) => error.into(),
        other => Trouble::format(format!("line {line}: {other:?}")),
    }
}

/// The separator that the first line has most of, outside quotes.
fn sniff(head: &[u8]) -> u8 {
    let mut counts = [0usize; SEPARATORS.len()];
    let mut quoted = false;
    for byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            other => {
                if let Some(index) = SEPARATORS.iter().position(|separator| separator == other) {
                    counts[index] += 1;
                }
            }
        }
    }
    // The first of equals: a comma, unless another is more frequent.
    let most = counts.iter().copied().max().unwrap_or(0);
    let index = counts.iter().position(|count| *count == most).unwrap_or(0);
    SEPARATORS[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_in_the_header() {
        for (head, separator) in [
            ("a,b,c\n1;2;3;4", b','),
            ("a;b;c\n1,5;2;3", b';'),
            ("a\tb\n", b'\t'),
            ("a|b\n", b'|'),
            ("\"a,b,c\";d\n", b';'),
            ("alone\n1,2", b','),
            ("", b','),
        ] {
            assert_eq!(sniff(head.as_bytes()), separator, "{head:?}");
        }
    }
}
