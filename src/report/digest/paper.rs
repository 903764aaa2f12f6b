//! The digest in words: a headline, and sections of short lines. How it looks is decided by whoever prints it; by itself it is plain text.

use super::{Digest, Group, Mishap};
use crate::model::amount::{duration, many, money};
use crate::model::id::short;
use crate::store::humans::HumanKind;
use crate::store::review::{Asked, AtWork, Cost, Ended, Parked};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write;

/// Lines of a section; the others are counted.
const MAX_LINES: usize = 10;
/// Columns of a row in plain text.
const GAP: &str = "  ";

/// What a section is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Notice,
    Bad,
}

/// A line: what stands first is an id or a name, what comes second may be cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub cells: Vec<String>,
    /// What stands below it.
    pub notes: Vec<String>,
}

/// Lines of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    pub tone: Tone,
    pub rows: Vec<Row>,
    /// How many are not shown.
    pub more: usize,
}

/// A digest, to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Of when it is.
    pub date: String,
    pub headline: String,
    pub sections: Vec<Section>,
}

/// Writes times for the reader.
struct Clock<'z> {
    zone: &'z TimeZone,
    now_ms: i64,
}

impl Clock<'_> {
    fn at(&self, at_ms: i64, format: &str) -> String {
        match Timestamp::from_millisecond(at_ms) {
            Ok(at) => at.to_zoned(self.zone.clone()).strftime(format).to_string(),
            Err(_) => at_ms.to_string(),
        }
    }

    /// The time of day, with the day where that is another.
    fn time(&self, at_ms: i64) -> String {
        const DAY: &str = "%Y-%m-%d";
        match self.at(at_ms, DAY) == self.at(self.now_ms, DAY) {
            true => self.at(at_ms, "%H:%M"),
            false => self.at(at_ms, "%a %d %b %H:%M"),
        }
    }
}

impl Paper {
    /// The paper for a reader in a time zone.
    pub fn of(digest: &Digest, zone: &TimeZone) -> Self {
        let clock = Clock {
            zone,
            now_ms: digest.span.until_ms,
        };
        let since = clock.at(digest.span.since_ms, "%a %d %b %H:%M");
        let until = clock.at(digest.span.until_ms, "%a %d %b %H:%M");
        let sections = [
            section("Waits for you", Tone::Notice, &digest.asked, |asked| {
                question(asked, &clock)
            }),
            ended(
                "TAMPERED: the files of the check were changed",
                Tone::Bad,
                &digest.tampered,
            ),
            ended("Failed", Tone::Bad, &digest.failed),
            ended("Verified", Tone::Good, &digest.verified),
            ended("Claimed, not checked", Tone::Plain, &digest.claimed),
            ended("Cancelled", Tone::Plain, &digest.cancelled),
            section("Parked", Tone::Notice, &digest.parked, |parked| {
                waiting(parked, &clock)
            }),
            section("Running", Tone::Plain, &digest.running, |session| {
                at_work(session, clock.now_ms)
            }),
            section("Did not happen", Tone::Notice, &digest.mishaps, |mishap| {
                not_done(mishap, &clock)
            }),
            section("Cost", Tone::Plain, &digest.costs, spent),
        ];
        Self {
            date: format!("{since} – {until}"),
            headline: headline(digest),
            sections: sections.into_iter().flatten().collect(),
        }
    }

    /// All of it without any looks.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.date, self.headline);
        for section in &self.sections {
            let _ = writeln!(text, "\n{}", section.title);
            for row in &section.rows {
                let _ = writeln!(text, "{GAP}{}", row.cells.join(GAP).trim_end());
                for note in &row.notes {
                    let _ = writeln!(text, "{GAP}{GAP}{note}");
                }
            }
            if section.more > 0 {
                let _ = writeln!(text, "{GAP}… and {} more", section.more);
            }
        }
        text
    }
}

