//! The morning paper: what ended and how, what waits for a person, what it cost. `paper` is what is printed of it, `post` says by the
//! clock when it is sent. What was *verified* is kept apart from what is merely *claimed*: the difference is why one reads it.

mod paper;
mod post;

pub use paper::{Paper, Row, Section, Tone};
pub use post::run;

use crate::model::event::EventType;
use crate::model::session::{SessionState, Verified};
use crate::model::shorten::{first_line, head};
use crate::store::census;
use crate::store::driver::Sql;
use crate::store::events::Event;
use crate::store::review::{self, Asked, AtWork, Cost, Ended, Parked, Span};
use anyhow::Result;
use serde::Serialize;

/// So many of each kind are named; the others are counted.
const MAX_LISTED: usize = 50;
/// A line of a paper is not a report.
const MAX_LINE_BYTES: usize = 300;

/// All that is in the paper.
#[derive(Clone, Debug, Serialize)]
pub struct Digest {
    #[serde(flatten)]
    pub span: Span,
    /// Completed, and their own check passed.
    pub verified: Group,
    /// Completed by their own word alone.
    pub claimed: Group,
    /// Completed, but the files of their check were changed.
    pub tampered: Group,
    pub failed: Group,
    pub cancelled: Group,
    pub asked: Vec<Asked>,
    pub parked: Vec<Parked>,
    pub running: Vec<AtWork>,
    /// Tasks that wait for a free place.
    pub ready: i64,
    pub costs: Vec<Cost>,
    pub cost_usd: f64,
    pub mishaps: Vec<Mishap>,
}

/// Sessions that ended in the same way.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    pub count: usize,
    /// The newest of them.
    pub sessions: Vec<Ended>,
}

/// Something that did not come to be.
#[derive(Clone, Debug, Serialize)]
pub struct Mishap {
    #[serde(rename = "type")]
    pub kind: String,
    pub at_ms: i64,
    /// The file, the schedule or the receiver.
    pub what: String,
    pub why: String,
}

impl Digest {
    /// Looks back over a span of time, and at how all stands now.
    pub fn of(sql: &mut dyn Sql, span: Span) -> Result<Self> {
        let costs = review::costs(sql, span)?;
        let limit = MAX_LISTED as u32;
        let mut digest = Self {
            span,
            verified: Group::default(),
            claimed: Group::default(),
            tampered: Group::default(),
            failed: Group::default(),
            cancelled: Group::default(),
            asked: review::asked(sql, limit)?,
            parked: review::parked(sql, limit)?,
            running: review::running(sql, limit)?,
            ready: census::queue(sql)?.ready,
            cost_usd: costs.iter().map(|cost| cost.cost_usd).sum(),
            costs,
            mishaps: Vec::new(),
        };
        for session in review::ended(sql, span)? {
            digest.group_of(&session).add(session);
        }
        let mishaps = review::mishaps(sql, span, limit)?;
        digest.mishaps = mishaps.iter().map(Mishap::of_event).collect();
        digest.shorten();
        Ok(digest)
    }

    fn group_of(&mut self, session: &Ended) -> &mut Group {
        match (session.status, session.verified) {
            (SessionState::Completed, Some(Verified::Verified)) => &mut self.verified,
            (SessionState::Completed, Some(Verified::Tampered)) => &mut self.tampered,
            (SessionState::Completed, _) => &mut self.claimed,
            (SessionState::Cancelled, _) => &mut self.cancelled,
            (_, _) => &mut self.failed,
        }
    }

    /// What people and agents wrote, as far as a line holds it.
    fn shorten(&mut self) {
        for asked in &mut self.asked {
            asked.objective = line(&asked.objective);
            asked.question = head(&asked.question, MAX_LINE_BYTES).to_owned();
            for option in &mut asked.options {
                *option = line(option);
            }
        }
        for parked in &mut self.parked {
            parked.objective = line(&parked.objective);
            parked.reason = line(&parked.reason);
        }
        for session in &mut self.running {
            session.objective = line(&session.objective);
        }
    }

    /// How many sessions ended.
    pub fn ended_count(&self) -> usize {
        self.groups().iter().map(|group| group.count).sum()
    }

    fn groups(&self) -> [&Group; 5] {
        [
            &self.verified,
            &self.claimed,
            &self.tampered,
            &self.failed,
            &self.cancelled,
        ]
    }
}

impl Group {
    fn add(&mut self, mut session: Ended) {
        self.count += 1;
        if self.sessions.len() < MAX_LISTED {
            session.objective = line(&session.objective);
            session.end_detail = session.end_detail.as_deref().map(line);
            self.sessions.push(session);
        }
    }
}

impl Mishap {
    fn of_event(event: &Event) -> Self {
        let text = |key: &str| event.data[key].as_str().unwrap_or_default();
        let (what, why) = match event.kind.as_str() {
            kind if kind == EventType::RequestRejected.as_str() => {
                (text("file"), text("reason").to_owned())
            }
            kind if kind == EventType::NoticeGivenUp.as_str() => {
                let occasion = text("occasion");
                let why = format!("was not told of '{occasion}': {}", text("error"));
                (text("target"), why)
            }
            kind if kind == EventType::ScheduleDropped.as_str() => {
                let why = format!("left out from {} to {}", text("from"), text("until"));
                (text("schedule"), why)
            }
            _ => {
                let why = format!("{}: {}", text("outcome"), text("detail"));
                (text("schedule"), why)
            }
        };
        Self {
            kind: event.kind.clone(),
            at_ms: event.at_ms,
            what: line(what),
            why: line(&why),
        }
    }
}

fn line(text: &str) -> String {
    head(first_line(text), MAX_LINE_BYTES).to_owned()
}
