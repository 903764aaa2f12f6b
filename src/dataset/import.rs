//! Files into tables: one look over all rows for their types, one to load them. The database is made beside its place and moved
//! there when it is whole and on disk: half an import never counts.

use super::fingerprint::{self, fingerprint};
use super::infer::{Cell, ColumnType, Profile, stored};
use super::limits::ImportLimits;
use super::name::{self, Names};
use super::read::{
    Broken, CsvFile, JsonFile, JsonLines, Rows, WholeJson, Workbook, opens_with_object,
};
use super::schema::{Schema, Table};
use super::source::{Format, Found};
use super::trouble::{Fault, Trouble};
use super::{describe, query};
use crate::files::{self, Unreadable};
use rusqlite::types::Null;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Holds what was imported and from what; no file's table can have this name.
pub const MANIFEST: &str = "_ralphd_manifest";
/// Drafts of imports: hidden, and gone after [`STALE_MS`] if whoever made them was killed.
const DRAFT: &str = ".datasets-";
const STALE_MS: i64 = 24 * 60 * 60 * 1000;
/// Pages kept in memory while loading.
const CACHE_KIB: i64 = 16 << 10;

/// The tables of these files, and whether they were there already.
pub fn import(
    file: &Path,
    files: &[(Found, String)],
    names: &mut Names,
    limits: &ImportLimits,
) -> Result<(Schema, bool), Trouble> {
    let now = fingerprint(files)?;
    if let Some(schema) = kept(file, &now) {
        return Ok((schema, true));
    }
    let directory = file.parent().unwrap_or(Path::new("/"));
    sweep(directory);
    let draft = directory.join(format!("{DRAFT}{}.tmp", crate::clock::new_id()));
    let schema = build(&draft, files, &now, names, limits)
        .and_then(|schema| publish(&draft, file).map(|()| schema))
        .inspect_err(|_| {
            let _ = std::fs::remove_file(&draft);
        })?;
    Ok((schema, false))
}

/// What an earlier import left, if it was made of the same files. Whatever is wrong with it, a new one is made.
fn kept(file: &Path, fingerprint: &str) -> Option<Schema> {
    let connection = query::open(file).ok()?;
    let sql = format!("SELECT schema FROM {MANIFEST} WHERE fingerprint = ?1");
    let schema: String = connection
        .query_row(&sql, [fingerprint], |row| row.get(0))
        .ok()?;
    serde_json::from_str(&schema).ok()
}

fn sweep(directory: &Path) {
    let Ok(listing) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in listing.flatten() {
        let draft = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(DRAFT.as_bytes());
        let age_ms = || {
            let changed = entry.metadata().ok()?.mtime().checked_mul(1000)?;
            Some(crate::clock::now_ms() - changed)
        };
        if draft && age_ms().is_some_and(|age| age > STALE_MS) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn publish(draft: &Path, file: &Path) -> Result<(), Trouble> {
    File::open(draft)?.sync_all()?;
    std::fs::rename(draft, file)?;
    match file.parent() {
        Some(directory) => Ok(File::open(directory)?.sync_all()?),
        None => Ok(()),
    }
}

fn build(
    draft: &Path,
    files: &[(Found, String)],
    fingerprint: &str,
    names: &mut Names,
    limits: &ImportLimits,
) -> Result<Schema, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(draft, flags)?;
    // A draft that is not finished is thrown away: nothing of it needs to be safe before it is published.
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    let transaction = connection.transaction()?;
    let mut loading = Loading {
        connection: &transaction,
        names,
        limits,
        schema: Schema::default(),
    };
    for (found, table) in files {
        loading
            .file(found, table)
            .map_err(|trouble| trouble.about(&found.name()))?;
    }
    let schema = loading.schema;
    transaction.execute_batch(&format!(
        "CREATE TABLE {MANIFEST}(fingerprint TEXT, schema TEXT)"
    ))?;
    transaction.execute(
        &format!("INSERT INTO {MANIFEST} VALUES (?1, ?2)"),
        [
            fingerprint,
            &serde_json::to_string(&schema).unwrap_or_default(),
        ],
    )?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(schema)
}

/// Opens a file of a user: no link, no pipe, not too large.
pub fn open(found: &Found, max_bytes: u64) -> Result<File, Trouble> {
    files::open_regular(&found.path, max_bytes).map_err(|unreadable| {
        let (fault, message) = match &unreadable {
            Unreadable::TooLarge { bytes } => (
                Fault::Format,
                format!("it has {bytes} bytes; at most {max_bytes}"),
            ),
            Unreadable::Failed(reason) => (Fault::Permission, reason.clone()),
            other => (Fault::Format, other.to_string()),
        };
        Trouble::new(fault, message)
    })
}

/// An import on its way.
struct Loading<'l> {
    connection: &'l Connection,
    names: &'l mut Names,
    limits: &'l ImportLimits,
    schema: Schema,
}

