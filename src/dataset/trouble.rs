//! What can go wrong with a dataset or a query, in the classes that failure policies know. Pure words.

use crate::model::words::words;

words! {
    /// The kind of trouble, on which a policy acts.
    pub enum Fault {
        /// The SQL is wrong, or asks for more than a query may have.
        SqlError => "sql_error",
        /// The query's time was over.
        Timeout => "timeout",
        /// The query found nothing.
        NoData => "no_data",
        /// A table or column that does not exist.
        SchemaMismatch => "schema_mismatch",
        /// Something that is not allowed: writing, attaching, a file that may not be read.
        Permission => "permission",
        /// A file that is not what its name says, or has too many broken rows.
        Format => "format",
        /// Told to stop from outside.
        Cancelled => "cancelled",
        /// The machine's trouble: disk, memory, network.
        Other => "other",
    }
}

/// One trouble: its kind, and a text that says what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The kind.
    pub fault: Fault,
    /// For people and planners.
    pub message: String,
}

impl Trouble {
    /// A trouble of this kind.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
        }
    }

    /// A file that is not what it should be.
    pub fn format(message: impl Into<String>) -> Self {
        Self::new(Fault::Format, message)
    }

    /// The same, with the name of what it is about in front.
    pub fn about(mut self, subject: &str) -> Self {
        self.message = format!("{subject}: {}", self.message);
        self
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Trouble {}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        // What a reader inside another library refused keeps its own words.
        match error.downcast::<Trouble>() {
            Ok(trouble) => trouble,
            Err(error) => Self::new(Fault::Other, error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(Fault::Other, error.to_string())
    }
}
