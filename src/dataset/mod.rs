//! The tables a plan asks: files imported into `datasets.sqlite` in the workspace, SQLite files and one PostgreSQL server asked where
//! they are. Read-only SQL over them, within limits. It must not touch ralphd's own database, nor change what users gave.
//!
//! Everything here blocks: call it where that is allowed.

mod attached;
mod describe;
mod fingerprint;
mod import;
mod infer;
mod limits;
mod name;
mod postgres;
mod query;
mod read;
mod route;
mod schema;
mod source;
mod token;
mod trouble;

pub use infer::ColumnType;
pub use limits::{ImportLimits, MAX_COLUMNS, MAX_ROW_BYTES, QueryLimits};
pub use postgres::{PASSWORD, has_password};
pub use query::{Question, Rows};
pub use schema::{Column, Schema, Table};
pub use source::{Format, Found, Source, discover};
pub use trouble::{Fault, Trouble};

use crate::model::placeholder::Dialect;
use attached::Attached;
use name::Names;
use postgres::Server;
use std::path::{Path, PathBuf};

/// The imports of a workspace.
pub const FILE: &str = "datasets.sqlite";

/// The datasets of a session, ready to be asked.
#[derive(Clone, Debug)]
pub struct Datasets {
    file: PathBuf,
    attached: Vec<Attached>,
    server: Option<Server>,
    schema: Schema,
    reused: bool,
}

impl Datasets {
    /// Imports what has to be imported into the workspace, unless that was done before and nothing changed since.
    pub fn prepare(
        workspace: &Path,
        sources: &[Source],
        limits: &ImportLimits,
    ) -> Result<Self, Trouble> {
        let (all, address) = find_all(sources, limits)?;
        let server = address.map(|address| Server::describe(address, limits));
        let (server, asked) = server.transpose()?.unzip();
        let mut names = Names::without(&["main", "temp", import::MANIFEST]);
        let (mut files, mut attached) = (Vec::new(), Vec::new());
        for found in all {
            let wanted = name::of_table(&found.stem());
            let mut name = names.take(&wanted);
            match found.format {
                Format::Sqlite => {
                    // So that what stands before a table's name tells whose it is.
                    while is_schema(server.as_ref(), &name) {
                        name = names.take(&wanted);
                    }
                    attached.push(Attached::new(name, &found)?);
                }
                _ => files.push((found, name)),
            }
        }
        // SQLite refuses a path with a link anywhere in it, where only the last part matters here.
        let file = std::fs::canonicalize(workspace)
            .map_err(|error| Trouble::from(error).about(&workspace.display().to_string()))?
            .join(FILE);
        let (mut schema, reused) = import::import(&file, &files, &mut names, limits)?;
        attached::describe_all(&file, &attached, limits, &mut schema)?;
        schema.extend(asked.unwrap_or_default(), limits.tables);
        Ok(Self {
            file,
            attached,
            server,
            schema,
            reused,
        })
    }

    /// What there is to ask.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether an earlier import was taken as it was.
    pub fn reused(&self) -> bool {
        self.reused
    }

    /// Whose SQL a statement is, by the tables it names, else by the dataset that its task names: that of SQLite, or of a PostgreSQL
    /// server. The statement may still have its placeholders. One that asks both is an error.
    pub fn dialect_for(&self, target: Option<&str>, sql: &str) -> Result<Dialect, Trouble> {
        route::route(&self.schema, self.server.as_ref(), target, sql)
    }

    /// Asks one question.
    pub fn query(&self, question: &Question<'_>, limits: &QueryLimits) -> Result<Rows, Trouble> {
        query::check_length(question.sql, limits)?;
        match (
            self.dialect_for(question.target, question.sql)?,
            &self.server,
        ) {
            (Dialect::Postgres, Some(server)) => server.ask(question, limits, &self.schema),
            _ => query::ask(&self.file, &self.attached, &self.schema, question, limits),
        }
    }
}

fn is_schema(server: Option<&Server>, name: &str) -> bool {
    server.is_some_and(|server| server.has_schema(&name.to_lowercase()))
}

/// The files, and the address of the server if there is one.
fn find_all<'s>(
    sources: &'s [Source],
    limits: &ImportLimits,
) -> Result<(Vec<Found>, Option<&'s str>), Trouble> {
    let (mut all, mut server) = (Vec::new(), None);
    for source in sources {
        match source {
            Source::Path(path) => {
                for found in discover(path)? {
                    if !all.contains(&found) {
                        all.push(found);
                    }
                }
            }
            Source::Postgres(address) if server.is_none_or(|known| known == address) => {
                server = Some(address.as_str());
            }
            Source::Postgres(_) => {
                let message = "two postgres:// addresses; a session may have one";
                return Err(Trouble::format(message));
            }
        }
    }
    let count = all.len() + usize::from(server.is_some());
    match count > limits.sources {
        true => Err(Trouble::format(format!(
            "{count} datasets; at most {}",
            limits.sources
        ))),
        false => Ok((all, server)),
    }
}
