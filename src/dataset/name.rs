//! Names of files and columns made fit for SQL: plain where possible, unique always. Pure.

use std::collections::HashSet;

/// Longer names are cut: they have to fit a planner's prompt.
const MAX_CHARACTERS: usize = 64;

/// Hands out names that differ, whatever their case, as SQL compares them.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Names that nobody gets.
    pub fn without(reserved: &[&str]) -> Self {
        Self {
            taken: reserved.iter().map(|name| name.to_lowercase()).collect(),
        }
    }

    /// `wanted`, or with the first number that makes it differ: `customers`, `customers_2`.
    pub fn take(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.taken.insert(name.to_lowercase()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
    }
}

/// Letters, digits and single underscores, not beginning with a digit: `2024 sales-final` becomes `_2024_sales_final`.
/// Nothing is left of a name without any letter or digit.
pub fn safe(name: &str) -> String {
    let mut safe = String::new();
    for character in name.trim().chars().take(MAX_CHARACTERS) {
        if character.is_alphanumeric() {
            safe.push(character);
        } else if !safe.ends_with('_') {
            safe.push('_');
        }
    }
    let length = safe.trim_end_matches('_').len();
    safe.truncate(length);
    if safe.starts_with(char::is_numeric) {
        safe.insert(0, '_');
    }
    safe
}

/// A table's name from a file's stem. SQLite keeps `sqlite_` for itself.
pub fn of_table(stem: &str) -> String {
    let name = safe(stem);
    match name.to_lowercase() {
        empty if empty.is_empty() => "dataset".to_owned(),
        own if own.starts_with("sqlite_") => format!("_{name}"),
        _ => name,
    }
}

/// The columns' names from a header, in its order.
pub fn of_columns<'a>(header: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = Names::default();
    let name = |(index, written): (usize, &str)| match safe(written) {
        empty if empty.is_empty() => names.take(&format!("column_{}", index + 1)),
        name => names.take(&name),
    };
    header.into_iter().enumerate().map(name).collect()
}

/// A name as it must be written in SQL: in quotes only where it needs them.
pub fn in_sql(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    let bare =
        name.chars().all(plain) && name.starts_with(|c: char| !c.is_numeric()) && !is_keyword(name);
    match bare {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A name in quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn is_keyword(name: &str) -> bool {
    let Ok(length) = i32::try_from(name.len()) else {
        return false;
    };
    // SAFETY: the pointer is good for `length` bytes, and SQLite reads no further and keeps nothing.
    unsafe { rusqlite::ffi::sqlite3_keyword_check(name.as_ptr().cast(), length) != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_named_after_stems() {
        for (stem, name) in [
            ("customers", "customers"),
            ("2024 sales-final", "_2024_sales_final"),
            ("Größe (cm)", "Größe_cm"),
            ("  a -- b  ", "a_b"),
            ("sqlite_master", "_sqlite_master"),
            ("a\"; DROP TABLE x; --", "a_DROP_TABLE_x"),
            ("…", "dataset"),
            ("", "dataset"),
        ] {
            assert_eq!(of_table(stem), name, "{stem}");
        }
        assert_eq!(of_table(&"x".repeat(1000)).len(), MAX_CHARACTERS);
    }

    #[test]
    fn columns_are_unique_whatever_their_case() {
        let header = [
            "Id",
            "",
            "id",
            "Unit Price",
            "unit-price",
            "",
            "ID_2",
            "order",
        ];
        assert_eq!(
            of_columns(header),
            [
                "Id",
                "column_2",
                "id_2",
                "Unit_Price",
                "unit_price_2",
                "column_6",
                "ID_2_2",
                "order"
            ]
        );
    }

    #[test]
    fn quotes_only_where_needed() {
        for (name, sql) in [
            ("region", "region"),
            ("order", "\"order\""),
            ("Group", "\"Group\""),
            ("a b", "\"a b\""),
            ("1a", "\"1a\""),
            ("x\"y", "\"x\"\"y\""),
            ("", "\"\""),
        ] {
            assert_eq!(in_sql(name), sql);
        }
    }
}
