//! What a planner is told of the datasets: tables, columns, types and a taste of the values. Bounded in size. Pure.

use super::name;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Write;

/// All tables of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// In the order of the sources.
    pub tables: Vec<Table>,
    /// What was left out or is odd, in words: broken rows by line.
    pub notes: Vec<String>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// As it must be written in SQL, with quotes and the database where needed.
    pub name: String,
    /// The file it comes from, or the server.
    pub source: String,
    /// None where counting would have taken too long.
    pub row_count: Option<u64>,
    pub columns: Vec<Column>,
    /// The first rows, long texts cut.
    pub sample_rows: Vec<Vec<Value>>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// As it must be written in SQL.
    pub name: String,
    /// `integer`, `real`, `boolean` (1 and 0), `date`, `datetime`, `text`; of databases, their own word.
    #[serde(rename = "type")]
    pub kind: String,
    /// None where it was not counted.
    pub nulls: Option<u64>,
    /// A few different values, long ones cut.
    pub samples: Vec<Value>,
}

/// How much is told; the first level that fits is taken.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Detail {
    Names,
    Types,
    Samples,
    Rows,
}

impl Schema {
    /// The schema in few words and at most `max_bytes`: first the sample rows are left out, then the samples, the types, and at last
    /// whole tables.
    pub fn in_words(&self, max_bytes: usize) -> String {
        let levels = [Detail::Rows, Detail::Samples, Detail::Types];
        for detail in levels {
            let text = self.told(detail);
            if text.len() <= max_bytes {
                return text;
            }
        }
        self.cut(max_bytes)
    }

    /// Adds what another source has, up to so many tables.
    pub fn extend(&mut self, mut other: Schema, most: usize) {
        let room = most.saturating_sub(self.tables.len());
        if other.tables.len() > room {
            let left_out = other.tables.split_off(room);
            let source = &left_out[0].source;
            other.notes.push(format!(
                "{source}: {} more tables are not told",
                left_out.len()
            ));
        }
        self.tables.append(&mut other.tables);
        self.notes.append(&mut other.notes);
    }

    fn told(&self, detail: Detail) -> String {
        let tables = self.tables.iter().map(|table| table.told(detail));
        let notes = self.notes.iter().map(|note| format!("Note: {note}\n"));
        tables.chain(notes).collect()
    }

    fn cut(&self, max_bytes: usize) -> String {
        let mut text = String::new();
        for (index, table) in self.tables.iter().enumerate() {
            let told = table.told(Detail::Names);
            let rest = format!("… and {} more tables\n", self.tables.len() - index);
            if text.len() + told.len() + rest.len() > max_bytes {
                text += &rest;
                break;
            }
            text += &told;
        }
        text
    }
}

impl Table {
    fn told(&self, detail: Detail) -> String {
        let rows = self
            .row_count
            .map_or("many".into(), |count| count.to_string());
        let mut text = format!("{} ({}, {rows} rows)\n", self.name, self.source);
        for column in &self.columns {
            column.tell(detail, &mut text);
        }
        if detail < Detail::Types {
            text.push('\n');
        }
        if detail >= Detail::Rows {
            for row in &self.sample_rows {
                let _ = writeln!(text, "  row {}", Value::from(row.clone()));
            }
        }
        text
    }
}

impl Column {
    fn tell(&self, detail: Detail, text: &mut String) {
        if detail < Detail::Types {
            let _ = write!(text, " {}", self.name);
            return;
        }
        let _ = write!(text, "  {} {}", self.name, self.kind);
        if let Some(nulls) = self.nulls.filter(|nulls| *nulls > 0) {
            let _ = write!(text, ", {nulls} nulls");
        }
        if detail >= Detail::Samples && !self.samples.is_empty() {
            let samples: Vec<String> = self.samples.iter().map(Value::to_string).collect();
            let _ = write!(text, ", e.g. {}", samples.join(", "));
        }
        text.push('\n');
    }
}

/// A table's name in SQL, within an attached database.
pub fn qualified(database: Option<&str>, table: &str) -> String {
    match database {
        None => name::in_sql(table),
        Some(database) => format!("{}.{}", name::in_sql(database), name::in_sql(table)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(number: usize) -> Table {
        Table {
            name: format!("customers_{number}"),
            source: "customers.csv".into(),
            row_count: Some(3),
            columns: vec![
                Column {
                    name: "id".into(),
                    kind: "integer".into(),
                    nulls: Some(0),
                    samples: vec![json!(1), json!(2)],
                },
                Column {
                    name: "\"order\"".into(),
                    kind: "text".into(),
                    nulls: Some(2),
                    samples: vec![json!("East")],
                },
            ],
            sample_rows: vec![vec![json!(1), json!("East")], vec![json!(2), json!(null)]],
        }
    }

    #[test]
    fn told_in_few_words() {
        let schema = Schema {
            tables: vec![table(1)],
            notes: vec!["customers.csv: line 4: 1 fields where the header has 2".into()],
        };
        assert_eq!(
            schema.in_words(10_000),
            "customers_1 (customers.csv, 3 rows)\n  id integer, e.g. 1, 2\n  \"order\" text, 2 nulls, e.g. \"East\"\n  row [1,\"East\"]\n  row [2,null]\nNote: customers.csv: line 4: 1 fields where the header has 2\n"
        );
        let back: Schema = serde_json::from_str(&serde_json::to_string(&schema).unwrap()).unwrap();
        assert_eq!(back, schema);
    }

    #[test]
    fn never_longer_than_told() {
        let schema = Schema {
            tables: (0..100).map(table).collect(),
            notes: Vec::new(),
        };
        let whole = schema.in_words(usize::MAX);
        assert!(whole.contains("row [1"));
        for max_bytes in [50, 500, 5_000, 8_000, whole.len()] {
            let text = schema.in_words(max_bytes);
            assert!(text.len() <= max_bytes, "{max_bytes}: {}", text.len());
            assert!(!text.is_empty());
        }
        assert!(schema.in_words(500).contains("more tables"));
    }
}
