//! The ticks of one schedule that are settled together: sessions, rows, events and how far the schedule is settled, in one transaction.
//! After a crash all of it is there or nothing.

use super::Schedule;
use crate::clock::iso;
use crate::model::event::EventType;
use crate::model::schedule::{AtOverlap, Dropped, Overlap, Standing, Tick, TickOutcome, Wish};
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::schedules::{self, SettledTick, Stored};
use crate::store::sessions::{self, Applied, Created, NewSession};
use crate::store::tasks;
use crate::trigger::intake::Reception;
use anyhow::Result;
use serde_json::json;

/// What is to be settled, and how the schedule stood when that was decided.
pub(super) struct Round {
    name: String,
    definition: String,
    stood: Standing,
    overlap: Overlap,
    ticks: Vec<Prepared>,
    dropped: Option<Dropped>,
    at_ms: i64,
}

/// A tick and its session, or why there can be none.
struct Prepared {
    tick: Tick,
    session: Result<NewSession, String>,
}

/// What came of a tick: the words for its row.
struct Verdict {
    outcome: TickOutcome,
    detail: Option<String>,
    session: Option<String>,
}

impl Verdict {
    fn none(outcome: TickOutcome, detail: &str) -> Self {
        Self {
            outcome,
            detail: Some(detail.to_owned()),
            session: None,
        }
    }
}

impl Round {
    /// Makes the requests of the ticks ready; nothing is stored yet.
    pub(super) fn prepare(
        reception: Reception<'_>,
        schedule: &Schedule,
        stored: Stored,
        ticks: Vec<Tick>,
        dropped: Option<Dropped>,
        at_ms: i64,
    ) -> Self {
        let prepared = ticks.into_iter().map(|tick| Prepared {
            session: match &tick.wish {
                Wish::Skip(reason) => Err(reason.clone()),
                Wish::Run | Wish::CatchUp => schedule
                    .prepare(reception, tick.due_at_ms, at_ms)
                    .map_err(|error| format!("{error:#}")),
            },
            tick,
        });
        Self {
            name: schedule.name.clone(),
            definition: schedule.definition.clone(),
            stood: stored.standing,
            overlap: schedule.overlap,
            ticks: prepared.collect(),
            dropped,
            at_ms,
        }
    }

    /// Settles all of it, unless the schedule stands otherwise by now: then nothing, and false.
    pub(super) fn settle(&self, sql: &mut dyn Sql) -> Result<bool> {
        let stands = schedules::get(sql, &self.name)?.is_some_and(|stored| {
            stored.standing == self.stood
                && stored.definition.as_deref() == Some(self.definition.as_str())
        });
        if !stands {
            return Ok(false);
        }
        let mut started = None;
        for prepared in &self.ticks {
            started = self.settle_tick(sql, prepared)?.or(started);
        }
        let dropped = self.dropped.iter();
        for dropped in dropped.clone() {
            self.tell_of(sql, dropped)?;
        }
        let ticks = self.ticks.iter().map(|prepared| prepared.tick.due_at_ms);
        let last_ms = ticks.chain(dropped.map(|dropped| dropped.until_ms)).max();
        if let Some(last_ms) = last_ms {
            schedules::settle(sql, &self.name, last_ms, started.as_deref())?;
        }
        Ok(true)
    }

    /// Settles one tick; returns the session that it started.
    fn settle_tick(&self, sql: &mut dyn Sql, prepared: &Prepared) -> Result<Option<String>> {
        let due_at_ms = prepared.tick.due_at_ms;
        // The clock shows this time once more.
        if schedules::is_settled(sql, &self.name, due_at_ms)? {
            return Ok(None);
        }
        let verdict = self.start(sql, prepared)?;
        let (schedule, outcome) = (&self.name, verdict.outcome);
        let (due, detail) = (iso(due_at_ms), verdict.detail.as_deref());
        match outcome {
            TickOutcome::Refused => tracing::warn!(schedule, due, detail, "schedule refused"),
            _ => tracing::info!(schedule, due, detail, "schedule {outcome}"),
        }
        let settled = SettledTick {
            schedule: self.name.clone(),
            due_at_ms,
            outcome,
            detail: verdict.detail,
            session_id: verdict.session.clone(),
            at_ms: self.at_ms,
        };
        schedules::add_tick(sql, &settled)?;
        Ok(verdict.session)
    }

    fn start(&self, sql: &mut dyn Sql, prepared: &Prepared) -> Result<Verdict> {
        let wish = &prepared.tick.wish;
        if let Wish::Skip(reason) = wish {
            return Ok(Verdict::none(TickOutcome::Skipped, reason));
        }
        let open = schedules::open_sessions(sql, &self.name)?;
        let step = open.first().map(|newest| (newest, self.overlap.step(wish)));
        if let Some((newest, AtOverlap::Skip)) = step {
            let reason = format!("session {newest} of this schedule is still open");
            return Ok(Verdict::none(TickOutcome::Skipped, &reason));
        }
        let new = match &prepared.session {
            Ok(new) => new,
            Err(reason) => return Ok(Verdict::none(TickOutcome::Refused, reason)),
        };
        let before = match step {
            Some((newest, AtOverlap::Wait)) => Some(newest.clone()),
            Some((_, AtOverlap::Replace)) => cancel(sql, &open, self.at_ms)?,
            _ => None,
        };
        let created = sessions::create(sql, new)?;
        let new_before = before
            .as_ref()
            .filter(|_| matches!(created, Created::New(_)));
        if let Some(before) = new_before {
            let reason = format!("an earlier session of schedule {} is open", self.name);
            tasks::follow(sql, created.id(), before, &reason)?;
        }
        Ok(Verdict {
            outcome: TickOutcome::Started,
            detail: before.map(|before| format!("after session {before}")),
            session: Some(created.id().to_owned()),
        })
    }

    fn tell_of(&self, sql: &mut dyn Sql, dropped: &Dropped) -> Result<()> {
        let (from, until) = (iso(dropped.from_ms), iso(dropped.until_ms));
        tracing::warn!(
            schedule = self.name,
            from,
            until,
            "too many ticks were missed: those are left out"
        );
        let facts = json!({"schedule": self.name, "from": from, "until": until});
        let kind = EventType::ScheduleDropped;
        events::add(sql, About::default(), kind, self.at_ms, &facts)
    }
}

/// Cancels sessions; returns the newest one whose agent is yet to be ended, which the next one waits for.
fn cancel(sql: &mut dyn Sql, open: &[String], at_ms: i64) -> Result<Option<String>> {
    let mut ending = None;
    for session in open.iter().rev() {
        if sessions::cancel(sql, session, at_ms)? == Applied::Soon {
            ending = Some(session.clone());
        }
    }
    Ok(ending)
}
