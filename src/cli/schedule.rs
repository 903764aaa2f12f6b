//! `ralphd schedule`: what starts by the clock, listed, foretold, started by hand, paused and resumed.

use super::arguments;
use super::desk::Desk;
use super::exit::Exit;
use super::output::{self, Look, Style};
use super::submit::{admit, announce, warn_without_daemon};
use super::table::{Cell, Table};
use crate::clock::now_ms;
use crate::model::id::short;
use crate::model::schedule::{TickOutcome, written};
use crate::queue::wake;
use crate::store::DATABASE_FILE;
use crate::store::schedules::{self, SettledTick, Stored};
use crate::trigger::cron::{self, Schedule};
use anyhow::{Result, bail};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

const TITLES: &[&str] = &["NAME", "CRON", "TIMEZONE", "NEXT", "LAST", "DETAIL"];

pub fn schedule(desk: Desk, what: arguments::Schedule) -> Result<Exit> {
    use arguments::Schedule;
    match what {
        Schedule::List => list(&desk),
        Schedule::Next { name, count, after } => next(&desk, &name, count, after),
        Schedule::Run { name } => run(&desk, &name),
        Schedule::Pause { name } => set_paused(&desk, &name, true),
        Schedule::Resume { name } => set_paused(&desk, &name, false),
    }
}

/// A name that no schedule has.
#[derive(Debug)]
pub struct NoSuchSchedule {
    name: String,
    known: Vec<String>,
}

impl std::fmt::Display for NoSuchSchedule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = match self.known.is_empty() {
            true => "there are none; add [[schedules]] to the configuration".to_owned(),
            false => format!("known: {}", self.known.join(", ")),
        };
        write!(formatter, "no schedule '{}'; {known}", self.name)
    }
}

impl std::error::Error for NoSuchSchedule {}

fn find(desk: &Desk, name: &str) -> Result<Schedule> {
    let schedules = desk.config.schedules.iter();
    match cron::named(&desk.config, name)? {
        Some(schedule) => Ok(schedule),
        None => bail!(NoSuchSchedule {
            name: output::harmless(name),
            known: schedules.map(|schedule| schedule.name.clone()).collect(),
        }),
    }
}

/// What a listing says of a schedule.
#[derive(Serialize)]
struct Listed {
    name: String,
    cron: String,
    timezone: String,
    enabled: bool,
    paused: bool,
    /// Nothing while it is paused or off.
    next: Option<String>,
    last: Option<Last>,
    #[serde(skip)]
    next_ms: Option<i64>,
}

/// What came of the last tick.
#[derive(Serialize)]
struct Last {
    due_at: String,
    #[serde(flatten)]
    tick: SettledTick,
}

