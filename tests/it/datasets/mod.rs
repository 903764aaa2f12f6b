//! Datasets from files to answers, with real SQLite: what is imported, what is refused, what SQL may do.

mod files;
mod hostile;
mod postgres;
mod questions;
pub mod sheets;

use ralphd::dataset::{
    Datasets, ImportLimits, QueryLimits, Question, Rows, Source, Table, Trouble,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A workspace and a place for the users' files.
pub struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("workspace")).unwrap();
        std::fs::create_dir(root.path().join("files")).unwrap();
        Self { root }
    }

    pub fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root.path().join("files").join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.file(name), content).unwrap();
        self
    }

    /// All files, with the default limits.
    pub fn prepare(&self) -> Result<Datasets, Trouble> {
        self.prepare_with(&ImportLimits::default())
    }

    pub fn prepare_with(&self, limits: &ImportLimits) -> Result<Datasets, Trouble> {
        let sources = [Source::Path(self.root.path().join("files"))];
        Datasets::prepare(&self.workspace(), &sources, limits)
    }

    pub fn database(&self) -> PathBuf {
        self.workspace().join("datasets.sqlite")
    }
}

pub fn ask(datasets: &Datasets, sql: &str, parameters: &[Value]) -> Result<Rows, Trouble> {
    let question = Question {
        sql,
        parameters,
        ..Question::default()
    };
    datasets.query(&question, &QueryLimits::default())
}

pub fn rows(datasets: &Datasets, sql: &str) -> Vec<Vec<Value>> {
    ask(datasets, sql, &[]).unwrap().rows
}

pub fn table<'d>(datasets: &'d Datasets, name: &str) -> &'d Table {
    let tables = &datasets.schema().tables;
    let found = tables.iter().find(|table| table.name == name);
    found.unwrap_or_else(|| panic!("{name} is not among {tables:?}"))
}

/// The columns' names and types.
pub fn columns(table: &Table) -> Vec<String> {
    let column = |column: &ralphd::dataset::Column| format!("{} {}", column.name, column.kind);
    table.columns.iter().map(column).collect()
}

/// A SQLite file made by these statements.
pub fn make_database(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}
