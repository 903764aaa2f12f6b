//! Money, tokens and tool calls while a turn runs: reserved before it starts, corrected from what it reports, and the turn
//! ended as soon as a limit is passed, of its own session or of one that it works for.

use super::Work;
use crate::agent::stream::ToolCall;
use crate::agent::{self, Agent, Outcome, StepCost, TurnEnd, TurnReport};
use crate::clock::{now_ms, starts_of_day_and_month};
use crate::model::session::EndReason;
use crate::model::stop::Stop;
use crate::model::usage::Usage;
use crate::store::ledger::{self, Layer, Layers, Refusal};
use crate::store::steps::{self, NewStep};
use crate::store::tool_calls::{self, NewToolCall};
use crate::store::{budgets, sessions};
use anyhow::Result;
use jiff::tz::TimeZone;
use tokio::sync::{mpsc, watch};

/// Reports of a running turn that wait to be written; the agent's reader waits when there are more.
const MAX_WAITING_REPORTS: usize = 16;

impl Work {
    /// Lets an agent take a turn that is charged to an account; it is ended when somebody wants that or a limit is passed.
    pub(in crate::engine) async fn attend(
        &self,
        agent: &dyn Agent,
        account: &Account,
        turn: impl FnOnce(watch::Receiver<bool>, mpsc::Sender<TurnReport>) -> agent::Turn,
    ) -> Result<Outcome> {
        let (stop, stopped) = watch::channel(false);
        let (reports, mut told) = mpsc::channel(MAX_WAITING_REPORTS);
        let mut log = LastTold::default();
        let mut outside = self.signals.stop.clone();
        let run = agent.run(turn(stopped, reports));
        tokio::pin!(run);
        let mut overspent = false;
        let mut outcome = loop {
            let going_on = !*stop.borrow();
            tokio::select! {
                outcome = &mut run => break outcome?,
                () = asked(&mut outside), if going_on => {
                    stop.send_replace(true);
                }
                Some(report) = told.recv() => {
                    overspent |= self.write_down(account, &mut log, report).await?;
                    if overspent && going_on {
                        tracing::warn!(session = self.session.id, "a budget is used up: the turn is ended");
                        stop.send_replace(true);
                    }
                }
            }
        };
        // What was told at the very end still waits; of a short turn that is all there is.
        while let Ok(report) = told.try_recv() {
            overspent |= self.write_down(account, &mut log, report).await?;
        }
        // Found in the rows and not remembered, so that a daemon that adopts the ended turn comes to the same end.
        if overspent && outcome.end == TurnEnd::Stopped {
            outcome.end = TurnEnd::Overspent;
            let remark = "ended because it passed a limit of cost, tokens or tool calls";
            outcome.warnings.push(remark.to_owned());
        }
        Ok(outcome)
    }

    /// Writes down what is new in a report, and says whether a limit is passed with it.
    async fn write_down(
        &self,
        account: &Account,
        log: &mut LastTold,
        report: TurnReport,
    ) -> Result<bool> {
        let news = Told {
            usage: report.usage,
            calls: report.tool_calls.into_iter().map(as_row).collect(),
            steps: report.steps.into_iter().map(step_row).collect(),
        };
        Ok(log.is_news(&news) && self.correct(account, news).await?)
    }

