//! How large datasets and results may be. Pure numbers.

use std::time::Duration;

/// What an import accepts.
#[derive(Clone, Debug)]
pub struct ImportLimits {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of a file that cannot be read row by row: JSON by columns, and a spreadsheet once unpacked.
    pub whole_file_bytes: u64,
    /// Columns of one table.
    pub columns: usize,
    /// Bytes of one row, and so of one cell.
    pub row_bytes: usize,
    /// Files of one session.
    pub sources: usize,
    /// Tables of all spreadsheets and files together.
    pub tables: usize,
    /// Broken rows of one table that are left out and told; one more refuses the file.
    pub broken_rows: usize,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self {
            file_bytes: 4 << 30,
            whole_file_bytes: 512 << 20,
            columns: MAX_COLUMNS,
            row_bytes: MAX_ROW_BYTES,
            sources: 64,
            tables: 256,
            broken_rows: 100,
        }
    }
}

/// Columns of a table and of a result: what one row may hold is bounded by this times [`MAX_ROW_BYTES`].
pub const MAX_COLUMNS: usize = 500;
/// Bytes of a row or a value, in imports and while a query runs.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// What a query may take.
#[derive(Clone, Debug)]
pub struct QueryLimits {
    /// Time from start to the last row.
    pub time: Duration,
    /// Rows handed out; more are cut off.
    pub rows: usize,
    /// Bytes of all rows handed out, as JSON; more are cut off.
    pub result_bytes: usize,
    /// Bytes of the SQL text.
    pub sql_bytes: usize,
    /// Bytes that sorting and grouping may put on disk meanwhile.
    pub spill_bytes: u64,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            rows: 10_000,
            result_bytes: 16 << 20,
            sql_bytes: 64 << 10,
            spill_bytes: 2 << 30,
        }
    }
}
