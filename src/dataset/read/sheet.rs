//! Spreadsheets: each sheet with anything in it is a table, its first row that is not empty the header.
//! Serial dates become ISO text; error values (`#N/A`) are NULL, as no query could do anything with them.

use super::{Broken, Rows, Visit, too_large, too_wide};
use crate::dataset::infer::Cell;
use crate::dataset::limits::ImportLimits;
use crate::dataset::trouble::Trouble;
use calamine::{DataRef, ExcelDateTime, Reader, Xlsx, XlsxError};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

const MAX_EXACT_REAL: f64 = (1u64 << 53) as f64;

/// An open workbook.
pub struct Workbook {
    xlsx: Xlsx<BufReader<File>>,
    limits: ImportLimits,
}

impl Workbook {
    /// Opens the file, once it is known to unpack to something reasonable.
    pub fn open(mut file: &File, limits: &ImportLimits) -> Result<Self, Trouble> {
        file.seek(SeekFrom::Start(0))?;
        require_reasonable(BufReader::new(file), limits.whole_file_bytes)?;
        file.seek(SeekFrom::Start(0))?;
        let xlsx = Xlsx::new(BufReader::new(file.try_clone()?)).map_err(explain)?;
        Ok(Self {
            xlsx,
            limits: limits.clone(),
        })
    }

    /// The sheets that have any cell, in the order of the workbook.
    pub fn sheets(&mut self) -> Result<Vec<String>, Trouble> {
        let mut filled = Vec::new();
        for name in self.xlsx.sheet_names() {
            // Sheets that are charts have no cells to read.
            let Ok(mut cells) = self.xlsx.worksheet_cells_reader(&name) else {
                continue;
            };
            let mut has_any = false;
            while let Some(cell) = cells.next_cell().map_err(explain)? {
                has_any = !matches!(cell.get_value(), DataRef::Empty);
                if has_any {
                    break;
                }
            }
            drop(cells);
            if has_any {
                filled.push(name);
            }
        }
        Ok(filled)
    }

    /// One sheet's rows.
    pub fn sheet(&mut self, name: &str) -> Sheet<'_> {
        Sheet {
            workbook: self,
            name: name.to_owned(),
            header: Vec::new(),
        }
    }
}

/// Unpacks all parts and counts: a small file can hold terabytes, and says of its sizes what it likes.
fn require_reasonable(file: impl Read + Seek, most: u64) -> Result<(), Trouble> {
    let broken = |error: &dyn std::fmt::Display| {
        Trouble::format(format!("it is not a spreadsheet (.xlsx): {error}"))
    };
    let mut archive = zip::ZipArchive::new(file).map_err(|error| broken(&error))?;
    let mut left = most;
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|error| broken(&error))?;
        let bytes = std::io::copy(&mut part.take(left + 1), &mut std::io::sink())
            .map_err(|error| broken(&error))?;
        if bytes > left {
            return Err(Trouble::format(format!(
                "unpacked it has more than {most} bytes; save the sheets as CSV"
            )));
        }
        left -= bytes;
    }
    Ok(())
}

fn explain(error: XlsxError) -> Trouble {
    Trouble::format(format!("it is not a spreadsheet (.xlsx): {error}"))
}

/// One sheet of a workbook.
pub struct Sheet<'w> {
    workbook: &'w mut Workbook,
    name: String,
    header: Vec<String>,
}

/// The cells of the row that is being read.
#[derive(Default)]
struct Current {
    row: Option<u32>,
    cells: Vec<Cell<'static>>,
    bytes: usize,
}

impl Rows for Sheet<'_> {
    fn header(&self) -> Vec<String> {
        self.header.clone()
    }

    fn pass(&mut self, _broken: &mut Broken, visit: &mut Visit<'_>) -> Result<(), Trouble> {
        let limits = &self.workbook.limits;
        let mut reader = self
            .workbook
            .xlsx
            .worksheet_cells_reader(&self.name)
            .map_err(explain)?;
        let mut taker = Taker {
            header: None,
            width: 0,
            first_column: 0,
            limits,
        };
        let mut current = Current::default();
        while let Some(cell) = reader.next_cell().map_err(explain)? {
            let ((row, column), value) = (cell.get_position(), convert(cell.get_value()));
            if value == Cell::Null {
                continue;
            }
            if current.row != Some(row) {
                taker.finish(std::mem::take(&mut current), visit)?;
                current.row = Some(row);
            }
            taker.put(&mut current, column, value)?;
        }
        taker.finish(current, visit)?;
        let width = taker.width;
        self.header = taker.header.unwrap_or_default();
        self.header.resize(width, String::new());
        Ok(())
    }
}