/// All of it in a line.
fn headline(digest: &Digest) -> String {
    let kinds = [
        (digest.verified.count, "verified"),
        (digest.claimed.count, "claimed"),
        (digest.tampered.count, "TAMPERED"),
        (digest.failed.count, "failed"),
        (digest.cancelled.count, "cancelled"),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    let mut parts = vec![match digest.ended_count() {
        0 => "nothing ended".to_owned(),
        count => format!("{count} ended: {}", kinds.join(", ")),
    }];
    let count = |list: usize| i64::try_from(list).unwrap_or(i64::MAX);
    if !digest.asked.is_empty() {
        let asks = many(
            count(digest.asked.len()),
            "question waits",
            "questions wait",
        );
        parts.push(format!("{asks} for you"));
    }
    if !digest.running.is_empty() || digest.ready > 0 {
        parts.push(format!(
            "{} running, {} ready",
            digest.running.len(),
            digest.ready
        ));
    }
    if !digest.parked.is_empty() {
        parts.push(format!("{} parked", digest.parked.len()));
    }
    parts.push(money(digest.cost_usd));
    parts.join(" · ")
}

fn section<T>(title: &str, tone: Tone, all: &[T], row: impl Fn(&T) -> Row) -> Option<Section> {
    (!all.is_empty()).then(|| Section {
        title: title.to_owned(),
        tone,
        rows: all.iter().take(MAX_LINES).map(row).collect(),
        more: all.len().saturating_sub(MAX_LINES),
    })
}

fn ended(title: &str, tone: Tone, group: &Group) -> Option<Section> {
    let mut section = section(title, tone, &group.sessions, outcome)?;
    section.title = format!("{title}, {}", group.count);
    section.more = group.count - section.rows.len();
    Some(section)
}

fn outcome(session: &Ended) -> Row {
    let why = match (&session.end_detail, session.end_reason) {
        (Some(detail), Some(reason)) => Some(format!("{reason}: {detail}")),
        (None, Some(reason)) => Some(reason.to_string()),
        (detail, None) => detail.clone(),
    };
    let failed = session.verified.is_none();
    Row {
        cells: vec![
            short(&session.session_id).to_owned(),
            session.objective.clone(),
            session.agent.clone(),
            many(session.iterations, "iteration", "iterations"),
            duration(session.duration_ms),
            cost(session.cost_usd),
        ],
        notes: why.filter(|_| failed).into_iter().collect(),
    }
}

fn question(asked: &Asked, clock: &Clock<'_>) -> Row {
    let id = short(&asked.session_id);
    let mut notes: Vec<String> = asked.question.lines().map(str::to_owned).collect();
    let options = asked.options.iter().enumerate();
    notes.extend(options.map(|(position, option)| format!("[{}] {option}", position + 1)));
    notes.push(match asked.kind {
        HumanKind::Gate => format!("ralphd approve {id}, or ralphd reject {id} REASON"),
        HumanKind::Question => format!("ralphd answer {id} TEXT"),
    });
    Row {
        cells: vec![
            id.to_owned(),
            asked.objective.clone(),
            format!("until {}", clock.time(asked.expires_at_ms)),
        ],
        notes,
    }
}

fn waiting(parked: &Parked, clock: &Clock<'_>) -> Row {
    Row {
        cells: vec![
            short(&parked.session_id).to_owned(),
            parked.objective.clone(),
            format!("until {}", clock.time(parked.until_ms)),
            parked.reason.clone(),
        ],
        notes: Vec::new(),
    }
}

fn at_work(session: &AtWork, now_ms: i64) -> Row {
    let since = session.started_at_ms.map(|since| duration(now_ms - since));
    Row {
        cells: vec![
            short(&session.session_id).to_owned(),
            session.objective.clone(),
            session.agent.clone(),
            format!(
                "{} of {} iterations",
                session.iterations, session.max_iterations
            ),
            since.unwrap_or_default(),
            cost(session.cost_usd),
        ],
        notes: Vec::new(),
    }
}

fn not_done(mishap: &Mishap, clock: &Clock<'_>) -> Row {
    Row {
        cells: vec![
            mishap.what.clone(),
            mishap.why.clone(),
            clock.time(mishap.at_ms),
        ],
        notes: Vec::new(),
    }
}

fn spent(of_agent: &Cost) -> Row {
    let tokens = match of_agent.input_tokens + of_agent.output_tokens {
        0 => String::new(),
        tokens => format!("{tokens} tokens"),
    };
    Row {
        cells: vec![
            of_agent.agent.clone(),
            many(of_agent.iterations, "iteration", "iterations"),
            tokens,
            money(of_agent.cost_usd),
        ],
        notes: Vec::new(),
    }
}

fn cost(usd: f64) -> String {
    match usd > 0.0 {
        true => money(usd),
        false => String::new(),
    }
}
