//! What a dataset may be: a file by its ending, all such files of a directory, or a PostgreSQL server by its address.

use super::trouble::{Fault, Trouble};
use std::path::{Path, PathBuf};

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Separated values; none: whatever the header uses.
    Separated(Option<u8>),
    Json,
    JsonLines,
    Spreadsheet,
    /// Asked where it is, not copied.
    Sqlite,
}

const ENDINGS: &[(&str, Format)] = &[
    ("csv", Format::Separated(None)),
    ("tsv", Format::Separated(Some(b'\t'))),
    ("json", Format::Json),
    ("jsonl", Format::JsonLines),
    ("ndjson", Format::JsonLines),
    ("xlsx", Format::Spreadsheet),
    ("sqlite", Format::Sqlite),
    ("sqlite3", Format::Sqlite),
    ("db", Format::Sqlite),
];

impl Format {
    /// By the ending of the file's name.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_lowercase();
        let known = ENDINGS.iter().find(|(known, _)| *known == ending);
        known.map(|(_, format)| *format)
    }
}

/// Where a dataset comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, or a directory of files.
    Path(PathBuf),
    /// The address of a PostgreSQL server, with all it needs to log in; never shown.
    Postgres(String),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Path(path) => write!(formatter, "{}", path.display()),
            // The address holds a password.
            Source::Postgres(_) => formatter.write_str("postgres://…"),
        }
    }
}

impl Source {
    /// As a request names it; paths are seen from `base`.
    pub fn parse(text: &str, base: &Path) -> Self {
        match text.starts_with("postgres://") || text.starts_with("postgresql://") {
            true => Source::Postgres(text.to_owned()),
            false => Source::Path(base.join(text)),
        }
    }
}

/// A file to be read, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub format: Format,
}

impl Found {
    /// The file's name, for people.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The name without its ending.
    pub fn stem(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }
}

/// The file itself; of a directory, all files with a known ending, in order of their names. Hidden files, links and ralphd's own
/// imports are none.
pub fn discover(path: &Path) -> Result<Vec<Found>, Trouble> {
    let facts = std::fs::symlink_metadata(path).map_err(|error| unreadable(path, &error))?;
    if !facts.is_dir() {
        return Ok(vec![one(path)?]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let entry = entry?;
        let name = entry.file_name();
        let own = name == super::FILE || name.as_encoded_bytes().starts_with(b".");
        if own || !entry.file_type()?.is_file() {
            continue;
        }
        let path = entry.path();
        found.extend(Format::of(&path).map(|format| Found { path, format }));
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn one(path: &Path) -> Result<Found, Trouble> {
    let Some(format) = Format::of(path) else {
        let known: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
        return Err(Trouble::format(format!(
            "{}: not a kind of dataset; known endings: {}",
            path.display(),
            known.join(", ")
        )));
    };
    Ok(Found {
        path: path.to_owned(),
        format,
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Trouble {
    let fault = match error.kind() {
        std::io::ErrorKind::PermissionDenied => Fault::Permission,
        std::io::ErrorKind::NotFound => Fault::Format,
        _ => Fault::Other,
    };
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    };
    Trouble::new(fault, format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_gives_its_datasets() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "b.csv",
            "a.XLSX",
            ".hidden.csv",
            "notes.md",
            "datasets.sqlite",
        ] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", directory.path().join("c.csv")).unwrap();
        let found = discover(directory.path()).unwrap();
        let names: Vec<String> = found.iter().map(Found::name).collect();
        assert_eq!(names, ["a.XLSX", "b.csv"]);
        let trouble = discover(&directory.path().join("notes.md")).unwrap_err();
        assert!(
            trouble.message.contains("known endings: csv, tsv"),
            "{trouble}"
        );
        let trouble = discover(&directory.path().join("none.csv")).unwrap_err();
        assert!(trouble.message.ends_with("none.csv: there is no such file"));
    }

    #[test]
    fn an_address_is_not_shown() {
        let source = Source::parse("postgres://me:secret@host/shop", Path::new("/w"));
        assert_eq!(format!("{source:?}"), "postgres://…");
        assert_eq!(
            Source::parse("a/b.csv", Path::new("/w")),
            Source::Path("/w/a/b.csv".into())
        );
    }
}
