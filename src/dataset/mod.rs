//! The tables a plan asks: files imported into `datasets.sqlite` in the workspace, SQLite files asked where they are.
//! Read-only SQL over them, within limits. It must not touch ralphd's own database, nor change what users gave.
//!
//! Everything here blocks: call it where that is allowed.

mod attached;
mod describe;
mod fingerprint;
mod import;
mod infer;
mod limits;
mod name;
mod query;
mod read;
mod schema;
mod source;
mod trouble;

pub use infer::ColumnType;
pub use limits::{ImportLimits, MAX_COLUMNS, MAX_ROW_BYTES, QueryLimits};
pub use query::{Question, Rows};
pub use schema::{Column, Schema, Table};
pub use source::{Format, Found, Source, discover};
pub use trouble::{Fault, Trouble};

use attached::Attached;
use name::Names;
use std::path::{Path, PathBuf};

/// The imports of a workspace.
pub const FILE: &str = "datasets.sqlite";

/// The datasets of a session, ready to be asked.
#[derive(Clone, Debug)]
pub struct Datasets {
    file: PathBuf,
    attached: Vec<Attached>,
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
        let mut names = Names::without(&["main", "temp", import::MANIFEST]);
        let (mut files, mut attached) = (Vec::new(), Vec::new());
        for found in find_all(sources, limits)? {
            let name = names.take(&name::of_table(&found.stem()));
            match found.format {
                Format::Sqlite => attached.push(Attached::new(name, &found)?),
                _ => files.push((found, name)),
            }
        }
        // SQLite refuses a path with a link anywhere in it, where only the last part matters here.
        let file = std::fs::canonicalize(workspace)
            .map_err(|error| Trouble::from(error).about(&workspace.display().to_string()))?
            .join(FILE);
        let (mut schema, reused) = import::import(&file, &files, &mut names, limits)?;
        attached::describe_all(&file, &attached, limits, &mut schema)?;
        Ok(Self {
            file,
            attached,
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

    /// Asks one question.
    pub fn query(&self, question: &Question<'_>, limits: &QueryLimits) -> Result<Rows, Trouble> {
        query::ask(&self.file, &self.attached, &self.schema, question, limits)
    }
}

fn find_all(sources: &[Source], limits: &ImportLimits) -> Result<Vec<Found>, Trouble> {
    let mut all: Vec<Found> = Vec::new();
    for source in sources {
        let path = match source {
            Source::Path(path) => path,
            Source::Postgres(_) => {
                return Err(Trouble::format(
                    "a postgres:// address cannot be asked yet; export the tables as CSV",
                ));
            }
        };
        for found in discover(path)? {
            if !all.contains(&found) {
                all.push(found);
            }
        }
    }
    match all.len() > limits.sources {
        true => Err(Trouble::format(format!(
            "{} datasets; at most {}",
            all.len(),
            limits.sources
        ))),
        false => Ok(all),
    }
}
