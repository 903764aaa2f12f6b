//! What the live view looks at: the sessions that are open or ended of late, and all that can be said of the chosen one.
//! It only looks; what strangers wrote is made harmless here.

use crate::cli::output::{first_line, harmless};
use crate::files;
use crate::model::event::EventType;
use crate::report::standing::Standing;
use crate::store::driver::Sql;
use crate::store::events::{self, Event};
use crate::store::humans::{self, HumanRequest};
use crate::store::iterations::{self, Iteration};
use crate::store::sessions::{self, Session, Wanted};
use crate::store::tasks::{self, Task};
use anyhow::Result;
use std::path::Path;

const MAX_OPEN: u32 = 200;
/// Among so many of the newest sessions the ended ones are looked for.
const MAX_LOOKED_AT: u32 = 100;
const MAX_ENDED: usize = 30;
const MAX_CALLS: u32 = 8;
/// How much of a log's end is looked at, and how many lines of it are kept.
const TAIL_BYTES: u64 = 64 * 1024;
const MAX_LOG_LINES: usize = 500;
/// A longer line is cut; no terminal is that wide.
const MAX_LINE_CHARS: usize = 1000;

/// All that is shown at one moment.
#[derive(Default)]
pub struct Sight {
    /// Those that wait for a person first, then the other open ones, then those that ended.
    pub list: Vec<Standing>,
    pub open_count: i64,
    pub chosen: Option<Detail>,
}

/// One session.
pub struct Detail {
    pub standing: Standing,
    /// The newest iteration.
    pub last: Option<Iteration>,
    /// The tasks of its plan; none where it has no plan.
    pub plan: Vec<Task>,
    /// The newest tool calls, in words.
    pub calls: Vec<String>,
    pub asked: Option<HumanRequest>,
    pub log: Vec<String>,
}

impl Sight {
    /// Looks at all sessions, and closely at one: the one of this id, else the first of the list.
    pub fn of(sql: &mut dyn Sql, id: Option<&str>) -> Result<Self> {
        let mut found = sessions::open(sql, MAX_OPEN)?;
        let mut ended = sessions::list(sql, &Wanted::default(), MAX_LOOKED_AT)?;
        ended.retain(|session| session.status.is_terminal());
        ended.sort_by_key(|session| std::cmp::Reverse(session.ended_at_ms));
        ended.truncate(MAX_ENDED);
        found.extend(ended);
        let mut list = found
            .into_iter()
            .map(|session| Standing::of(sql, session))
            .collect::<Result<Vec<_>>>()?;
        list.sort_by_key(rank);
        let first = list.first().map(|standing| standing.session.id.clone());
        let chosen = match id.map(str::to_owned).or(first) {
            Some(id) => sessions::get(sql, &id)?,
            None => None,
        };
        Ok(Self {
            list,
            open_count: sessions::count_open(sql)?,
            chosen: chosen.map(|session| Detail::of(sql, session)).transpose()?,
        })
    }
}

fn rank(standing: &Standing) -> u8 {
    use crate::model::session::SessionState;
    match standing.session.status {
        SessionState::AwaitingHuman => 0,
        status if status.is_terminal() => 3,
        _ if standing.runs() => 1,
        _ => 2,
    }
}

impl Detail {
    fn of(sql: &mut dyn Sql, session: Session) -> Result<Self> {
        let id = session.id.clone();
        let last = iterations::last(sql, &id)?;
        let plan = match session.plan {
            Some(_) => tasks::for_people(sql, &id)?,
            None => Vec::new(),
        };
        let calls = events::newest(sql, &id, EventType::ToolCalled, MAX_CALLS)?;
        let log = last
            .as_ref()
            .map(|last| tail_of(Path::new(&last.output_file)));
        Ok(Self {
            asked: humans::waiting(sql, &id)?,
            standing: Standing::of(sql, session)?,
            plan: plan.into_iter().map(|assignment| assignment.task).collect(),
            calls: calls.iter().map(call).collect(),
            log: log.unwrap_or_default(),
            last,
        })
    }
}

fn call(event: &Event) -> String {
    let facts = &event.data;
    let name = facts["name"].as_str().unwrap_or_default();
    let about = facts["about"].as_str().map(first_line).unwrap_or_default();
    let mark = match facts["ok"].as_bool() {
        Some(false) => "✗",
        _ => "·",
    };
    harmless(&format!("{mark} {name} {about}"))
}

/// The last lines of a log; one that is not there yet has none.
fn tail_of(path: &Path) -> Vec<String> {
    let text = files::read_tail(path, TAIL_BYTES).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let kept = &lines[lines.len().saturating_sub(MAX_LOG_LINES)..];
    kept.iter()
        .map(|line| line.chars().take(MAX_LINE_CHARS).collect::<String>())
        .map(|line| harmless(&line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_harmless() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0001.log");
        assert!(tail_of(&path).is_empty());
        let long = "x".repeat(5_000_000);
        std::fs::write(&path, format!("{long}\none\n\x1b[2Jtwo")).unwrap();
        let lines = tail_of(&path);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].chars().count(), MAX_LINE_CHARS);
        assert_eq!(lines[1..], ["one", "␛[2Jtwo"]);
    }
}
