//! The server's errors in the classes of failure policies, and in words that a planner can act on. No text has the password. Pure.

use super::address::Address;
use crate::dataset::query::{no_column, no_table};
use crate::dataset::schema::Schema;
use crate::dataset::trouble::{Fault, Trouble};
use std::error::Error as _;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, ErrorPosition};

/// Of the SQL around an error, so much is shown.
const NEAR_CHARACTERS: usize = 40;

/// No connection was made.
pub fn unreachable(error: &Error, address: &Address) -> Trouble {
    let fault = match error.as_db_error() {
        Some(told) => fault_of(told.code().code(), told.message()),
        None => Fault::Other,
    };
    let message = format!("{}: cannot connect: {}", address.shown, reason(error));
    Trouble::new(fault, message)
}

/// An error of a statement. `sql` is what a position in it is a position of.
pub fn explain(error: &Error, sql: &str, schema: &Schema) -> Trouble {
    let Some(told) = error.as_db_error() else {
        return Trouble::new(Fault::Other, reason(error));
    };
    let message = told.message();
    match told.code().code() {
        "42P01" => no_table(named(message), schema),
        "42703" => no_column(named(message), sql, schema),
        code => {
            let hint = told
                .hint()
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default();
            let near = near(told, sql).unwrap_or_default();
            Trouble::new(fault_of(code, message), format!("{message}{near}{hint}"))
        }
    }
}

/// By SQLSTATE; the message tells apart where one code is for many things.
fn fault_of(code: &str, message: &str) -> Fault {
    match (code, code.get(..2).unwrap_or_default()) {
        ("42P01" | "42703" | "3F000", _) => Fault::SchemaMismatch,
        ("57014", _) => Fault::Timeout,
        ("42501" | "25006", _) | (_, "28") => Fault::Permission,
        ("0A000", _) if message.contains("data-modifying") => Fault::Permission,
        // A wrong statement, a value it cannot compute with, more than the server lets a statement have.
        ("53400", _) | (_, "0A" | "20" | "21" | "22" | "2F" | "38" | "39" | "42" | "54" | "P0") => {
            Fault::SqlError
        }
        _ => Fault::Other,
    }
}

/// `custmers` of `relation "custmers" does not exist`, `c.totl` of `column c.totl does not exist`.
fn named(message: &str) -> &str {
    let mut quoted = message.split('"');
    match (quoted.nth(1), message.split(' ').nth(1)) {
        (Some(name), _) | (None, Some(name)) => name,
        (None, None) => message,
    }
}

fn near(told: &DbError, sql: &str) -> Option<String> {
    let Some(ErrorPosition::Original(position)) = told.position() else {
        return None;
    };
    let skipped = usize::try_from(*position).ok()?.checked_sub(1)?;
    let near: String = sql.chars().skip(skipped).take(NEAR_CHARACTERS).collect();
    (!near.trim().is_empty()).then(|| format!(", near: {}", near.trim()))
}

/// The error with what caused it.
fn reason(error: &Error) -> String {
    if let Some(told) = error.as_db_error() {
        return told.message().to_owned();
    }
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        reason = format!("{reason}: {inner}");
        cause = inner.source();
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_faults() {
        for (code, message, fault) in [
            ("42P01", "", Fault::SchemaMismatch),
            ("42703", "", Fault::SchemaMismatch),
            ("3F000", "", Fault::SchemaMismatch),
            ("42601", "", Fault::SqlError),
            ("42883", "", Fault::SqlError),
            ("22012", "", Fault::SqlError),
            ("21000", "", Fault::SqlError),
            ("54001", "", Fault::SqlError),
            ("0A000", "not implemented", Fault::SqlError),
            ("0A000", "a data-modifying statement", Fault::Permission),
            ("42501", "", Fault::Permission),
            ("25006", "", Fault::Permission),
            ("28P01", "", Fault::Permission),
            ("57014", "", Fault::Timeout),
            ("53300", "", Fault::Other),
            ("57P01", "", Fault::Other),
            ("", "", Fault::Other),
        ] {
            assert_eq!(fault_of(code, message), fault, "{code}");
        }
    }

    #[test]
    fn names_are_found_in_messages() {
        for (message, name) in [
            (
                "relation \"public.custmers\" does not exist",
                "public.custmers",
            ),
            ("column \"regoin\" does not exist", "regoin"),
            ("column c.totl does not exist", "c.totl"),
            ("odd", "odd"),
        ] {
            assert_eq!(named(message), name);
        }
    }
}
