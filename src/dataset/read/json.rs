//! JSON: an array of objects, read one by one; or an object of arrays, which are its columns, read as a whole.

use super::{Broken, Fenced, Rows, Visit, require_text, too_large, too_wide};
use crate::dataset::infer::Cell;
use crate::dataset::limits::ImportLimits;
use crate::dataset::trouble::Trouble;
use indexmap::{IndexMap, IndexSet};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell as Counter;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// The columns that objects brought up so far, in the order of their first mention.
#[derive(Default)]
pub struct Columns(IndexSet<String>);

impl Columns {
    pub fn header(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }

    /// One object as a row; `place` says where it stands.
    pub fn visit_object(
        &mut self,
        text: &str,
        place: std::fmt::Arguments<'_>,
        limits: &ImportLimits,
        broken: &mut Broken,
        visit: &mut Visit<'_>,
    ) -> Result<(), Trouble> {
        if text.len() > limits.row_bytes {
            return Err(too_large(place, limits));
        }
        let object: IndexMap<Cow<str>, &RawValue> = match serde_json::from_str(text) {
            Ok(object) => object,
            Err(error) => return broken.note(format!("{place}: {}", not_an_object(text, &error))),
        };
        let mut cells = vec![Cell::Null; self.0.len()];
        for (key, value) in &object {
            let index = match self.0.get_index_of(key.as_ref()) {
                Some(index) => index,
                None => self.0.insert_full(key.as_ref().to_owned()).0,
            };
            if index >= limits.columns {
                return Err(too_wide(limits));
            }
            if index >= cells.len() {
                cells.resize(index + 1, Cell::Null);
            }
            cells[index] = cell_of(value.get());
        }
        visit(&cells)
    }
}

fn not_an_object(text: &str, error: &serde_json::Error) -> String {
    match text.trim_start().starts_with('{') {
        true => format!("not JSON: {error}"),
        false => "not an object".to_owned(),
    }
}

/// What is nested stays JSON, as text. Numbers keep all their digits.
fn cell_of(raw: &str) -> Cell<'_> {
    match raw.as_bytes().first() {
        Some(b'n') => Cell::Null,
        Some(b't') => Cell::Boolean(true),
        Some(b'f') => Cell::Boolean(false),
        Some(b'"') => match serde_json::from_str::<Cow<str>>(raw) {
            Ok(text) => Cell::Text(text),
            // A string of JSON that is none of UTF-8: a lone surrogate. It stays as it is written.
            Err(_) => Cell::Text(Cow::Borrowed(raw)),
        },
        Some(b'{' | b'[') => Cell::Text(Cow::Borrowed(raw)),
        _ => number_of(raw),
    }
}

fn number_of(raw: &str) -> Cell<'_> {
    if !raw.contains(['.', 'e', 'E']) {
        return match raw.parse() {
            Ok(number) => Cell::Integer(number),
            Err(_) => Cell::Text(Cow::Borrowed(raw)),
        };
    }
    match raw.parse::<f64>() {
        Ok(number) if number.is_finite() => Cell::Real(number),
        _ => Cell::Text(Cow::Borrowed(raw)),
    }
}

/// Whether the file is one object rather than an array.
pub fn opens_with_object(mut file: &File) -> Result<bool, Trouble> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(64 << 10).read_to_end(&mut head)?;
    require_text(&head)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    Ok(head.trim_ascii_start().first() == Some(&b'{'))
}

/// At the beginning of the text, after a byte order mark.
fn rewind(mut file: &File) -> Result<(), Trouble> {
    let mut mark = [0u8; 3];
    file.seek(SeekFrom::Start(0))?;
    let bytes = file.read(&mut mark)?;
    if bytes < 3 || mark != *b"\xef\xbb\xbf" {
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(())
}

fn explain(error: &serde_json::Error) -> Trouble {
    let more = match error.to_string().contains("trailing characters") {
        true => "; one object a line is JSONL: name the file .jsonl",
        false => "",
    };
    Trouble::format(format!("it is not JSON: {error}{more}"))
}

/// An array of objects.
pub struct JsonFile<'f> {
    file: &'f File,
    columns: Columns,
    limits: ImportLimits,
}

impl<'f> JsonFile<'f> {
    /// The array in this file.
    pub fn open(file: &'f File, limits: &ImportLimits) -> Self {
        Self {
            file,
            columns: Columns::default(),
            limits: limits.clone(),
        }
    }
}

impl Rows for JsonFile<'_> {
    fn header(&self) -> Vec<String> {
        self.columns.header()
    }

    fn pass(&mut self, broken: &mut Broken, visit: &mut Visit<'_>) -> Result<(), Trouble> {
        rewind(self.file)?;
        let (fenced, since) = Fenced::new(self.file, &self.limits);
        let mut deserializer = serde_json::Deserializer::from_reader(BufReader::new(fenced));
        let mut outcome = Ok(());
        let elements = Elements {
            since: &since,
            outcome: &mut outcome,
            each: &mut |number, text: &str| {
                let place = format_args!("element {number}");
                self.columns
                    .visit_object(text, place, &self.limits, broken, visit)
            },
        };
        let read = deserializer
            .deserialize_seq(elements)
            .and_then(|()| deserializer.end());
        // What a row was refused for says more than that the reading stopped there.
        outcome?;
        read.map_err(|error| match since.get() > self.limits.row_bytes {
            true => too_large(format_args!("line {}", error.line()), &self.limits),
            false => explain(&error),
        })
    }
}

