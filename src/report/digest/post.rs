//! When the digest is due. Its moments are ticks like those of schedules, each settled once, through restarts and kill -9; whoever
//! collects what is to be told finds the tick in the history, and makes a notice of it for each who gets the paper.

use crate::clock::now_ms;
use crate::config;
use crate::engine::House;
use crate::model::cron::Calendar;
use crate::model::schedule::{
    CatchUp, DIGEST, Due, GRACE_MS, Standing, Tick, TickOutcome, Wish, due,
};
use crate::store::driver::Sql;
use crate::store::schedules::{self, SettledTick};
use anyhow::{Context, Result, anyhow};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Slept at most: the clock may be set, and a machine may sleep.
const LOOK_EVERY: Duration = Duration::from_millis(GRACE_MS.unsigned_abs() / 2);
const STORE_RETRY: Duration = Duration::from_secs(1);
/// Settles what comes due until shutdown; nothing where none is configured.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let edition = match Edition::of_config(&house.config.digest) {
        Ok(Some(edition)) => edition,
        Ok(None) => return,
        Err(error) => return tracing::error!("no digest is sent: {error:#}"),
    };
    while !*shutdown.borrow() {
        let sleep = match edition.look(&house, now_ms()).await {
            Ok(()) => edition.sleep(now_ms()),
            Err(error) => {
                tracing::error!("the digest cannot be settled: {error:#}");
                STORE_RETRY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// When the digest is sent.
struct Edition {
    calendar: Calendar,
    /// What makes its ticks: where this is another, they begin anew.
    definition: String,
}

impl Edition {
    fn of_config(digest: &config::Digest) -> Result<Option<Self>> {
        let Some(cron) = &digest.cron else {
            return Ok(None);
        };
        let zone = digest
            .zone()
            .map_err(|message| anyhow!("timezone: {message}"))?;
        let expression = cron.parse().context("cron")?;
        let zone_name = zone.iana_name().unwrap_or("local time");
        Ok(Some(Self {
            definition: format!("{expression} {zone_name}"),
            calendar: Calendar { expression, zone },
        }))
    }

    fn sleep(&self, now_ms: i64) -> Duration {
        let left = self.calendar.next_ms(now_ms).map(|next| next - now_ms);
        let left = left.and_then(|left| u64::try_from(left).ok());
        left.map_or(LOOK_EVERY, |left| {
            Duration::from_millis(left).min(LOOK_EVERY)
        })
    }

    /// Settles what is due.
    async fn look(&self, house: &House, now_ms: i64) -> Result<()> {
        let stored = house.store.read(|sql| schedules::get(sql, DIGEST)).await?;
        let known =
            stored.filter(|stored| stored.definition.as_deref() == Some(self.definition.as_str()));
        let Some(stored) = known else {
            let definition = self.definition.clone();
            return house
                .store
                .write(move |sql| schedules::adopt(sql, DIGEST, &definition, now_ms))
                .await;
        };
        // What was missed is made up for by one: yesterday's paper is in it as far as it reaches back.
        let ticks = match due(&self.calendar, &stored.standing, CatchUp::One, now_ms) {
            Due::Nothing => return Ok(()),
            Due::ClockSetBack => {
                return house
                    .store
                    .write(move |sql| schedules::set_back(sql, DIGEST, now_ms))
                    .await;
            }
            Due::Ticks(ticks, _) => ticks,
        };
        let round = Round {
            stood: stored.standing,
            ticks,
            at_ms: now_ms,
        };
        // Where another was quicker, the next look finds it settled.
        house.store.write(move |sql| round.settle(sql)).await
    }
}

/// What is settled together.
struct Round {
    stood: Standing,
    ticks: Vec<Tick>,
    at_ms: i64,
}

impl Round {
    fn settle(&self, sql: &mut dyn Sql) -> Result<()> {
        let stored = schedules::get(sql, DIGEST)?;
        if stored.is_none_or(|stored| stored.standing != self.stood) {
            return Ok(());
        }
        for tick in &self.ticks {
            // The clock shows this time once more.
            if schedules::is_settled(sql, DIGEST, tick.due_at_ms)? {
                continue;
            }
            let (outcome, detail) = match &tick.wish {
                Wish::Skip(reason) => (TickOutcome::Skipped, Some(reason.clone())),
                Wish::Run | Wish::CatchUp => (TickOutcome::Started, None),
            };
            let settled = SettledTick {
                schedule: DIGEST.to_owned(),
                due_at_ms: tick.due_at_ms,
                outcome,
                detail,
                session_id: None,
                at_ms: self.at_ms,
            };
            schedules::add_tick(sql, &settled)?;
        }
        if let Some(last) = self.ticks.iter().map(|tick| tick.due_at_ms).max() {
            schedules::settle(sql, DIGEST, last, None)?;
        }
        Ok(())
    }
}