/// Makes rows of cells.
struct Taker<'l> {
    header: Option<Vec<String>>,
    width: usize,
    /// Where the header begins: tables need not stand at the left edge.
    first_column: u32,
    limits: &'l ImportLimits,
}

impl Taker<'_> {
    fn put(
        &mut self,
        current: &mut Current,
        column: u32,
        value: Cell<'static>,
    ) -> Result<(), Trouble> {
        if self.header.is_none() && current.cells.is_empty() {
            self.first_column = column;
        }
        // Notes to the left of the table have no column.
        let Some(index) = column.checked_sub(self.first_column) else {
            return Ok(());
        };
        let index = index as usize;
        if index >= self.limits.columns {
            return Err(too_wide(self.limits));
        }
        current.bytes += match &value {
            Cell::Text(text) => text.len(),
            _ => size_of::<f64>(),
        };
        if current.bytes > self.limits.row_bytes {
            let row = current.row.unwrap_or(0) + 1;
            return Err(too_large(format_args!("row {row}"), self.limits));
        }
        if current.cells.len() <= index {
            current.cells.resize(index + 1, Cell::Null);
        }
        current.cells[index] = value;
        self.width = self.width.max(index + 1);
        Ok(())
    }

    fn finish(&mut self, current: Current, visit: &mut Visit<'_>) -> Result<(), Trouble> {
        if current.cells.is_empty() {
            return Ok(());
        }
        match self.header {
            Some(_) => visit(&current.cells),
            None => {
                self.header = Some(current.cells.iter().map(in_words).collect());
                Ok(())
            }
        }
    }
}

fn in_words(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Boolean(truth) => truth.to_string(),
        Cell::Text(text) => text.clone().into_owned(),
        Cell::Written(text) => (*text).to_owned(),
    }
}

fn convert(value: &DataRef<'_>) -> Cell<'static> {
    let text = |text: &str| match text {
        "" => Cell::Null,
        text => Cell::Text(Cow::Owned(text.to_owned())),
    };
    match value {
        DataRef::Empty | DataRef::Error(_) => Cell::Null,
        DataRef::Int(number) => Cell::Integer(*number),
        DataRef::Float(number) => number_of(*number),
        DataRef::Bool(truth) => Cell::Boolean(*truth),
        DataRef::String(string) | DataRef::DateTimeIso(string) | DataRef::DurationIso(string) => {
            text(string)
        }
        DataRef::SharedString(string) => text(string),
        DataRef::DateTime(time) => text(&iso(time)),
    }
}

/// A sheet knows only reals: a whole one was meant as a whole number.
fn number_of(number: f64) -> Cell<'static> {
    match number.fract() == 0.0 && number.abs() <= MAX_EXACT_REAL {
        true => Cell::Integer(number as i64),
        false => Cell::Real(number),
    }
}

/// A date without a time of day is only a date; a duration is hours, minutes and seconds; before day one there is only a time.
fn iso(time: &ExcelDateTime) -> String {
    let days = time.as_f64();
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let clock = match milli {
        0 => format!("{minute:02}:{second:02}"),
        _ => format!("{minute:02}:{second:02}.{milli:03}"),
    };
    if time.is_duration() {
        return format!("{:02}:{clock}", (days * 24.0 + 1e-9).floor() as i64);
    }
    if (0.0..1.0).contains(&days) {
        return format!("{hour:02}:{clock}");
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (hour, minute, second, milli) {
        (0, 0, 0, 0) => date,
        _ => format!("{date} {hour:02}:{clock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::ExcelDateTimeType;

    #[test]
    fn serial_dates_become_iso() {
        for (days, kind, expected) in [
            (45292.0, ExcelDateTimeType::DateTime, "2024-01-01"),
            (45292.5, ExcelDateTimeType::DateTime, "2024-01-01 12:00:00"),
            (0.25, ExcelDateTimeType::DateTime, "06:00:00"),
            (1.5, ExcelDateTimeType::TimeDelta, "36:00:00"),
        ] {
            assert_eq!(iso(&ExcelDateTime::new(days, kind, false)), expected);
        }
    }

    #[test]
    fn whole_reals_are_whole_numbers() {
        assert_eq!(convert(&DataRef::Float(5.0)), Cell::Integer(5));
        assert_eq!(convert(&DataRef::Float(5.5)), Cell::Real(5.5));
        assert_eq!(convert(&DataRef::Float(1e300)), Cell::Real(1e300));
        assert_eq!(convert(&DataRef::SharedString("")), Cell::Null);
    }
}
