//! The summaries between iterations. They have no table: the history tells what was said, and what they cost is charged to the
//! iteration that they sum up, so that every limit sees it.

use super::driver::{Sql, values};
use super::events::{self, About};
use super::tasks::Claim;
use super::{budgets, iterations, ledger, query};
use crate::model::event::EventType;
use crate::model::usage::Usage;
use anyhow::{Context, Result};
use serde_json::{Value as Json, json};

/// Which iteration is summed up, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub iteration: String,
    pub number: i64,
    pub agent: String,
}

/// A summary as the history has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub subject: Subject,
    pub cost_usd: Option<f64>,
    pub state: SummaryState,
}

/// How a summary stands.
#[derive(Clone, Debug, PartialEq)]
pub enum SummaryState {
    /// Begun; the iteration itself had used this much.
    UnderWay {
        before: Usage,
    },
    Made(String),
    NotMade,
    /// Ended on purpose; it is made when the work goes on.
    Interrupted,
}

/// How a summary ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryEnd {
    Made(String),
    NotMade(String),
    Interrupted,
}

/// What a summary has used, over and above what its iteration had used before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charge {
    pub before: Usage,
    pub usage: Usage,
}

/// Records that a summary begins, and holds what it is expected to cost; returns what its iteration has used so far.
pub fn begin(
    sql: &mut dyn Sql,
    claim: &Claim,
    subject: &Subject,
    reserve_usd: Option<f64>,
    lease_until_ms: i64,
    at_ms: i64,
) -> Result<Usage> {
    iterations::hold_claim(sql, claim, lease_until_ms)?;
    let before = ledger::of_iteration(sql, &subject.iteration)?;
    let reserved = before.plus(Usage {
        cost_usd: reserve_usd,
        ..Usage::default()
    });
    ledger::correct(sql, &claim.session_id, &subject.iteration, &reserved)?;
    let facts = json!({
        "iteration": subject.iteration, "number": subject.number, "agent": subject.agent, "before": before,
    });
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, EventType::IterationSummarizing, at_ms, &facts)?;
    Ok(before)
}

/// Records how a summary ended; one that never began has no charge.
pub fn end(
    sql: &mut dyn Sql,
    claim: &Claim,
    subject: &Subject,
    end: &SummaryEnd,
    charge: Option<Charge>,
    (lease_until_ms, duration_ms, at_ms): (i64, i64, i64),
) -> Result<()> {
    iterations::hold_claim(sql, claim, lease_until_ms)?;
    let usage = charge.unwrap_or_default().usage;
    if let Some(charge) = charge {
        let total = charge.before.plus(charge.usage);
        ledger::correct(sql, &claim.session_id, &subject.iteration, &total)?;
        budgets::mark(sql, &claim.session_id, at_ms)?;
    }
    let mut facts = json!({
        "iteration": subject.iteration,
        "number": subject.number,
        "agent": subject.agent,
        "cost_usd": usage.cost_usd,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "duration_ms": duration_ms,
    });
    let kind = match end {
        SummaryEnd::Made(text) => {
            facts["summary"] = json!(text);
            EventType::IterationSummarized
        }
        SummaryEnd::NotMade(reason) => {
            facts["reason"] = json!(reason);
            EventType::IterationNotSummarized
        }
        SummaryEnd::Interrupted => {
            facts["reason"] = json!("ended on purpose; it is made when the work goes on");
            facts["again"] = json!(true);
            EventType::IterationNotSummarized
        }
    };
    let about = About::task(&claim.session_id, &claim.task_id);
    events::add(sql, about, kind, at_ms, &facts)
}

/// The newest summary of a session, whatever became of it.
pub fn last(sql: &mut dyn Sql, claim: &Claim) -> Result<Option<Summary>> {
    let whose = values![&claim.session_id, &claim.task_id];
    let Some(row) = sql.row(query!("events_last_summary"), whose)? else {
        return Ok(None);
    };
    let facts = row.optional_json("data")?.unwrap_or_default();
    let text = |name: &str| facts[name].as_str().unwrap_or_default().to_owned();
    let kind: EventType = row.word("type")?;
    let state = match kind {
        EventType::IterationSummarizing => SummaryState::UnderWay {
            before: usage_in(&facts["before"]),
        },
        EventType::IterationSummarized => SummaryState::Made(text("summary")),
        _ if facts["again"] == true => SummaryState::Interrupted,
        _ => SummaryState::NotMade,
    };
    Ok(Some(Summary {
        subject: Subject {
            iteration: text("iteration"),
            number: facts["number"]
                .as_i64()
                .context("a summary of no iteration")?,
            agent: text("agent"),
        },
        cost_usd: facts["cost_usd"].as_f64(),
        state,
    }))
}

fn usage_in(facts: &Json) -> Usage {
    Usage {
        cost_usd: facts["cost_usd"].as_f64(),
        input_tokens: facts["input_tokens"].as_i64(),
        output_tokens: facts["output_tokens"].as_i64(),
        tool_calls: facts["tool_calls"].as_i64().unwrap_or(0),
    }
}
