//! JSONL: one object a line; blank lines are none.

use super::json::Columns;
use super::{Broken, Rows, Visit, not_utf8, require_text, too_large};
use crate::dataset::infer::Cell;
use crate::dataset::limits::ImportLimits;
use crate::dataset::trouble::Trouble;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

const BUFFER_BYTES: usize = 128 << 10;

/// A file of lines.
pub struct JsonLines<'f> {
    file: &'f File,
    columns: Columns,
    limits: ImportLimits,
}

impl<'f> JsonLines<'f> {
    /// The lines of this file.
    pub fn open(file: &'f File, limits: &ImportLimits) -> Self {
        Self {
            file,
            columns: Columns::default(),
            limits: limits.clone(),
        }
    }
}

impl Rows for JsonLines<'_> {
    fn header(&self) -> Vec<String> {
        self.columns.header()
    }

    fn pass(&mut self, broken: &mut Broken, visit: &mut Visit<'_>) -> Result<(), Trouble> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let most = self.limits.row_bytes as u64 + 1;
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            number += 1;
            if Read::by_ref(&mut reader)
                .take(most)
                .read_until(b'\n', &mut line)?
                == 0
            {
                return Ok(());
            }
            if line.len() as u64 >= most && !line.ends_with(b"\n") {
                return Err(too_large(format_args!("line {number}"), &self.limits));
            }
            if number == 1 {
                require_text(&line)?;
            }
            let text = std::str::from_utf8(&line).map_err(|_| not_utf8(number))?;
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() {
                continue;
            }
            let place = format_args!("line {number}");
            self.columns.visit_object(
                text,
                place,
                &self.limits,
                broken,
                &mut |cells: &[Cell]| visit(cells),
            )?;
        }
    }
}
