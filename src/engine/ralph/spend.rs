//! Money, tokens and tool calls while a turn runs: reserved before it starts, corrected from what it reports, and the turn
//! ended as soon as a limit is passed.

use super::Ralph;
use super::turn::UnderWay;
use crate::agent::Outcome;
use crate::clock::now_ms;
use crate::model::session::EndReason;
use crate::model::stop::Stop;
use crate::model::usage::Usage;
use crate::store::ledger::{self, Layer, Layers, Refusal};
use crate::store::sessions;
use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::watch;

impl Ralph {
    /// Lets the agent take its turn, and watches what it spends.
    pub(super) async fn take_turn(&self, turn: &UnderWay) -> Result<Outcome> {
        let (stop, stopped) = watch::channel(false);
        let (spending, mut spent) = watch::channel(Usage::default());
        let mut outside = self.signals.stop.clone();
        let run = self.agent.run(turn.for_agent(self, stopped, spending));
        tokio::pin!(run);
        loop {
            let going_on = !*stop.borrow();
            tokio::select! {
                outcome = &mut run => return outcome,
                () = asked(&mut outside), if going_on => {
                    stop.send_replace(true);
                }
                Ok(()) = spent.changed() => {
                    let usage = *spent.borrow_and_update();
                    if self.correct(turn, usage).await? && going_on {
                        tracing::warn!(session = self.session.id, "a budget is used up: the turn is ended");
                        stop.send_replace(true);
                    }
                }
            }
        }
    }

    /// Writes down what the running turn has used, and says whether that passes a limit.
    async fn correct(&self, turn: &UnderWay, usage: Usage) -> Result<bool> {
        let (session, iteration) = (self.session.id.clone(), turn.id.clone());
        let layers = self.layers();
        let budget = self.mission.budget.clone();
        let iteration_usd = self.house.config.budget.iteration_usd;
        self.house
            .store
            .write(move |sql| {
                ledger::correct(sql, &session, &iteration, &usage)?;
                let sums = sessions::expect(sql, &session)?;
                let passed =
                    |used: f64, limit: Option<f64>| limit.is_some_and(|limit| used > limit);
                let as_limit = |limit: Option<u64>| limit.map(|limit| limit as f64);
                let tokens = (sums.input_tokens + sums.output_tokens) as f64;
                Ok(passed(sums.cost_usd, budget.usd)
                    || passed(usage.cost_usd.unwrap_or(0.0), iteration_usd)
                    || passed(tokens, as_limit(budget.tokens))
                    || passed(sums.tool_call_count as f64, as_limit(budget.tool_calls))
                    || is_overdrawn(sql, &layers)?)
            })
            .await
    }

    /// The limits over all sessions, with the times from which they count, by the local calendar.
    pub(super) fn layers(&self) -> Layers {
        let config = &self.house.config;
        let (day_ms, month_ms) = starts_of_day_and_month(now_ms(), &TimeZone::system());
        let layer = |since_ms, limit: Option<f64>| {
            limit.map(|limit_usd| Layer {
                since_ms,
                limit_usd,
            })
        };
        Layers {
            day: layer(day_ms, config.budget.day_usd),
            month: layer(month_ms, config.budget.month_usd),
            starts_per_hour: config.queue.starts_per_hour,
        }
    }

    /// What the next iteration is expected to cost: what is configured, else as much as the dearest one before it.
    pub(super) fn expected_cost(&self) -> Option<f64> {
        let costs = self
            .history
            .iter()
            .filter_map(|iteration| iteration.cost_usd);
        let dearest = costs.fold(0.0, f64::max);
        self.cost_per_iteration()
            .or_else(|| (dearest > 0.0).then_some(dearest))
            .map(|expected| match self.mission.budget.usd {
                Some(limit) => expected.min((limit - self.session.cost_usd).max(0.0)),
                None => expected,
            })
    }
}

/// Resolves when the turn is to be ended; a sender that is gone can no longer ask.
async fn asked(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|asked| *asked).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn is_overdrawn(sql: &mut dyn crate::store::driver::Sql, layers: &Layers) -> Result<bool> {
    for layer in [&layers.day, &layers.month].into_iter().flatten() {
        if ledger::spent_since(sql, layer.since_ms)? > layer.limit_usd {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a refused start means for the loop.
pub(super) fn stop_for(refusal: Refusal) -> Stop {
    match refusal {
        Refusal::DaySpent {
            limit_usd,
            spent_usd,
        } => Stop::Spent(
            EndReason::BudgetUsd,
            format!(
                "the day's budget of {limit_usd:.2} USD is used up: {spent_usd:.2} USD spent today"
            ),
        ),
        Refusal::MonthSpent {
            limit_usd,
            spent_usd,
        } => Stop::Spent(
            EndReason::BudgetUsd,
            format!(
                "the month's budget of {limit_usd:.2} USD is used up: {spent_usd:.2} USD spent this month"
            ),
        ),
        Refusal::TooManyStarts { until_ms } => Stop::Wait {
            until_ms,
            reason: "as many agents were started in the last hour as queue.starts_per_hour allows"
                .to_owned(),
        },
    }
}

/// When the day and the month began in a zone; the epoch where the clock is beyond the calendar.
fn starts_of_day_and_month(now_ms: i64, zone: &TimeZone) -> (i64, i64) {
    let starts = || {
        let now = Timestamp::from_millisecond(now_ms)
            .ok()?
            .to_zoned(zone.clone());
        let day = now.start_of_day().ok()?;
        let month = now.first_of_month().ok()?.start_of_day().ok()?;
        Some((
            day.timestamp().as_millisecond(),
            month.timestamp().as_millisecond(),
        ))
    };
    starts().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_begin_by_the_local_calendar() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(
            starts_of_day_and_month(at("2026-11-16T23:30:00Z"), &zone),
            (at("2026-11-16T22:00:00Z"), at("2026-10-31T22:00:00Z"))
        );
    }
}
