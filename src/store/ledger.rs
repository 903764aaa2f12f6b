//! The one ledger: every iteration's row holds what it has cost so far, from a reservation before it starts to the final sum.
//! Session, day and month are sums over these rows, so that no second account can disagree.

use super::driver::{Sql, values};
use super::query;
use super::sessions::{self, Session};
use crate::model::usage::Usage;
use anyhow::{Context, Result};

/// Limits over all sessions, with the times from which they count.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub day: Option<Layer>,
    pub month: Option<Layer>,
    pub starts_per_hour: Option<u32>,
}

/// A sum of money and since when it is spent.
#[derive(Clone, Debug)]
pub struct Layer {
    pub since_ms: i64,
    pub limit_usd: f64,
}

/// Why no agent may start now.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    DaySpent {
        limit_usd: f64,
        spent_usd: f64,
    },
    MonthSpent {
        limit_usd: f64,
        spent_usd: f64,
    },
    /// Too many starts in the last hour; at this time there is room again.
    TooManyStarts {
        until_ms: i64,
    },
}

/// Whether the layers above the session leave room for one more start that is expected to cost `reserve_usd`.
/// Asked in the transaction that starts the iteration, so that two of them cannot both take the last room.
pub fn refuse(
    sql: &mut dyn Sql,
    layers: &Layers,
    reserve_usd: f64,
    at_ms: i64,
) -> Result<Option<Refusal>> {
    if let Some(day) = &layers.day
        && let Some(spent_usd) = overdrawn(sql, day, reserve_usd)?
    {
        let limit_usd = day.limit_usd;
        return Ok(Some(Refusal::DaySpent {
            limit_usd,
            spent_usd,
        }));
    }
    if let Some(month) = &layers.month
        && let Some(spent_usd) = overdrawn(sql, month, reserve_usd)?
    {
        let limit_usd = month.limit_usd;
        return Ok(Some(Refusal::MonthSpent {
            limit_usd,
            spent_usd,
        }));
    }
    let Some(most) = layers.starts_per_hour else {
        return Ok(None);
    };
    const HOUR_MS: i64 = 3_600_000;
    // The start that has to be an hour old before the next one: the most-th from the end.
    let row = sql.row(
        query!("ledger_nth_last_start"),
        values![at_ms - HOUR_MS, i64::from(most) - 1],
    )?;
    let blocking = row.map(|row| row.int("started_at_ms")).transpose()?;
    Ok(blocking.map(|started| Refusal::TooManyStarts {
        until_ms: started + HOUR_MS,
    }))
}

fn overdrawn(sql: &mut dyn Sql, layer: &Layer, reserve_usd: f64) -> Result<Option<f64>> {
    let spent = spent_since(sql, layer.since_ms)?;
    let full = spent >= layer.limit_usd || spent + reserve_usd > layer.limit_usd;
    Ok(full.then_some(spent))
}

/// What all iterations since a time have cost, reservations of running ones included.
pub fn spent_since(sql: &mut dyn Sql, since_ms: i64) -> Result<f64> {
    let row = sql.row(query!("ledger_spent_since"), values![since_ms])?;
    let sum = row.context("no sum of costs")?.optional_real("cost_usd")?;
    Ok(sum.unwrap_or(0.0))
}

/// What was spent since a time, in pieces of a quarter of an hour, by when the iterations began.
pub fn spent_by_quarter(sql: &mut dyn Sql, since_ms: i64) -> Result<Vec<(i64, f64)>> {
    let rows = sql.rows(query!("ledger_by_quarter"), values![since_ms])?;
    rows.iter()
        .map(|row| {
            let cost = row.optional_real("cost_usd")?;
            Ok((row.int("at_ms")?, cost.unwrap_or(0.0)))
        })
        .collect()
}

/// Sets what a running iteration has used so far. What was reserved for it stays until it tells a cost of its own.
pub fn correct_running(
    sql: &mut dyn Sql,
    session: &str,
    iteration: &str,
    usage: &Usage,
) -> Result<()> {
    let reserved = of_iteration(sql, iteration)?.cost_usd;
    let so_far = Usage {
        cost_usd: usage.cost_usd.or(reserved),
        ..*usage
    };
    correct(sql, session, iteration, &so_far)
}

/// What an iteration has used so far.
pub fn of_iteration(sql: &mut dyn Sql, iteration: &str) -> Result<Usage> {
    let row = sql
        .row(query!("ledger_of_iteration"), values![iteration])?
        .with_context(|| format!("iteration {iteration} is gone"))?;
    Ok(Usage {
        cost_usd: row.optional_real("cost_usd")?,
        input_tokens: row.optional_int("input_tokens")?,
        output_tokens: row.optional_int("output_tokens")?,
        tool_calls: row.int("tool_call_count")?,
    })
}

/// Whether a session for which this one works, directly or through others, has passed its budget.
pub fn is_overdrawn_above(sql: &mut dyn Sql, session: &Session) -> Result<bool> {
    for above in sessions::lineage(sql, session)? {
        let budget = &above.request["budget"];
        let tokens = (above.input_tokens + above.output_tokens) as f64;
        let used = [
            ("usd", above.cost_usd),
            ("tokens", tokens),
            ("tool_calls", above.tool_call_count as f64),
        ];
        let passed =
            |(key, used): &(&str, f64)| budget[*key].as_f64().is_some_and(|limit| *used > limit);
        if used.iter().any(passed) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sets what an iteration has used; the session's sums follow by the difference, so that saying it twice changes nothing.
pub fn correct(sql: &mut dyn Sql, session: &str, iteration: &str, usage: &Usage) -> Result<()> {
    let before = of_iteration(sql, iteration)?;
    let difference = |now: Option<i64>, before: Option<i64>| now.unwrap_or(0) - before.unwrap_or(0);
    let mut payer = Some(session.to_owned());
    // What a sub-agent uses is used by all for whom it works.
    while let Some(session) = payer {
        let row = sql.row(
            query!("sessions_spend"),
            values![
                session,
                usage.cost_usd.unwrap_or(0.0) - before.cost_usd.unwrap_or(0.0),
                difference(usage.input_tokens, before.input_tokens),
                difference(usage.output_tokens, before.output_tokens),
                usage.tool_calls - before.tool_calls,
            ],
        )?;
        payer = row.map_or(Ok(None), |row| row.optional_text("parent_session_id"))?;
    }
    sql.run(
        query!("ledger_correct"),
        values![
            iteration,
            usage.cost_usd,
            usage.input_tokens,
            usage.output_tokens,
            usage.tool_calls
        ],
    )?;
    Ok(())
}
