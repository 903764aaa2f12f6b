//! Finding sessions: by what people give of an id, and by what they want to see.

use super::{Session, from_row};
use crate::model::session::{SessionState, Trigger};
use crate::store::driver::{Sql, values};
use crate::store::query;
use anyhow::{Result, bail};

/// An id that no session, or more than one, answers to.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    Unknown(String),
    Ambiguous(String, Vec<String>),
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotFound::Unknown(given) => {
                write!(formatter, "no session '{given}'; see 'ralphd list'")
            }
            NotFound::Ambiguous(given, some) => write!(
                formatter,
                "'{given}' is the start of several sessions: {}",
                some.join(", ")
            ),
        }
    }
}

impl std::error::Error for NotFound {}

/// The whole id for a unique prefix, or for the short id that listings show (its end).
pub fn resolve(sql: &mut dyn Sql, given: &str) -> Result<String> {
    let wanted = given.trim().to_ascii_lowercase();
    let plain = !wanted.is_empty() && wanted.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if !plain {
        bail!(NotFound::Unknown(given.to_owned()));
    }
    // 'g' sorts after every hexadecimal digit.
    let end = format!("{wanted}g");
    let mut found = sql.rows(query!("sessions_by_prefix"), values![&wanted, end])?;
    if found.is_empty() && wanted.len() >= 4 {
        found = sql.rows(query!("sessions_by_suffix"), values![format!("%{wanted}")])?;
    }
    let mut ids = found
        .iter()
        .map(|row| row.text("id"))
        .collect::<Result<Vec<_>>>()?;
    match ids.len() {
        0 => bail!(NotFound::Unknown(given.to_owned())),
        1 => Ok(ids.remove(0)),
        _ => bail!(NotFound::Ambiguous(given.to_owned(), ids)),
    }
}

/// Which sessions are wanted; what is not given lets every one through.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub status: Option<SessionState>,
    /// Those older than this one.
    pub before: Option<String>,
    pub agent: Option<String>,
    pub trigger: Option<Trigger>,
    pub since_ms: Option<i64>,
    pub until_ms: Option<i64>,
    /// A label's name and value.
    pub label: Option<(String, String)>,
    /// Words of the objective, in letters of either case, or a part of the id.
    pub text: Option<String>,
}

/// Sessions, newest first.
pub fn list(sql: &mut dyn Sql, wanted: &Wanted, limit: u32) -> Result<Vec<Session>> {
    let (name, value) = wanted
        .label
        .as_ref()
        .map(|(name, value)| (name, value))
        .unzip();
    let rows = sql.rows(
        query!("sessions_list"),
        values![
            wanted.status.map(SessionState::as_str),
            wanted.before.as_ref(),
            limit,
            wanted.agent.as_ref(),
            wanted.trigger.map(Trigger::as_str),
            wanted.since_ms,
            wanted.until_ms,
            name,
            value,
            wanted.text.as_ref().map(|text| text.to_ascii_lowercase()),
        ],
    )?;
    rows.iter().map(from_row).collect()
}
