//! What a column holds, judged by all its cells, and how a cell is stored in such a column. Pure.
//!
//! Nothing may come out of a table other than it went in: what would lose digits or leading zeros stays text. So `00123`, `+49…`,
//! `12E3` and integers beyond 64 bits are text; `1.50`, `1e-5` and `2.5E10` are numbers. An empty cell is NULL, in quotes or not.
//! `true` and `false` become 1 and 0. Dates and times stay the text they are.

use crate::model::words::words;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use std::borrow::Cow;

/// Larger whole numbers are not all exact as a real.
const MAX_EXACT_REAL: u64 = 1 << 53;

words! {
    /// The type of a column.
    pub enum ColumnType {
        Integer => "integer",
        Real => "real",
        /// Stored as 1 and 0.
        Boolean => "boolean",
        /// `2024-12-31`.
        Date => "date",
        /// `2024-12-31 23:59:59`, with or without seconds and zone.
        DateTime => "datetime",
        Text => "text",
    }
}

impl ColumnType {
    /// The type in `CREATE TABLE`.
    pub const fn declared(self) -> &'static str {
        match self {
            Self::Integer | Self::Boolean => "INTEGER",
            Self::Real => "REAL",
            Self::Date | Self::DateTime | Self::Text => "TEXT",
        }
    }
}

/// One cell as its file gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Boolean(bool),
    /// Text for certain: a string of JSON or of a spreadsheet.
    Text(Cow<'a, str>),
    /// A file without types: what it is shows in its look.
    Written(&'a str),
}

/// What one cell looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Look {
    Integer = 1,
    /// A whole number that is not exact as a real.
    WideInteger = 2,
    Real = 4,
    Boolean = 8,
    Date = 16,
    DateTime = 32,
    Text = 64,
}

/// What was seen of a column so far.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    looks: u8,
    /// Cells that are not NULL.
    pub filled: u64,
}

impl Profile {
    /// Takes one more cell into account.
    pub fn see(&mut self, cell: &Cell<'_>) {
        let certain = self.looks & Look::Text as u8 != 0;
        let look = match cell {
            Cell::Null => return,
            Cell::Written("") => return,
            // Once text, nothing changes that; the cells of long texts are not worth a look.
            _ if certain => Some(Look::Text),
            Cell::Integer(number) => Some(look_of_integer(*number)),
            Cell::Real(_) => Some(Look::Real),
            Cell::Boolean(_) => Some(Look::Boolean),
            Cell::Text(text) => Some(look_of_time(text).unwrap_or(Look::Text)),
            Cell::Written(text) => look_of(text),
        };
        self.filled += 1;
        self.looks |= look.map_or(0, |look| look as u8);
    }

    /// The narrowest type that holds all that was seen.
    pub fn decide(&self) -> ColumnType {
        const INTEGER: u8 = Look::Integer as u8;
        const WIDE: u8 = Look::WideInteger as u8;
        const REAL: u8 = Look::Real as u8;
        const DATE: u8 = Look::Date as u8;
        const TIME: u8 = Look::DateTime as u8;
        match self.looks {
            0 => ColumnType::Text,
            looks if looks & !(INTEGER | WIDE) == 0 => ColumnType::Integer,
            looks if looks & !(INTEGER | REAL) == 0 => ColumnType::Real,
            looks if looks == Look::Boolean as u8 => ColumnType::Boolean,
            DATE => ColumnType::Date,
            looks if looks & !(DATE | TIME) == 0 => ColumnType::DateTime,
            _ => ColumnType::Text,
        }
    }
}

/// What a cell becomes in a column of this type.
pub fn stored<'a>(cell: &'a Cell<'_>, column: ColumnType) -> ToSqlOutput<'a> {
    let text = |text: &'a str| ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()));
    match (cell, column) {
        (Cell::Null, _) | (Cell::Written(""), _) => ToSqlOutput::Owned(Value::Null),
        (Cell::Written(written), ColumnType::Text) => text(written),
        (Cell::Written(written), _) => match value_of(written, column) {
            Some(value) => ToSqlOutput::Owned(value),
            None => text(written),
        },
        (Cell::Text(written), _) => text(written),
        (Cell::Integer(number), ColumnType::Text) => {
            ToSqlOutput::Owned(Value::Text(number.to_string()))
        }
        (Cell::Integer(number), _) => ToSqlOutput::Owned(Value::Integer(*number)),
        (Cell::Real(number), ColumnType::Text) => {
            ToSqlOutput::Owned(Value::Text(number.to_string()))
        }
        (Cell::Real(number), _) => ToSqlOutput::Owned(Value::Real(*number)),
        (Cell::Boolean(truth), ColumnType::Text) => {
            ToSqlOutput::Owned(Value::Text(truth.to_string()))
        }
        (Cell::Boolean(truth), _) => ToSqlOutput::Owned(Value::Integer(i64::from(*truth))),
    }
}

