//! SQLite files of users: asked where they are, never written, never copied. Of a file in WAL mode SQLite may leave its `-wal` and
//! `-shm` beside it: without them it could not see what others write meanwhile.

use super::describe::{count, describe};
use super::limits::{ImportLimits, QueryLimits};
use super::query::{self, Watch};
use super::schema::{Schema, Table, qualified};
use super::source::Found;
use super::trouble::{Fault, Trouble};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// SQLite attaches no more than this.
const MAX_ATTACHED: usize = 10;
/// Time to look into one table; a view may be a long query.
const LOOK: Duration = Duration::from_secs(5);
/// Time to count the rows of one table: a planner can do without.
const COUNT: Duration = Duration::from_secs(2);

/// A file and the name under which SQL finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub name: String,
    pub path: PathBuf,
    source: String,
}

impl Attached {
    /// The file must be one: a link could lead anywhere. It is not opened here: only SQLite may close a handle on it.
    pub fn new(name: String, found: &Found) -> Result<Self, Trouble> {
        let facts = std::fs::symlink_metadata(&found.path)?;
        if !facts.is_file() {
            return Err(Trouble::format("it is not a regular file").about(&found.name()));
        }
        let directory = found.path.parent().filter(|p| !p.as_os_str().is_empty());
        let directory = std::fs::canonicalize(directory.unwrap_or(Path::new(".")))?;
        Ok(Self {
            name,
            path: directory.join(found.name()),
            source: found.name(),
        })
    }
}

/// Adds what is in the attached files to the schema.
pub fn describe_all(
    file: &Path,
    attached: &[Attached],
    limits: &ImportLimits,
    schema: &mut Schema,
) -> Result<(), Trouble> {
    if attached.len() > MAX_ATTACHED {
        return Err(Trouble::format(format!(
            "{} SQLite files; at most {MAX_ATTACHED}",
            attached.len()
        )));
    }
    if attached.is_empty() {
        return Ok(());
    }
    let connection = query::open_with(file, attached)?;
    let tables = query::tables_of(&connection, attached)?;
    query::confine(
        &connection,
        attached.len(),
        tables.clone(),
        &QueryLimits::default(),
    )?;
    for one in attached {
        let own = tables.iter().filter(|(database, _)| *database == one.name);
        for (_, table) in own.filter(|(_, table)| !table.starts_with("sqlite_")) {
            if schema.tables.len() >= limits.tables {
                let note = format!("{}: only {} tables are told", one.source, limits.tables);
                schema.notes.push(note);
                break;
            }
            match look(&connection, one, table) {
                Ok(table) => schema.tables.push(table),
                Err(error) => schema
                    .notes
                    .push(format!("{}: {table}: {error}", one.source)),
            }
        }
    }
    Ok(())
}

fn look(connection: &Connection, one: &Attached, table: &str) -> Result<Table, Trouble> {
    let watch = |time| {
        let limits = QueryLimits {
            time,
            ..QueryLimits::default()
        };
        Watch::start(connection, &limits, None)
    };
    watch(LOOK)?;
    let described = describe(connection, Some(&one.name), table, &one.source);
    let mut described = described.map_err(|error| Trouble::new(Fault::Other, error.to_string()))?;
    watch(COUNT)?;
    described.row_count = count(connection, &qualified(Some(&one.name), table)).ok();
    Ok(described)
}
