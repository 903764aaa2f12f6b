//! SQL functions whose built-in form takes time by the product of their arguments' lengths, in which no limit of time can stop
//! them: here they are linear. And the mathematics that this build of SQLite lacks.

use crate::dataset::limits::MAX_ROW_BYTES;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};
use std::borrow::Cow;
use std::collections::HashSet;

const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Puts these functions in the place of the built-in ones.
pub fn install(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("instr", 2, PURE, instr)?;
    connection.create_scalar_function("replace", 3, PURE, replace)?;
    connection.create_scalar_function("trim", 2, PURE, |context| trim(context, true, true))?;
    connection.create_scalar_function("ltrim", 2, PURE, |context| trim(context, true, false))?;
    connection.create_scalar_function("rtrim", 2, PURE, |context| trim(context, false, true))?;
    for (name, compute) in [
        ("ceil", f64::ceil as fn(f64) -> f64),
        ("ceiling", f64::ceil),
        ("exp", f64::exp),
        ("floor", f64::floor),
        ("ln", f64::ln),
        ("log10", f64::log10),
        ("sqrt", f64::sqrt),
    ] {
        connection.create_scalar_function(name, 1, PURE, move |context| {
            number(context, 0).map(|number| finite(number.map(compute)))
        })?;
    }
    for name in ["pow", "power"] {
        connection.create_scalar_function(name, 2, PURE, |context| {
            let (base, exponent) = (number(context, 0)?, number(context, 1)?);
            Ok(finite(
                base.zip(exponent)
                    .map(|(base, exponent)| base.powf(exponent)),
            ))
        })?;
    }
    Ok(())
}

fn number(context: &Context<'_>, index: usize) -> Result<Option<f64>> {
    Ok(match context.get_raw(index) {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    })
}

/// What is no number is NULL, as in SQLite's own.
fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|number| !number.is_nan())
}

fn text<'c>(context: &'c Context<'_>, index: usize) -> Option<Cow<'c, str>> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(Cow::Owned(number.to_string())),
        ValueRef::Real(number) => Some(Cow::Owned(format!("{number:?}"))),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

fn instr(context: &Context<'_>) -> Result<Option<i64>> {
    if let (ValueRef::Blob(whole), ValueRef::Blob(part)) = (context.get_raw(0), context.get_raw(1))
    {
        let found = memchr::memmem::find(whole, part);
        return Ok(Some(found.map_or(0, |at| at as i64 + 1)));
    }
    let (Some(whole), Some(part)) = (text(context, 0), text(context, 1)) else {
        return Ok(None);
    };
    let found = memchr::memmem::find(whole.as_bytes(), part.as_bytes());
    Ok(Some(
        found.map_or(0, |at| whole[..at].chars().count() as i64 + 1),
    ))
}

fn replace(context: &Context<'_>) -> Result<Option<String>> {
    let (Some(whole), Some(part), Some(with)) =
        (text(context, 0), text(context, 1), text(context, 2))
    else {
        return Ok(None);
    };
    if part.is_empty() {
        return Ok(Some(whole.into_owned()));
    }
    let found = memchr::memmem::find_iter(whole.as_bytes(), part.as_bytes()).count();
    let bytes = whole.len() - found * part.len() + found.saturating_mul(with.len());
    if bytes > MAX_ROW_BYTES {
        return Err(Error::UserFunctionError("string or blob too big".into()));
    }
    Ok(Some(whole.replace(part.as_ref(), &with)))
}

fn trim(context: &Context<'_>, front: bool, back: bool) -> Result<Value> {
    let (Some(whole), Some(set)) = (text(context, 0), text(context, 1)) else {
        return Ok(Value::Null);
    };
    let set: HashSet<char> = set.chars().collect();
    let mut rest = whole.as_ref();
    if front {
        rest = rest.trim_start_matches(|c| set.contains(&c));
    }
    if back {
        rest = rest.trim_end_matches(|c| set.contains(&c));
    }
    Ok(Value::Text(rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The built-in functions are the measure, where there are any.
    #[test]
    fn the_same_as_the_built_in_ones() {
        let (ours, theirs) = (
            Connection::open_in_memory().unwrap(),
            Connection::open_in_memory().unwrap(),
        );
        install(&ours).unwrap();
        for sql in [
            "instr('größe', 'ße')",
            "instr('abc', 'x')",
            "instr('abc', '')",
            "instr('', 'a')",
            "instr(NULL, 'a')",
            "instr('a', NULL)",
            "instr(12345, 34)",
            "instr(x'010203', x'0203')",
            "instr(1.5, '.')",
            "replace('aXbXc', 'X', '--')",
            "replace('abc', '', 'x')",
            "replace('aaa', 'aa', 'b')",
            "replace(NULL, 'a', 'b')",
            "replace('a', 'a', NULL)",
            "replace(1010, 1, 2)",
            "trim('xxabcxx', 'x')",
            "trim('äbä', 'ä')",
            "ltrim('001', '0')",
            "rtrim('1.500', '0')",
            "rtrim('', 'x')",
            "trim('abc', '')",
            "trim(NULL, 'a')",
            "trim('a', NULL)",
            "trim('  a ')",
        ] {
            let ask = |connection: &Connection| {
                let sql = format!("SELECT {sql}");
                connection
                    .query_row(&sql, [], |row| row.get::<_, Value>(0))
                    .unwrap()
            };
            assert_eq!(ask(&ours), ask(&theirs), "{sql}");
        }
    }

    #[test]
    fn mathematics() {
        let connection = Connection::open_in_memory().unwrap();
        install(&connection).unwrap();
        for (sql, expected) in [
            ("floor(2.7)", Some(2.0)),
            ("ceil(2)", Some(2.0)),
            ("sqrt(9)", Some(3.0)),
            ("sqrt(-1)", None),
            ("power(2, 10)", Some(1024.0)),
            ("ln(NULL)", None),
            ("sqrt('abc')", None),
        ] {
            let sql = format!("SELECT {sql}");
            let value: Option<f64> = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert_eq!(value, expected, "{sql}");
        }
    }
}