fn value_of(written: &str, column: ColumnType) -> Option<Value> {
    let bare = trim(written);
    if bare.is_empty() {
        return Some(Value::Null);
    }
    match column {
        ColumnType::Integer => bare.parse().ok().map(Value::Integer),
        ColumnType::Real => bare.parse().ok().map(Value::Real),
        ColumnType::Boolean => truth(bare).map(|truth| Value::Integer(i64::from(truth))),
        ColumnType::Date | ColumnType::DateTime => Some(Value::Text(bare.to_owned())),
        ColumnType::Text => None,
    }
}

fn trim(written: &str) -> &str {
    written.trim_matches([' ', '\t'])
}

/// None for a blank, which says nothing of its column.
fn look_of(written: &str) -> Option<Look> {
    let bare = trim(written);
    let look = match bare.as_bytes().first()? {
        b'0'..=b'9' | b'-' | b'.' => look_of_number(bare).or_else(|| look_of_time(bare)),
        b't' | b'f' | b'T' | b'F' => truth(bare).map(|_| Look::Boolean),
        _ => None,
    };
    Some(look.unwrap_or(Look::Text))
}

fn truth(bare: &str) -> Option<bool> {
    if bare.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    bare.eq_ignore_ascii_case("false").then_some(false)
}

fn look_of_integer(number: i64) -> Look {
    match number.unsigned_abs() > MAX_EXACT_REAL {
        true => Look::WideInteger,
        false => Look::Integer,
    }
}

fn look_of_number(bare: &str) -> Option<Look> {
    let digits = bare.strip_prefix('-').unwrap_or(bare).as_bytes();
    let whole = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if whole > 1 && digits[0] == b'0' {
        return None;
    }
    if whole == digits.len() {
        return bare.parse().ok().map(look_of_integer);
    }
    if !is_decimal(digits, whole) {
        return None;
    }
    let number: f64 = bare.parse().ok()?;
    number.is_finite().then_some(Look::Real)
}

/// After the whole digits: a fraction, or an exponent that cannot be taken for a letter in an article number.
fn is_decimal(digits: &[u8], whole: usize) -> bool {
    let mut rest = &digits[whole..];
    let fraction = rest.first() == Some(&b'.');
    let mut count = whole;
    if fraction {
        let places = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        count += places;
        rest = &rest[1 + places..];
    }
    if count == 0 {
        return false;
    }
    let Some((b'e' | b'E', exponent)) = rest.split_first() else {
        return rest.is_empty();
    };
    let signed = matches!(exponent.first(), Some(b'+' | b'-'));
    let exponent = if signed { &exponent[1..] } else { exponent };
    (fraction || signed) && !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit)
}

/// `2024-12-31`, `2024-12-31T23:59`, `2024-12-31 23:59:59.123+01:00`.
fn look_of_time(text: &str) -> Option<Look> {
    let bytes = text.as_bytes();
    let shape = |pattern: &[u8], part: &[u8]| {
        part.len() == pattern.len()
            && part.iter().zip(pattern).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let number = |from: usize| (bytes[from] - b'0') * 10 + (bytes[from + 1] - b'0');
    if bytes.len() < 10 || !shape(b"0000-00-00", &bytes[..10]) {
        return None;
    }
    if !(1..=12).contains(&number(5)) || !(1..=31).contains(&number(8)) {
        return None;
    }
    if bytes.len() == 10 {
        return Some(Look::Date);
    }
    if bytes.len() < 16 || !matches!(bytes[10], b'T' | b' ') || !shape(b"00:00", &bytes[11..16]) {
        return None;
    }
    if number(11) > 24 || number(14) > 59 {
        return None;
    }
    let mut rest = &bytes[16..];
    if rest.len() >= 3 && shape(b":00", &rest[..3]) {
        rest = &rest[3..];
        if rest.first() == Some(&b'.') {
            let places = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            rest = &rest[1 + places..];
        }
    }
    let zone = match rest {
        [] | [b'Z'] => true,
        [b'+' | b'-', offset @ ..] => shape(b"00:00", offset) || shape(b"0000", offset),
        _ => false,
    };
    zone.then_some(Look::DateTime)
}

#[cfg(test)]
#[path = "infer_tests.rs"]
mod tests;
