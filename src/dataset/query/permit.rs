//! What a query may do: read the tables it was told of, and call functions that only compute. All else is denied, and why is
//! kept: SQLite itself says no more than «not authorized».

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Tables by the database they are in.
pub type Tables = HashSet<(String, String)>;

/// Table-valued functions and tables that every database has.
const ALWAYS: &[&str] = &["json_each", "json_tree", "sqlite_schema", "sqlite_master"];
/// Each use may hold one value of the largest size at a time.
const MAX_FUNCTION_USES: usize = 500;

/// Functions without effects and without a way out; sorted.
const FUNCTIONS: &[&str] = &[
    "->",
    "->>",
    "abs",
    "avg",
    "ceil",
    "ceiling",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log10",
    "lower",
    "ltrim",
    "max",
    "min",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "pow",
    "power",
    "printf",
    "quote",
    "random",
    "randomblob",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "soundex",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "time",
    "timediff",
    "total",
    "trim",
    "typeof",
    "unhex",
    "unicode",
    "unixepoch",
    "unlikely",
    "upper",
    "zeroblob",
];

/// Why something was denied.
#[derive(Clone, Debug, Default)]
pub struct Denied(Arc<Mutex<Option<String>>>);

impl Denied {
    /// The first denial, in words.
    pub fn reason(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note(&self, reason: String) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(reason);
    }
}

/// The judge of one connection.
pub fn judge(
    tables: Tables,
    denied: Denied,
) -> impl FnMut(AuthContext<'_>) -> Authorization + Send + 'static {
    let mut uses = 0;
    move |context| {
        let reason = match context.action {
            AuthAction::Select | AuthAction::Recursive => return Authorization::Allow,
            AuthAction::Read {
                table_name,
                column_name,
            } => {
                // To count rows is to read no column; then also a table expression of the query itself is named here.
                let counts = column_name.is_empty() && context.database_name.is_none();
                if counts || may_read(&tables, context.database_name, table_name) {
                    return Authorization::Allow;
                }
                format!("{table_name} may not be read")
            }
            AuthAction::Function { function_name } => {
                uses += 1;
                match refused_function(function_name, uses) {
                    None => return Authorization::Allow,
                    Some(reason) => reason,
                }
            }
            other => in_words(&other).to_owned(),
        };
        denied.note(reason);
        Authorization::Deny
    }
}

fn may_read(tables: &Tables, database: Option<&str>, table: &str) -> bool {
    let lower = table.to_lowercase();
    let database = database.unwrap_or("main").to_lowercase();
    ALWAYS.contains(&lower.as_str()) || tables.contains(&(database, lower))
}

fn refused_function(name: &str, uses: usize) -> Option<String> {
    if uses > MAX_FUNCTION_USES {
        return Some(format!(
            "more than {MAX_FUNCTION_USES} function calls in one query"
        ));
    }
    let known = FUNCTIONS
        .binary_search(&name.to_lowercase().as_str())
        .is_ok();
    (!known).then(|| format!("the function {name}() is not allowed"))
}

fn in_words(action: &AuthAction<'_>) -> &'static str {
    match action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            "ATTACH and DETACH are not allowed"
        }
        AuthAction::Pragma { .. } => {
            "PRAGMA is not allowed; the tables and columns are in the schema"
        }
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            "BEGIN, COMMIT and SAVEPOINT are not allowed"
        }
        AuthAction::Insert { .. } | AuthAction::Update { .. } | AuthAction::Delete { .. } => {
            "writing is not allowed"
        }
        _ => "making or changing tables, indexes and views is not allowed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted_and_harmless() {
        assert!(FUNCTIONS.is_sorted());
        for name in ["sum", "SUM", "->>", "json_extract"] {
            assert_eq!(refused_function(name, 1), None, "{name}");
        }
        for name in [
            "load_extension",
            "readfile",
            "writefile",
            "fts3_tokenizer",
            "json_patch",
            "sqlite_log",
        ] {
            assert!(refused_function(name, 1).is_some(), "{name}");
        }
        assert!(refused_function("sum", MAX_FUNCTION_USES + 1).is_some());
    }

    #[test]
    fn only_known_tables_are_read() {
        let tables = Tables::from([("main".into(), "customers".into())]);
        for (database, table, allowed) in [
            (Some("main"), "Customers", true),
            (None, "customers", true),
            (Some("shop"), "customers", false),
            (Some("main"), "sqlite_schema", true),
            (Some("main"), "json_each", true),
            (Some("main"), "pragma_table_info", false),
            (Some("main"), "dbstat", false),
            (Some("main"), "_ralphd_manifest", false),
        ] {
            assert_eq!(may_read(&tables, database, table), allowed, "{table}");
        }
    }
}
