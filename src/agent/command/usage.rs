//! What a turn has used, and what that costs: as the tool tells it, as it is configured, or by the price of the model.

use super::Command;
use crate::agent::StepCost;
use crate::agent::stream::{Report, StepReport};
use crate::model::conversation::StepUsage;
use crate::model::price::Quote;
use crate::model::usage::Usage;

impl Command {
    /// What a turn has used by its report; never less than is known from before.
    pub(super) fn usage(&self, report: &Report, before: Usage) -> Usage {
        let count = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
        let told = Usage {
            cost_usd: report
                .cost_usd
                .or(self.profile.cost_per_iteration)
                .or_else(|| self.priced(report)),
            input_tokens: count(report.input_tokens),
            output_tokens: count(report.output_tokens),
            tool_calls: count(Some(report.tool_call_count)).unwrap_or(0),
        };
        told.at_least(before)
    }

    /// A step with its price.
    pub(super) fn with_cost(&self, step: StepReport) -> StepCost {
        let quote = self.quote(step.model.as_deref());
        StepCost {
            cost_usd: quote.map(|quote| quote.price.cost_usd(&step.usage)),
            step,
        }
    }

    /// The price of the model that answers, or else of the one that was configured.
    fn quote(&self, told: Option<&str>) -> Option<Quote> {
        told.and_then(|model| self.supervision.prices.quote(model))
            .or_else(|| self.profile.quote.clone())
    }

    /// The tokens so far by their price.
    fn priced(&self, report: &Report) -> Option<f64> {
        let quote = self.quote(report.model.as_deref())?;
        Some(quote.price.cost_usd(&StepUsage {
            input_tokens: report.input_tokens?,
            cached_tokens: report.cached_tokens.unwrap_or(0),
            cache_written_tokens: report.cache_written_tokens.unwrap_or(0),
            output_tokens: report.output_tokens.unwrap_or(0),
        }))
    }
}