fn list(desk: &Desk) -> Result<Exit> {
    let all = cron::all(&desk.config)?;
    let stored = stored(desk, &all)?;
    let now_ms = now_ms();
    let listed: Vec<Listed> = all
        .iter()
        .zip(stored)
        .map(|(schedule, (stored, last))| Listed::of(schedule, stored.as_ref(), last, now_ms))
        .collect();
    if desk.global.json {
        output::print_json(&listed)?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        if !desk.global.quiet {
            output::remark("no schedules yet; add [[schedules]] to the configuration");
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(TITLES, TITLES.len() - 1);
    for schedule in &listed {
        table.row(schedule.row(now_ms));
    }
    output::print_lines(&table.lines(&Look::of_stdout()))?;
    Ok(Exit::Done)
}

type Found = (Option<Stored>, Option<SettledTick>);

/// What the rows say of each schedule; nothing where there is no database yet.
fn stored(desk: &Desk, all: &[Schedule]) -> Result<Vec<Found>> {
    if !desk.state.join(DATABASE_FILE).exists() {
        return Ok(all.iter().map(|_| (None, None)).collect());
    }
    let names: Vec<String> = all.iter().map(|schedule| schedule.name.clone()).collect();
    let store = desk.existing_store()?;
    desk.block_on(store.read(move |sql| {
        let look =
            |name: &String| Ok((schedules::get(sql, name)?, schedules::last_tick(sql, name)?));
        names.iter().map(look).collect()
    }))
}

impl Listed {
    fn of(
        schedule: &Schedule,
        stored: Option<&Stored>,
        last: Option<SettledTick>,
        now_ms: i64,
    ) -> Self {
        let paused = stored.is_some_and(|stored| stored.standing.paused);
        let next_ms = schedule.calendar.next_ms(now_ms);
        let next_ms = next_ms.filter(|_| schedule.enabled && !paused);
        let calendar = &schedule.calendar;
        Self {
            name: schedule.name.clone(),
            cron: calendar.expression.to_string(),
            timezone: schedule.zone_name.clone(),
            enabled: schedule.enabled,
            paused,
            next: next_ms.map(|next_ms| written(next_ms, calendar)),
            last: last.map(|tick| Last {
                due_at: written(tick.due_at_ms, calendar),
                tick,
            }),
            next_ms,
        }
    }

    fn row(&self, now_ms: i64) -> Vec<Cell> {
        let next: Cell = match (self.enabled, self.paused, self.next_ms) {
            (false, ..) => ("disabled".to_owned(), Style::Dim).into(),
            (_, true, _) => ("paused".to_owned(), Style::Notice).into(),
            (.., Some(next_ms)) => format!("in {}", output::age(next_ms - now_ms)).into(),
            (.., None) => "never".into(),
        };
        let (last, detail): (Cell, String) = match &self.last {
            None => ("".into(), String::new()),
            Some(Last { tick, .. }) => last_in_words(tick, now_ms),
        };
        vec![
            (self.name.clone(), Style::Bold).into(),
            self.cron.clone().into(),
            self.timezone.clone().into(),
            next,
            last,
            output::first_line(&detail).into(),
        ]
    }
}

fn last_in_words(tick: &SettledTick, now_ms: i64) -> (Cell, String) {
    let style = match tick.outcome {
        TickOutcome::Started => Style::Good,
        TickOutcome::Skipped => Style::Dim,
        TickOutcome::Refused => Style::Bad,
    };
    let words = format!(
        "{} {} ago",
        tick.outcome,
        output::age(now_ms - tick.due_at_ms)
    );
    let detail = match (&tick.session_id, &tick.detail) {
        (Some(session), _) => short(session).to_owned(),
        (None, detail) => detail.clone().unwrap_or_default(),
    };
    ((words, style).into(), detail)
}

fn next(desk: &Desk, name: &str, count: u32, after: Option<Timestamp>) -> Result<Exit> {
    let schedule = find(desk, name)?;
    let calendar = &schedule.calendar;
    let now_ms = now_ms();
    let start_ms = after.map_or(now_ms, Timestamp::as_millisecond);
    let moments = std::iter::successors(calendar.next_ms(start_ms), |last_ms| {
        calendar.next_ms(*last_ms)
    });
    let moments = moments.take(count as usize);
    if desk.global.json {
        let times: Vec<String> = moments.map(|at_ms| written(at_ms, calendar)).collect();
        output::print_json(&times)?;
        return Ok(Exit::Done);
    }
    if !desk.global.quiet {
        output::remark(&in_words(desk, &schedule)?);
    }
    let lines = moments.map(|at_ms| {
        let left = match at_ms > now_ms {
            true => format!("in {}", output::duration(at_ms - now_ms)),
            false => format!("{} ago", output::duration(now_ms - at_ms)),
        };
        format!("{}  {left}", written(at_ms, calendar))
    });
    output::print_lines(&lines.collect::<Vec<_>>())?;
    Ok(Exit::Done)
}

/// The schedule in one line, with whatever keeps it from starting at these times.
fn in_words(desk: &Desk, schedule: &Schedule) -> Result<String> {
    let one = std::slice::from_ref(schedule);
    let found = stored(desk, one)?;
    let paused = found
        .iter()
        .flat_map(|(stored, _)| stored)
        .any(|stored| stored.standing.paused);
    let mut words = format!(
        "{}: {} in {}",
        schedule.name, schedule.calendar.expression, schedule.zone_name
    );
    if schedule.jitter_ms > 0 {
        let jitter = output::duration(schedule.jitter_ms);
        words.push_str(&format!(", each up to {jitter} later (jitter)"));
    }
    match (schedule.enabled, paused) {
        (false, _) => words.push_str(", but it is disabled"),
        (true, true) => words.push_str(", but it is paused"),
        (true, false) => {}
    }
    Ok(words)
}

fn run(desk: &Desk, name: &str) -> Result<Exit> {
    let schedule = find(desk, name)?;
    let (request, origin) = schedule.extra_request(desk.config.inbox.max_bytes)?;
    desk.block_on(async {
        let store = desk.store()?;
        let created = admit(desk, &store, request, origin).await?;
        announce(desk, &created)?;
        Ok(Exit::Done)
    })
}

fn set_paused(desk: &Desk, name: &str, paused: bool) -> Result<Exit> {
    let name = find(desk, name)?.name;
    let wanted = name.clone();
    let changed = desk.block_on(async {
        let store = desk.store()?;
        store
            .write(move |sql| schedules::set_paused(sql, &wanted, paused, now_ms()))
            .await
    })?;
    wake::ring(&desk.state);
    let words = match (paused, changed) {
        (true, true) => "is paused",
        (true, false) => "was paused already",
        (false, true) => "goes on",
        (false, false) => "was not paused",
    };
    if desk.global.json {
        output::print_json(&json!({"schedule": name, "paused": paused, "changed": changed}))?;
    } else if !desk.global.quiet {
        output::print_line(&format!("schedule {name} {words}"))?;
    }
    if !paused {
        warn_without_daemon(desk);
    }
    Ok(Exit::Done)
}
