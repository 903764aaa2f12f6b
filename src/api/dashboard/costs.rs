//! What was spent: each of the last days as a bar, and by whom. It only looks.

use super::chart::{Chart, Day};
use super::page::Page;
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::clock::now_ms;
use crate::model::amount::{duration, money};
use crate::model::harmless::harmless;
use crate::model::token::Scope;
use crate::report::stats::{AgentStats, Stats};
use crate::store::driver::Sql;
use crate::store::ledger;
use crate::store::review::{self, Cost, Span};
use hyper::{Method, StatusCode};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, civil};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

const DAYS: i64 = 30;

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/costs", |api, call| {
            Box::pin(costs(api, call))
        })
        .needs(Scope::Read),
    ]
}

#[derive(Serialize)]
struct CostsView {
    chart: Chart,
    days: Vec<(String, String)>,
    spenders: Vec<Spender>,
    agents: Vec<Success>,
}

#[derive(Serialize)]
struct Spender {
    agent: String,
    iterations: i64,
    cost: String,
    input_tokens: i64,
    output_tokens: i64,
}

#[derive(Serialize)]
struct Success {
    agent: String,
    ended: usize,
    verified: usize,
    claimed: usize,
    failed: usize,
    success: Option<String>,
    iterations: Option<String>,
    cost_per_done: Option<String>,
    took: Option<String>,
}

async fn costs(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let (now_ms, zone) = (now_ms(), TimeZone::system());
    let dates = dates(now_ms, &zone)?;
    let since_ms = dates.first().map_or(0, |first| start_of(*first, &zone));
    let span = Span {
        since_ms,
        until_ms: now_ms,
    };
    let in_zone = zone.clone();
    let read = move |sql: &mut dyn Sql| {
        Ok((
            ledger::spent_by_quarter(sql, since_ms)?,
            review::costs(sql, span)?,
            Stats::of(sql, span, &in_zone)?,
        ))
    };
    let (spent, spenders, stats) = api.house.store.read(read).await?;
    let days = by_day(&dates, &spent, &zone);
    let page = Page {
        template: "costs.html",
        title: "Costs",
        menu: "costs",
        view: CostsView {
            chart: Chart::of(&days),
            days: days
                .iter()
                .rev()
                .map(|day| (day.date.clone(), money(day.cost_usd)))
                .collect(),
            spenders: spenders.iter().map(Spender::of).collect(),
            agents: stats.agents.iter().map(Success::of).collect(),
        },
    };
    api.page(&call, StatusCode::OK, &page)
}

/// The last days, oldest first; today is the last of them.
fn dates(now_ms: i64, zone: &TimeZone) -> anyhow::Result<Vec<civil::Date>> {
    let today = Timestamp::from_millisecond(now_ms)?
        .to_zoned(zone.clone())
        .date();
    let back = (0..DAYS)
        .rev()
        .map(|days| Ok(today.checked_sub(days.days())?));
    back.collect()
}

fn start_of(date: civil::Date, zone: &TimeZone) -> i64 {
    let start = date.to_zoned(zone.clone());
    start.map_or(0, |start| start.timestamp().as_millisecond())
}

fn by_day(dates: &[civil::Date], spent: &[(i64, f64)], zone: &TimeZone) -> Vec<Day> {
    let mut sums: BTreeMap<civil::Date, f64> = dates.iter().map(|date| (*date, 0.0)).collect();
    for (at_ms, cost_usd) in spent {
        let at = Timestamp::from_millisecond(*at_ms).ok();
        let date = at.map(|at| at.to_zoned(zone.clone()).date());
        if let Some(sum) = date.and_then(|date| sums.get_mut(&date)) {
            *sum += cost_usd;
        }
    }
    let days = sums.into_iter().map(|(date, cost_usd)| Day {
        date: date.to_string(),
        cost_usd,
    });
    days.collect()
}

impl Spender {
    fn of(cost: &Cost) -> Self {
        Self {
            agent: harmless(&cost.agent),
            iterations: cost.iterations,
            cost: money(cost.cost_usd),
            input_tokens: cost.input_tokens,
            output_tokens: cost.output_tokens,
        }
    }
}

impl Success {
    fn of(stats: &AgentStats) -> Self {
        Self {
            agent: harmless(&stats.agent),
            ended: stats.ended,
            verified: stats.verified,
            claimed: stats.claimed,
            failed: stats.failed,
            success: stats.success.map(|part| format!("{:.0} %", part * 100.0)),
            iterations: stats
                .iterations_to_done
                .median
                .map(|count| format!("{count:.1}")),
            cost_per_done: stats.cost_per_done_usd.map(money),
            took: stats.duration_ms.median.map(|ms| duration(ms as i64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_belongs_to_the_day_of_the_place() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let dates = dates(at("2026-11-16T23:30:00Z"), &zone).unwrap();
        assert_eq!(dates.len(), 30);
        assert_eq!(dates[29].to_string(), "2026-11-17");
        assert_eq!(start_of(dates[29], &zone), at("2026-11-16T22:00:00Z"));
        let spent = [
            (at("2026-11-16T21:45:00Z"), 1.0),
            (at("2026-11-16T22:00:00Z"), 2.0),
            (at("2020-01-01T00:00:00Z"), 9.0),
        ];
        let days = by_day(&dates, &spent, &zone);
        assert_eq!((days[28].cost_usd, days[29].cost_usd), (1.0, 2.0));
    }
}
