//! What is refused before it is sent: whatever is no single SELECT, and functions that do more than compute. Pure.
//!
//! A courtesy that gives clear words early, not the fence: that is the read-only transaction, and in the end what the server lets its
//! role do.

use crate::dataset::token::{Token, tokens};
use crate::dataset::trouble::{Fault, Trouble};
use crate::model::placeholder::{Dialect, Region, region};

/// How a statement that only reads begins.
const BEGINNINGS: &[&str] = &["select", "with", "values", "table"];

/// Functions that reach files, other servers, other sessions or settings, or run SQL out of a text. A star stands for any ending.
const REFUSED: &[&str] = &[
    "binary_upgrade_*",
    "currtid*",
    "cursor_to_xml*",
    "database_to_xml*",
    "dblink*",
    "lo_*",
    "loread",
    "lowrite",
    "nextval",
    "pg_advisory_*",
    "pg_backup_*",
    "pg_cancel_backend",
    "pg_copy_*",
    "pg_create_*",
    "pg_drop_*",
    "pg_export_snapshot",
    "pg_file_*",
    "pg_hba_file_rules",
    "pg_log_*",
    "pg_logical_*",
    "pg_ls_*",
    "pg_notify",
    "pg_promote",
    "pg_read_*",
    "pg_reload_conf",
    "pg_replication_*",
    "pg_rotate_logfile*",
    "pg_show_all_file_settings",
    "pg_start_backup",
    "pg_stat_file",
    "pg_stat_reset*",
    "pg_stop_backup",
    "pg_switch_wal",
    "pg_terminate_backend",
    "pg_try_advisory_*",
    "pg_wal_replay_*",
    "query_to_xml*",
    "schema_to_xml*",
    "set_config",
    "setseed",
    "setval",
    "table_to_xml*",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
];

/// Bytes of blanks and comments that are looked through for a parenthesis.
const MAX_BETWEEN: usize = 4096;
/// A blank for PostgreSQL, though not for Rust.
const VERTICAL_TAB: u8 = 0x0b;

/// What the server calls volatile and yet only computes, tells a size, or waits within the time limit.
pub const HARMLESS: &[&str] = &[
    "bernoulli",
    "clock_timestamp",
    "gen_random_uuid",
    "pg_database_size",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_relation_size",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_table_size",
    "pg_total_relation_size",
    "random",
    "random_normal",
    "system",
    "timeofday",
    "uuid_generate_v1",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
];

/// The one SELECT of a text without what ends it, and the functions it may call.
pub fn single_select(sql: &str) -> Result<(&str, Vec<String>), Trouble> {
    let refused = |message: &str| Err(Trouble::new(Fault::Permission, message));
    if sql.contains('\0') {
        let message = "the SQL has a NUL character; leave it out";
        return Err(Trouble::new(Fault::SqlError, message));
    }
    let pieces = tokens(sql);
    let mut words = pieces
        .iter()
        .skip_while(|token| **token == Token::Mark(b'('));
    match words.next() {
        None | Some(Token::Mark(b';')) => {
            let message = "there is no SQL statement; write one SELECT";
            return Err(Trouble::new(Fault::SqlError, message));
        }
        Some(first) if !BEGINNINGS.iter().any(|word| first.is(word)) => {
            return refused("the datasets are read-only; write one SELECT");
        }
        Some(_) => {}
    }
    let end = pieces.iter().position(|token| *token == Token::Mark(b';'));
    let trailing = &pieces[end.unwrap_or(pieces.len())..];
    if trailing.iter().any(|token| *token != Token::Mark(b';')) {
        return refused("more than one statement; write exactly one SELECT");
    }
    if sql.to_ascii_lowercase().contains("u&\"") {
        return refused("names written as U&\"…\" are not allowed; write the name itself");
    }
    let functions = called(sql);
    if let Some(name) = functions.iter().find(|name| is_refused(name)) {
        return refused(&not_allowed(name));
    }
    Ok((without_end(sql), functions))
}

/// In words.
pub fn not_allowed(function: &str) -> String {
    format!("the function {function}() is not allowed; write one SELECT that only reads")
}

fn is_refused(name: &str) -> bool {
    let name = name.to_lowercase();
    REFUSED
        .iter()
        .any(|refused| match refused.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *refused,
        })
}

