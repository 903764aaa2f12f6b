//! Options of the commands around workspaces and the points of sessions. Words only.

use super::RequestOptions;
use crate::model::period::Period;
use clap::{Args, Subcommand};

/// What is compared.
#[derive(Debug, Args)]
pub struct Compare {
    /// ID, ID@N, ID@A..B or ID@A..OTHER@B
    #[arg(value_name = "POINTS")]
    pub first: String,
    /// Another session or point
    #[arg(value_name = "OTHER")]
    pub second: Option<String>,
    /// Only how much changed in which files
    #[arg(long)]
    pub stat: bool,
    /// Only the names of the files
    #[arg(long, conflicts_with = "stat")]
    pub name_only: bool,
}

/// Which point of a session.
#[derive(Debug, Args)]
pub struct PointName {
    /// The session and the iteration after which it was, as ID@N; N is 0 for the start
    #[arg(value_name = "ID@N")]
    pub point: String,
}

/// A session from a point of another.
#[derive(Debug, Args)]
pub struct Fork {
    /// The session and the iteration after which it was, as ID@N; ID alone is its last point
    #[arg(value_name = "ID@N")]
    pub point: String,
    #[command(flatten)]
    pub options: RequestOptions,
}

/// What to do with workspaces.
#[derive(Debug, Subcommand)]
pub enum WorkspaceVerb {
    /// List them, with who has each and what would be lost with it
    List,
    /// Show one
    Show {
        /// Its name, the session it belongs to, or its path
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Remove one; not one that is locked or holds work that is nowhere else
    Delete {
        /// Its name, the session it belongs to, or its path
        #[arg(value_name = "ID")]
        id: String,
        /// Remove it although it is locked or holds such work
        #[arg(long)]
        force: bool,
    },
    /// Remove all that were not used for long; not those that are locked or hold work that is nowhere else
    Cleanup {
        /// How long, as 7d or 12h
        #[arg(long, value_name = "AGE")]
        older_than: Period,
        /// Remove those too that are locked or hold such work
        #[arg(long)]
        force: bool,
    },
}