type EachElement<'e> = dyn FnMut(u64, &str) -> Result<(), Trouble> + 'e;

/// Hands on the elements of an array as they come.
struct Elements<'e> {
    since: &'e Counter<usize>,
    outcome: &'e mut Result<(), Trouble>,
    each: &'e mut EachElement<'e>,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array of objects or an object of arrays")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(raw) = elements.next_element::<Box<RawValue>>()? {
            number += 1;
            self.since.set(0);
            if let Err(trouble) = (self.each)(number, raw.get()) {
                *self.outcome = Err(trouble);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

/// An object of arrays: its columns; or of one array of objects: its rows.
pub struct WholeJson {
    arrays: IndexMap<String, Vec<Box<RawValue>>>,
    columns: Columns,
    limits: ImportLimits,
}

impl WholeJson {
    /// Reads the whole file.
    pub fn open(mut file: &File, limits: &ImportLimits) -> Result<Self, Trouble> {
        let (mut text, most) = (Vec::new(), limits.whole_file_bytes);
        rewind(file)?;
        Read::by_ref(&mut file)
            .take(most + 1)
            .read_to_end(&mut text)?;
        if text.len() as u64 > most {
            return Err(Trouble::format(format!(
                "JSON that is one object may have {most} bytes; write an array of objects, or JSONL"
            )));
        }
        let arrays: IndexMap<String, &RawValue> =
            serde_json::from_slice(&text).map_err(|error| explain(&error))?;
        let array = |(key, raw): (String, &RawValue)| match serde_json::from_str(raw.get()) {
            Ok(values) => Ok((key, values)),
            Err(_) => Err(Trouble::format(format!(
                "it is an object whose {key:?} is no array; rows are an array of objects, columns an object of arrays"
            ))),
        };
        Ok(Self {
            arrays: arrays.into_iter().map(array).collect::<Result<_, _>>()?,
            columns: Columns::default(),
            limits: limits.clone(),
        })
    }

    /// Only `{"rows": [{…}, …]}` is a wrapped array.
    fn wrapped(&self) -> Option<&[Box<RawValue>]> {
        let (_, values) = self.arrays.first().filter(|_| self.arrays.len() == 1)?;
        let objects = values.iter().all(|value| value.get().starts_with('{'));
        (objects && !values.is_empty()).then_some(values)
    }

    fn require_rectangle(&self) -> Result<usize, Trouble> {
        if self.arrays.len() > self.limits.columns {
            return Err(too_wide(&self.limits));
        }
        let Some((first, values)) = self.arrays.first() else {
            return Err(Trouble::format("it is an empty object"));
        };
        match self
            .arrays
            .iter()
            .find(|(_, other)| other.len() != values.len())
        {
            None => Ok(values.len()),
            Some((other, them)) => Err(Trouble::format(format!(
                "column {first:?} has {} values, but {other:?} has {}",
                values.len(),
                them.len()
            ))),
        }
    }
}

impl Rows for WholeJson {
    fn header(&self) -> Vec<String> {
        match self.wrapped() {
            Some(_) => self.columns.header(),
            None => self.arrays.keys().cloned().collect(),
        }
    }

    fn pass(&mut self, broken: &mut Broken, visit: &mut Visit<'_>) -> Result<(), Trouble> {
        let mut columns = std::mem::take(&mut self.columns);
        if let Some(rows) = self.wrapped() {
            for (number, row) in (1..).zip(rows) {
                let place = format_args!("element {number}");
                columns.visit_object(row.get(), place, &self.limits, broken, visit)?;
            }
            self.columns = columns;
            return Ok(());
        }
        for index in 0..self.require_rectangle()? {
            let raw = self.arrays.values().map(|values| values[index].get());
            let cells: Vec<Cell> = raw.map(cell_of).collect();
            visit(&cells)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_what_they_are() {
        for (raw, cell) in [
            ("null", Cell::Null),
            ("true", Cell::Boolean(true)),
            ("12", Cell::Integer(12)),
            ("-0.50", Cell::Real(-0.5)),
            ("1e3", Cell::Real(1000.0)),
            (
                "18446744073709551616",
                Cell::Text("18446744073709551616".into()),
            ),
            ("1e999", Cell::Text("1e999".into())),
            (r#""a\u00e4\n""#, Cell::Text("aä\n".into())),
            (r#""""#, Cell::Text("".into())),
            (r#"{"a":[1]}"#, Cell::Text(r#"{"a":[1]}"#.into())),
        ] {
            assert_eq!(cell_of(raw), cell, "{raw}");
        }
    }
}