/// The text before the semicolon that ends it; a comment may stand behind that.
fn without_end(sql: &str) -> &str {
    let mut at = 0;
    while at < sql.len() {
        let (kind, end) = region(sql.as_bytes(), at, Dialect::Postgres);
        if kind == Region::Mark && sql.as_bytes()[at] == b';' {
            return &sql[..at];
        }
        at = sql.ceil_char_boundary(end.min(sql.len()));
    }
    sql
}

/// Whatever stands before an opening parenthesis. Also within texts and comments: what is one, a server may see otherwise than we do.
fn called(sql: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let mut names = Vec::new();
    let mut rest = sql;
    while let Some(start) = rest.find(|letter| is_part(letter) || letter == '"') {
        rest = &rest[start..];
        if let Some(behind) = rest.strip_prefix('"') {
            // It may also be the quote that closes a name; the words behind it are looked at in any case.
            let quoted = behind.split_once('"').filter(|(_, behind)| opens(behind));
            names.extend(quoted.map(|(name, _)| name.to_owned()));
            rest = behind;
        } else {
            let length = rest.find(|letter| !is_part(letter));
            let (word, behind) = rest.split_at(length.unwrap_or(rest.len()));
            names.extend(opens(behind).then(|| word.to_ascii_lowercase()));
            rest = behind;
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Whether a parenthesis comes next, blanks and comments aside. Where those are long it is taken for granted.
fn opens(text: &str) -> bool {
    let near = &text.as_bytes()[..text.len().min(MAX_BETWEEN)];
    let mut at = 0;
    while let Some(byte) = near.get(at) {
        let (kind, end) = region(near, at, Dialect::Postgres);
        match kind {
            Region::Comment => at = end,
            Region::Mark if byte.is_ascii_whitespace() || *byte == VERTICAL_TAB => at = end,
            _ => return *byte == b'(',
        }
    }
    near.len() < text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_select_gets_through() {
        for (sql, kept) in [
            ("SELECT 1", "SELECT 1"),
            ("select 1; -- done", "select 1"),
            ("SELECT ';' ;; /* ; */", "SELECT ';' "),
            (
                " (VALUES (1)) UNION SELECT 2",
                " (VALUES (1)) UNION SELECT 2",
            ),
            (
                "/* a */ WITH x AS (SELECT 1) TABLE x",
                "/* a */ WITH x AS (SELECT 1) TABLE x",
            ),
            ("SELECT nextval, 'é;' FROM t", "SELECT nextval, 'é;' FROM t"),
            (
                "SELECT count(*), max (a) FROM lo_fi",
                "SELECT count(*), max (a) FROM lo_fi",
            ),
        ] {
            let (text, _) = single_select(sql).unwrap_or_else(|trouble| panic!("{sql}: {trouble}"));
            assert_eq!(text, kept);
        }
        for sql in [
            "DELETE FROM t",
            "COPY t TO PROGRAM 'sh'",
            "EXPLAIN ANALYZE SELECT 1",
            "SELECT 1; DROP TABLE t",
            "SELECT 1; (",
            "SET x = 1",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT PG_Read_File /* x */ ('/etc/passwd')",
            "SELECT pg_catalog.\"pg_read_file\"--\n('/etc/passwd')",
            "SELECT * FROM dblink_exec('x')",
            "SELECT E'a'\n'b\\'c', lo_import('x')",
            "SELECT query_to_xml('DELETE FROM t', true, true, '')",
            "SELECT U&\"\\0070g_sleep\"(1)",
        ] {
            let trouble = single_select(sql).expect_err(sql);
            assert_eq!(trouble.fault, Fault::Permission, "{sql}: {trouble}");
        }
        for sql in ["", " ; ", "-- nothing", "SELECT '\0'"] {
            assert_eq!(
                single_select(sql).unwrap_err().fault,
                Fault::SqlError,
                "{sql}"
            );
        }
    }

    #[test]
    fn functions_are_seen_however_they_are_written() {
        for (sql, expected) in [
            ("SELECT a, b FROM c WHERE d IN (1)", "in"),
            (
                "SELECT Sum(x), \"My Func\" (1), s.\"Odd\"(2)",
                "My Func Odd sum",
            ),
            ("SELECT 'a(b' || f\n-- x\n(1)", "a f x"),
            ("SELECT é(1)", "é"),
        ] {
            assert_eq!(called(sql).join(" "), expected, "{sql}");
        }
    }
}
