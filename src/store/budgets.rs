//! When two thirds of a session's budget are used: marked once for each budget, with its event, in the transaction that learns of it.

use super::driver::{Row, Sql, values};
use super::events::{self, About};
use super::query;
use crate::model::budget::{BudgetKind, is_two_thirds_used};
use crate::model::event::EventType;
use crate::model::request;
use anyhow::Result;
use serde_json::json;

/// Marks what of a session's budgets is nearly used up, and of those that it works for.
pub fn mark(sql: &mut dyn Sql, session: &str, at_ms: i64) -> Result<()> {
    let mut payer = Some(session.to_owned());
    while let Some(session) = payer {
        let Some(row) = sql.row(query!("budgets_standing"), values![&session])? else {
            return Ok(());
        };
        for (kind, used, limit) in standing(&row, at_ms)? {
            if is_two_thirds_used(used, limit) {
                mark_one(sql, &session, (kind, used, limit), at_ms)?;
            }
        }
        payer = row.optional_text("parent_session_id")?;
    }
    Ok(())
}

/// How much is used of each budget of a session, and how much there is.
pub fn of_session(
    sql: &mut dyn Sql,
    session: &str,
    at_ms: i64,
) -> Result<Vec<(BudgetKind, f64, f64)>> {
    let row = sql.row(query!("budgets_standing"), values![session])?;
    row.map_or(Ok(Vec::new()), |row| standing(&row, at_ms))
}

/// What is used of each budget that the session has.
fn standing(row: &Row, at_ms: i64) -> Result<Vec<(BudgetKind, f64, f64)>> {
    let budget: Option<request::Budget> = row
        .optional_text("budget")?
        .and_then(|text| serde_json::from_str(&text).ok());
    let Some(budget) = budget else {
        return Ok(Vec::new());
    };
    let started_ms = row.optional_int("started_at_ms")?.unwrap_or(at_ms);
    let worked_ms = (at_ms - started_ms - row.int("waited_ms")?).max(0);
    let limits = [
        (
            BudgetKind::Usd,
            row.optional_real("cost_usd")?.unwrap_or(0.0),
            budget.usd,
        ),
        (
            BudgetKind::Tokens,
            row.int("tokens")? as f64,
            budget.tokens.map(|tokens| tokens as f64),
        ),
        (
            BudgetKind::Wall,
            worked_ms as f64,
            budget.wall.map(|wall| wall.as_millis() as f64),
        ),
        (
            BudgetKind::ToolCalls,
            row.int("tool_call_count")? as f64,
            budget.tool_calls.map(|calls| calls as f64),
        ),
    ];
    let limited = limits.into_iter();
    Ok(limited
        .filter_map(|(kind, used, limit)| Some((kind, used, limit?)))
        .collect())
}

fn mark_one(
    sql: &mut dyn Sql,
    session: &str,
    (kind, used, limit): (BudgetKind, f64, f64),
    at_ms: i64,
) -> Result<()> {
    let new = sql.run(
        query!("budgets_mark"),
        values![session, kind.as_str(), at_ms],
    )?;
    if new == 0 {
        return Ok(());
    }
    let facts = json!({"kind": kind, "used": used, "limit": limit});
    let about = About::session(session);
    events::add(sql, about, EventType::BudgetTwoThirds, at_ms, &facts)
}