    /// Writes down what the running turn has used, and says whether that passes a limit.
    async fn correct(&self, account: &Account, told: Told) -> Result<bool> {
        let Told {
            usage,
            mut calls,
            mut steps,
        } = told;
        let (session, iteration) = (self.session.id.clone(), account.iteration.clone());
        let usage = Usage {
            // Until it tells a cost, what was reserved for it stays.
            cost_usd: usage.cost_usd.and(account.before.plus(usage).cost_usd),
            ..account.before.plus(usage)
        };
        if !account.keeps_calls {
            calls.clear();
            steps.clear();
        }
        let task = self.claim.task_id.clone();
        let layers = self.layers();
        let budget = self.mission.budget.clone();
        let iteration_usd = self.house.config.budget.iteration_usd;
        self.house
            .store
            .write_for_watchers(move |sql| {
                ledger::correct_running(sql, &session, &iteration, &usage)?;
                budgets::mark(sql, &session, now_ms())?;
                let whose = (session.as_str(), task.as_str(), iteration.as_str());
                tool_calls::add(sql, whose, &calls, now_ms())?;
                steps::add(sql, whose, &steps, now_ms())?;
                let sums = sessions::expect(sql, &session)?;
                let passed =
                    |used: f64, limit: Option<f64>| limit.is_some_and(|limit| used > limit);
                let as_limit = |limit: Option<u64>| limit.map(|limit| limit as f64);
                let tokens = (sums.input_tokens + sums.output_tokens) as f64;
                Ok(passed(sums.cost_usd, budget.usd)
                    || passed(usage.cost_usd.unwrap_or(0.0), iteration_usd)
                    || passed(tokens, as_limit(budget.tokens))
                    || passed(sums.tool_call_count as f64, as_limit(budget.tool_calls))
                    || ledger::is_overdrawn_above(sql, &sums)?
                    || is_overdrawn(sql, &layers)?)
            })
            .await
    }

    /// The limits over all sessions, with the times from which they count, by the local calendar.
    pub(in crate::engine) fn layers(&self) -> Layers {
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
}

/// What a turn is charged to.
pub(in crate::engine) struct Account {
    /// The row that bears it.
    pub iteration: String,
    /// What that has borne already.
    pub before: Usage,
    /// Whether the tool calls are the iteration's own.
    pub keeps_calls: bool,
}

/// What a report says, as it is written down.
struct Told {
    usage: Usage,
    calls: Vec<NewToolCall>,
    steps: Vec<NewStep>,
}

/// What was last written down of a turn.
#[derive(Default)]
struct LastTold {
    usage: Usage,
}

impl LastTold {
    fn is_news(&mut self, told: &Told) -> bool {
        let news = told.usage != self.usage || !told.calls.is_empty() || !told.steps.is_empty();
        self.usage = told.usage;
        news
    }
}

fn as_row(call: ToolCall) -> NewToolCall {
    let readable = serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok();
    NewToolCall {
        position: i64::try_from(call.position).unwrap_or(i64::MAX),
        name: call.name,
        // Long arguments were cut and are no JSON any more: they are kept as a text.
        arguments: Some(match readable {
            true => call.arguments,
            false => serde_json::Value::from(call.arguments).to_string(),
        }),
        result: Some(call.result),
        ok: call.ok,
        duration_ms: call.duration_ms.and_then(|ms| i64::try_from(ms).ok()),
        retries: i64::from(call.retries),
    }
}

fn step_row(told: StepCost) -> NewStep {
    NewStep {
        number: i64::from(told.step.number),
        model: told.step.model,
        usage: told.step.usage,
        cost_usd: told.cost_usd,
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
pub(in crate::engine) fn stop_for(refusal: Refusal) -> Stop {
    let reason = words_of(&refusal);
    match refusal {
        Refusal::DaySpent { .. } | Refusal::MonthSpent { .. } => {
            Stop::Spent(EndReason::BudgetUsd, reason)
        }
        Refusal::TooManyStarts { until_ms } => Stop::Wait { until_ms, reason },
    }
}

/// Why a start was refused.
pub(in crate::engine) fn words_of(refusal: &Refusal) -> String {
    match refusal {
        Refusal::DaySpent {
            limit_usd,
            spent_usd,
        } => format!(
            "the day's budget of {limit_usd:.2} USD is used up: {spent_usd:.2} USD spent today"
        ),
        Refusal::MonthSpent {
            limit_usd,
            spent_usd,
        } => format!(
            "the month's budget of {limit_usd:.2} USD is used up: {spent_usd:.2} USD spent this month"
        ),
        Refusal::TooManyStarts { .. } => {
            "as many agents were started in the last hour as queue.starts_per_hour allows"
                .to_owned()
        }
    }
}