impl Loading<'_> {
    fn file(&mut self, found: &Found, table: &str) -> Result<(), Trouble> {
        let file = open(found, self.limits.file_bytes)?;
        let before = fingerprint::facts(&file)?;
        let (limits, source) = (self.limits, found.name());
        match found.format {
            Format::Separated(separator) => self.table(
                table,
                &source,
                &mut CsvFile::open(&file, separator, limits)?,
            ),
            Format::JsonLines => self.table(table, &source, &mut JsonLines::open(&file, limits)),
            Format::Json if opens_with_object(&file)? => {
                self.table(table, &source, &mut WholeJson::open(&file, limits)?)
            }
            Format::Json => self.table(table, &source, &mut JsonFile::open(&file, limits)),
            Format::Spreadsheet => self.workbook(table, &source, &file),
            Format::Sqlite => Ok(()),
        }?;
        match fingerprint::facts(&file)? == before {
            true => Ok(()),
            false => Err(Trouble::new(
                Fault::Other,
                "it changed while it was read; try again when it is complete",
            )),
        }
    }

    fn workbook(&mut self, table: &str, source: &str, file: &File) -> Result<(), Trouble> {
        let mut workbook = Workbook::open(file, self.limits)?;
        let sheets = workbook.sheets()?;
        if sheets.is_empty() {
            return Err(Trouble::format("no sheet has any cell"));
        }
        for (index, sheet) in sheets.iter().enumerate() {
            let name = match index {
                0 => table.to_owned(),
                _ => self
                    .names
                    .take(&name::of_table(&format!("{table} {sheet}"))),
            };
            let source = format!("{source}, sheet {sheet:?}");
            let loaded = self.table(&name, &source, &mut workbook.sheet(sheet));
            loaded.map_err(|trouble| trouble.about(&format!("sheet {sheet:?}")))?;
        }
        Ok(())
    }

    fn table(&mut self, name: &str, source: &str, rows: &mut dyn Rows) -> Result<(), Trouble> {
        if self.schema.tables.len() >= self.limits.tables {
            let limit = self.limits.tables;
            return Err(Trouble::format(format!("more than {limit} tables")));
        }
        let mut broken = Broken::at_most(self.limits.broken_rows);
        let survey = survey(rows, &mut broken)?;
        let header = rows.header();
        if header.is_empty() {
            return Err(Trouble::format("it has no columns"));
        }
        let columns = name::of_columns(header.iter().map(String::as_str));
        let types = survey.types(columns.len());
        create(self.connection, name, &columns, &types)?;
        load(self.connection, name, &types, rows, self.limits)?;
        let table = describe::describe(self.connection, None, name, source)?;
        self.schema.tables.push(survey.complete(table, &types));
        let notes = broken
            .rows
            .iter()
            .map(|row| format!("{source}: left out {row}"));
        self.schema.notes.extend(notes);
        Ok(())
    }
}

/// What one look over all rows told.
#[derive(Default)]
struct Survey {
    rows: u64,
    profiles: Vec<Profile>,
}

fn survey(rows: &mut dyn Rows, broken: &mut Broken) -> Result<Survey, Trouble> {
    let mut survey = Survey::default();
    rows.pass(broken, &mut |cells| {
        survey.rows += 1;
        if survey.profiles.len() < cells.len() {
            survey.profiles.resize(cells.len(), Profile::default());
        }
        for (profile, cell) in survey.profiles.iter_mut().zip(cells) {
            profile.see(cell);
        }
        Ok(())
    })?;
    Ok(survey)
}

impl Survey {
    fn types(&self, columns: usize) -> Vec<ColumnType> {
        let unseen = std::iter::repeat(ColumnType::Text);
        let seen = self.profiles.iter().map(Profile::decide);
        seen.chain(unseen).take(columns).collect()
    }

    fn complete(&self, mut table: Table, types: &[ColumnType]) -> Table {
        table.row_count = Some(self.rows);
        for (index, column) in table.columns.iter_mut().enumerate() {
            let filled = self.profiles.get(index).map_or(0, |profile| profile.filled);
            column.kind = types[index].to_string();
            column.nulls = Some(self.rows - filled);
        }
        table
    }
}

fn create(
    connection: &Connection,
    name: &str,
    columns: &[String],
    types: &[ColumnType],
) -> Result<(), Trouble> {
    let columns: Vec<String> = columns
        .iter()
        .zip(types)
        .map(|(column, kind)| format!("{} {}", name::quoted(column), kind.declared()))
        .collect();
    let (name, columns) = (name::quoted(name), columns.join(", "));
    Ok(connection.execute_batch(&format!("CREATE TABLE {name} ({columns})"))?)
}

fn load(
    connection: &Connection,
    name: &str,
    types: &[ColumnType],
    rows: &mut dyn Rows,
    limits: &ImportLimits,
) -> Result<(), Trouble> {
    let places = vec!["?"; types.len()].join(",");
    let sql = format!("INSERT INTO {} VALUES ({places})", name::quoted(name));
    let mut statement = connection.prepare(&sql)?;
    // Those were told by the first look.
    let mut broken = Broken::at_most(limits.broken_rows);
    rows.pass(&mut broken, &mut |cells| {
        for (index, kind) in types.iter().enumerate() {
            match cells.get(index) {
                None | Some(Cell::Null) => statement.raw_bind_parameter(index + 1, Null)?,
                Some(cell) => statement.raw_bind_parameter(index + 1, stored(cell, *kind))?,
            }
        }
        statement.raw_execute()?;
        Ok(())
    })
}
