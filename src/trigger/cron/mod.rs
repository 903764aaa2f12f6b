//! The way in for the clock: the ticks of schedules. Each becomes one session, or the reason why there is none, in a row of its own; the
//! rows say how far each schedule is settled, so that a killed daemon's successor goes on exactly there.
//!
//! One timer for all of them. It also looks now and then without a reason, for the clock may be set and a machine may sleep.

mod round;
mod schedule;

pub use schedule::{Schedule, all, named};

use super::intake::Reception;
use crate::clock::now_ms;
use crate::engine::House;
use crate::model::schedule::{DIGEST, Due, GRACE_MS, due};
use crate::store::Store;
use crate::store::schedules::{self, Stored};
use anyhow::{Result, bail};
use round::Round;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Slept at most; a tick that is found late by this is still on time.
const LOOK_EVERY: Duration = Duration::from_millis(GRACE_MS.unsigned_abs() / 2);
/// After a failing database: long enough not to spin, short enough for a tick to be on time.
const STORE_RETRY: Duration = Duration::from_secs(1);
/// How often a look is begun anew because somebody else changed the schedule meanwhile.
const MAX_TRIES: usize = 10;

/// Starts what comes due until shutdown. A schedule is paused and resumed by other processes: our own commits do not matter.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let schedules = match all(&house.config) {
        Ok(schedules) => schedules,
        Err(error) => return tracing::error!("no schedule is started: {error:#}"),
    };
    warn_of_refusals(&house, &schedules);
    let idle = schedules.iter().all(|schedule| !schedule.enabled);
    let mut commits = house.store.foreign_commits();
    while !*shutdown.borrow() {
        commits.borrow_and_update();
        let sleep = match turn_over(&house, &schedules).await {
            Ok(_) if idle => return drop(shutdown.wait_for(|down| *down).await),
            Ok(next_ms) => sleep_until(next_ms),
            Err(error) => {
                tracing::error!("the schedules cannot use their database: {error:#}");
                STORE_RETRY
            }
        };
        tokio::select! {
            _ = tokio::time::sleep(sleep) => {}
            _ = commits.changed() => {}
            _ = shutdown.changed() => {}
        }
    }
}

async fn turn_over(house: &House, schedules: &[Schedule]) -> Result<Option<i64>> {
    keep_enabled(&house.store, schedules).await?;
    look(Reception::from(house), schedules, now_ms()).await
}

fn sleep_until(next_ms: Option<i64>) -> Duration {
    let Some(next_ms) = next_ms else {
        return LOOK_EVERY;
    };
    let left = u64::try_from(next_ms - now_ms()).unwrap_or(0);
    Duration::from_millis(left).min(LOOK_EVERY)
}

/// Whoever starts the daemon hears now what would be refused by night.
fn warn_of_refusals(house: &House, schedules: &[Schedule]) {
    for schedule in schedules.iter().filter(|schedule| schedule.enabled) {
        let refused = schedule.prepare(Reception::from(house), now_ms(), now_ms());
        if let Err(reason) = refused {
            tracing::warn!("schedule {} would be refused: {reason:#}", schedule.name);
        }
    }
}

/// Takes note of schedules that are off or gone.
pub async fn keep_enabled(store: &Store, schedules: &[Schedule]) -> Result<()> {
    let enabled = schedules.iter().filter(|schedule| schedule.enabled);
    let kept: Vec<String> = enabled.map(|schedule| schedule.name.clone()).collect();
    let rows = store.read(schedules::all).await?;
    // The digest looks after its own row.
    let kept: Vec<String> = kept.into_iter().chain([DIGEST.to_owned()]).collect();
    let gone = |stored: &Stored| stored.definition.is_some() && !kept.contains(&stored.name);
    match rows.iter().any(gone) {
        true => {
            store
                .write(move |sql| schedules::keep_only(sql, &kept))
                .await
        }
        false => Ok(()),
    }
}

/// Settles every tick that is due at `now_ms`, and says when the next one is.
pub async fn look(
    reception: Reception<'_>,
    schedules: &[Schedule],
    now_ms: i64,
) -> Result<Option<i64>> {
    let rows = reception.store.read(schedules::all).await?;
    let mut rows: HashMap<String, Stored> = rows
        .into_iter()
        .map(|stored| (stored.name.clone(), stored))
        .collect();
    let mut next_ms: Option<i64> = None;
    for schedule in schedules.iter().filter(|schedule| schedule.enabled) {
        let row = rows.remove(&schedule.name);
        settle(reception, schedule, row, now_ms).await?;
        let own = schedule.calendar.next_ms(now_ms);
        next_ms = [next_ms, own].into_iter().flatten().min();
    }
    Ok(next_ms)
}

/// Settles the ticks of one schedule; begins anew where its row is not as it was when that was decided.
async fn settle(
    reception: Reception<'_>,
    schedule: &Schedule,
    row: Option<Stored>,
    now_ms: i64,
) -> Result<()> {
    let store = reception.store;
    let mut row = row;
    for _ in 0..MAX_TRIES {
        let known = row
            .take()
            .filter(|stored| stored.definition.as_deref() == Some(schedule.definition.as_str()));
        let Some(stored) = known else {
            return adopt(store, schedule, now_ms).await;
        };
        match due(
            &schedule.calendar,
            &stored.standing,
            schedule.catch_up,
            now_ms,
        ) {
            Due::Nothing => return Ok(()),
            Due::ClockSetBack => {
                tracing::warn!(
                    "the clock was set back; schedule {} goes on by it",
                    schedule.name
                );
                let name = schedule.name.clone();
                return store
                    .write(move |sql| schedules::set_back(sql, &name, now_ms))
                    .await;
            }
            Due::Ticks(ticks, dropped) => {
                let round = Round::prepare(reception, schedule, stored, ticks, dropped, now_ms);
                let name = schedule.name.clone();
                let settled = store.write(move |sql| round.settle(sql)).await?;
                if settled {
                    return Ok(());
                }
                row = store.read(move |sql| schedules::get(sql, &name)).await?;
            }
        }
    }
    bail!("schedule {} is changed all the time", schedule.name)
}

async fn adopt(store: &Store, schedule: &Schedule, now_ms: i64) -> Result<()> {
    let (name, definition) = (schedule.name.clone(), schedule.definition.clone());
    store
        .write(move |sql| schedules::adopt(sql, &name, &definition, now_ms))
        .await
}
