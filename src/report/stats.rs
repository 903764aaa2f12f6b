//! How the agents fare over a span of time: what they finish, how far it may be believed, what it takes and costs. It only looks.

use crate::model::session::{SessionState, Verified};
use crate::model::statistics::{median, quantile};
use crate::store::driver::Sql;
use crate::store::review::{self, Ended, Span};
use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use serde::Serialize;
use std::collections::BTreeMap;

/// The share of all that the upper end stands for.
const MOST: f64 = 0.9;
/// Days that are told one by one.
const MAX_DAYS: usize = 366;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    #[serde(flatten)]
    pub span: Span,
    /// The one that ended most first.
    pub agents: Vec<AgentStats>,
    /// All days of the span, oldest first.
    pub days: Vec<Day>,
}

/// How one agent fares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentStats {
    pub agent: String,
    pub ended: usize,
    pub verified: usize,
    pub claimed: usize,
    pub tampered: usize,
    pub failed: usize,
    pub cancelled: usize,
    /// The part of those that were not cancelled which is done, tampered ones not counted.
    pub success: Option<f64>,
    pub iterations_to_done: Spread,
    /// All that was spent, for each thing that is done.
    pub cost_per_done_usd: Option<f64>,
    pub cost_usd: f64,
    pub duration_ms: Spread,
}

/// The middle of many, and what most do not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub median: Option<f64>,
    pub p90: Option<f64>,
}

impl Spread {
    fn of(values: impl Iterator<Item = i64>) -> Self {
        let values: Vec<f64> = values.map(|value| value as f64).collect();
        Self {
            median: median(&values),
            p90: quantile(&values, MOST),
        }
    }
}

/// One day.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Day {
    pub date: String,
    pub done: usize,
    pub failed: usize,
    pub cost_usd: f64,
}

impl Stats {
    /// Looks back over a span, its days as they are in a time zone.
    pub fn of(sql: &mut dyn Sql, span: Span, zone: &TimeZone) -> Result<Self> {
        let ended = review::ended(sql, span)?;
        let mut by_agent: BTreeMap<&str, Vec<&Ended>> = BTreeMap::new();
        for session in &ended {
            by_agent.entry(&session.agent).or_default().push(session);
        }
        let mut agents: Vec<AgentStats> = by_agent
            .into_iter()
            .map(|(agent, sessions)| AgentStats::of(agent, &sessions))
            .collect();
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.ended));
        Ok(Self {
            span,
            agents,
            days: days(&ended, span, zone),
        })
    }
}

fn is_done(session: &Ended) -> bool {
    session.status == SessionState::Completed && session.verified != Some(Verified::Tampered)
}

impl AgentStats {
    fn of(agent: &str, sessions: &[&Ended]) -> Self {
        let count = |wanted: fn(&Ended) -> bool| sessions.iter().filter(|one| wanted(one)).count();
        let done = count(is_done);
        let cancelled = count(|session| session.status == SessionState::Cancelled);
        let tried = sessions.len() - cancelled;
        let cost_usd: f64 = sessions.iter().map(|session| session.cost_usd).sum();
        let each = |value: fn(&Ended) -> i64| {
            let done = sessions.iter().filter(|session| is_done(session));
            Spread::of(done.map(move |session| value(session)))
        };
        Self {
            agent: agent.to_owned(),
            ended: sessions.len(),
            verified: count(|session| {
                session.verified == Some(Verified::Verified) && is_done(session)
            }),
            claimed: count(|session| {
                session.verified != Some(Verified::Verified) && is_done(session)
            }),
            tampered: count(|session| {
                session.status == SessionState::Completed && !is_done(session)
            }),
            failed: count(|session| session.status == SessionState::Failed),
            cancelled,
            success: (tried > 0).then(|| done as f64 / tried as f64),
            iterations_to_done: each(|session| session.iterations),
            cost_per_done_usd: (done > 0).then(|| cost_usd / done as f64),
            cost_usd,
            duration_ms: each(|session| session.duration_ms),
        }
    }
}

/// Every day of the span, those on which nothing ended too.
fn days(ended: &[Ended], span: Span, zone: &TimeZone) -> Vec<Day> {
    let mut days: BTreeMap<civil::Date, Day> = BTreeMap::new();
    let (Some(mut date), Some(last)) = (date_of(span.since_ms, zone), date_of(span.until_ms, zone))
    else {
        return Vec::new();
    };
    while date <= last {
        days.insert(date, Day::default());
        match date.tomorrow() {
            Ok(tomorrow) => date = tomorrow,
            Err(_) => break,
        }
    }
    for session in ended {
        let day = date_of(session.ended_at_ms, zone).and_then(|date| days.get_mut(&date));
        if let Some(day) = day {
            day.done += usize::from(is_done(session));
            day.failed += usize::from(session.status == SessionState::Failed);
            day.cost_usd += session.cost_usd;
        }
    }
    let newest = days.len().saturating_sub(MAX_DAYS);
    let days = days.into_iter().skip(newest);
    days.map(|(date, day)| Day {
        date: date.to_string(),
        ..day
    })
    .collect()
}

fn date_of(at_ms: i64, zone: &TimeZone) -> Option<civil::Date> {
    let at = Timestamp::from_millisecond(at_ms).ok()?;
    Some(at.to_zoned(zone.clone()).date())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(status: &str, verified: Option<Verified>, iterations: i64, cost_usd: f64) -> Ended {
        Ended {
            session_id: "s".to_owned(),
            status: status.parse().unwrap(),
            end_reason: None,
            end_detail: None,
            verified,
            objective: "o".to_owned(),
            agent: "a".to_owned(),
            iterations,
            cost_usd,
            duration_ms: iterations * 1000,
            ended_at_ms: 86_400_000,
        }
    }

    #[test]
    fn what_was_tampered_with_is_not_done_and_what_was_cancelled_not_tried() {
        let sessions = [
            session("completed", Some(Verified::Verified), 2, 1.0),
            session("completed", Some(Verified::Claimed), 4, 1.0),
            session("completed", Some(Verified::Tampered), 9, 1.0),
            session("failed", None, 10, 3.0),
            session("cancelled", None, 1, 0.0),
        ];
        let all: Vec<&Ended> = sessions.iter().collect();
        let stats = AgentStats::of("a", &all);
        assert_eq!(
            (stats.ended, stats.verified, stats.claimed, stats.tampered),
            (5, 1, 1, 1)
        );
        assert_eq!((stats.failed, stats.cancelled), (1, 1));
        assert_eq!(stats.success, Some(0.5));
        assert_eq!(stats.cost_per_done_usd, Some(3.0));
        assert_eq!(stats.iterations_to_done.median, Some(3.0));
        assert_eq!(stats.duration_ms.p90, Some(4000.0));
        let span = Span {
            since_ms: 0,
            until_ms: 2 * 86_400_000,
        };
        let days = days(&sessions, span, &TimeZone::UTC);
        let dates: Vec<&str> = days.iter().map(|day| day.date.as_str()).collect();
        assert_eq!(dates, ["1970-01-01", "1970-01-02", "1970-01-03"]);
        assert_eq!((days[1].done, days[1].failed), (2, 1));
        assert_eq!(
            days[0],
            Day {
                date: "1970-01-01".to_owned(),
                ..Day::default()
            }
        );
    }
}
