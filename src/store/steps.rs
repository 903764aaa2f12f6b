//! The verbs of the `steps` table: what each reply of a model used, as far as the agent's stream tells of steps.
//! A turn may be read again from its start after a crash: a step's number in its turn is its identity.

use super::driver::{Sql, values};
use super::events::{self, About};
use super::query;
use crate::model::conversation::StepUsage;
use crate::model::event::EventType;
use anyhow::Result;
use serde_json::json;

/// One reply of a model.
#[derive(Clone, Debug)]
pub struct NewStep {
    pub number: i64,
    pub model: Option<String>,
    pub usage: StepUsage,
    pub cost_usd: Option<f64>,
}

/// Adds the steps that are not there yet.
pub fn add(
    sql: &mut dyn Sql,
    (session, task, iteration): (&str, &str, &str),
    steps: &[NewStep],
    at_ms: i64,
) -> Result<()> {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    for step in steps {
        let usage = &step.usage;
        let added = sql.run(
            query!("steps_add"),
            values![
                iteration,
                step.number,
                session,
                step.model.as_ref(),
                count(usage.input_tokens),
                count(usage.cached_tokens),
                count(usage.cache_written_tokens),
                count(usage.output_tokens),
                step.cost_usd,
                at_ms,
            ],
        )?;
        if added == 1 {
            let facts = json!({
                "number": step.number,
                "model": step.model,
                "input_tokens": usage.input_tokens,
                "cached_tokens": usage.cached_tokens,
                "output_tokens": usage.output_tokens,
                "cost_usd": step.cost_usd,
            });
            let about = About::task(session, task);
            events::add(sql, about, EventType::StepEnded, at_ms, &facts)?;
        }
    }
    Ok(())
}
