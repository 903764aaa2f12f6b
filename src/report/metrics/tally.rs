//! What happened since the daemon started, counted from the history. A part of it is gone through once; only the sessions that are
//! open are counted from the rows, at the first look.

use super::page::{Kind, Page};
use crate::config::Config;
use crate::engine::House;
use crate::model::event::EventType;
use crate::model::histogram::Histogram;
use crate::model::iteration::Verdict;
use crate::model::session::{EndReason, SessionState, Verified};
use crate::model::task::TaskState;
use crate::store::census::{self, EndedSession, EndedTurn, Part};
use crate::store::driver::Sql;
use crate::store::events;
use anyhow::Result;
use std::collections::BTreeMap;

/// Events gone through in one go.
const SPAN: i64 = 20_000;
/// A name that is in the rows but not in the configuration any more.
const OTHER: &str = "other";

const SESSION_SECONDS: &[f64] = &[
    10.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 28_800.0, 86_400.0,
];
const TURN_SECONDS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0];
const ITERATIONS: &[f64] = &[1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// The counts, and how far the history was gone through for them.
pub(super) struct Tally {
    position: i64,
    /// Counted from the rows at the first look, and kept up by steps.
    open: Option<BTreeMap<SessionState, i64>>,
    events: BTreeMap<String, i64>,
    sessions: BTreeMap<(SessionState, Option<EndReason>, Option<Verified>), u64>,
    session_seconds: Histogram,
    session_iterations: Histogram,
    agents: BTreeMap<String, Work>,
}

/// What an agent did.
struct Work {
    verdicts: BTreeMap<Verdict, u64>,
    seconds: Histogram,
    cost_usd: f64,
    input_tokens: i64,
    output_tokens: i64,
    tool_calls: i64,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            verdicts: BTreeMap::new(),
            seconds: Histogram::new(TURN_SECONDS),
            cost_usd: 0.0,
            input_tokens: 0,
            output_tokens: 0,
            tool_calls: 0,
        }
    }
}

/// What a part of the history holds.
struct Found {
    upto: i64,
    more: bool,
    open: Option<Vec<(SessionState, i64)>>,
    events: Vec<(String, i64)>,
    steps: Vec<(Option<SessionState>, SessionState, i64)>,
    ended: Vec<EndedSession>,
    turns: Vec<EndedTurn>,
}

impl Tally {
    /// Counts what comes after a number.
    pub(super) fn after(position: i64) -> Self {
        Self {
            position,
            open: None,
            events: BTreeMap::new(),
            sessions: BTreeMap::new(),
            session_seconds: Histogram::new(SESSION_SECONDS),
            session_iterations: Histogram::new(ITERATIONS),
            agents: BTreeMap::new(),
        }
    }

    /// Everything up to here was counted.
    pub(super) fn position(&self) -> i64 {
        self.position
    }

    /// Goes on to the end of the history.
    pub(super) async fn read_on(&mut self, house: &House) -> Result<()> {
        let known = house.roster.names();
        loop {
            let (after, first) = (self.position, self.open.is_none());
            let found = house.store.read(move |sql| find(sql, after, first)).await?;
            let more = found.more;
            self.count(found, &known);
            if !more {
                return Ok(());
            }
        }
    }

    fn count(&mut self, found: Found, known: &[String]) {
        self.position = found.upto;
        for (kind, count) in found.events {
            *self.events.entry(kind).or_default() += count;
        }
        match (found.open, &mut self.open) {
            (Some(open), _) => self.open = Some(open.into_iter().collect()),
            (None, None) => {}
            (None, Some(open)) => {
                for (from, to, count) in found.steps {
                    if let Some(from) = from {
                        *open.entry(from).or_default() -= count;
                    }
                    *open.entry(to).or_default() += count;
                }
            }
        }
        for session in found.ended {
            let seconds = session.duration_ms.max(0) as f64 / 1000.0;
            self.session_seconds.observe(seconds);
            self.session_iterations
                .observe(session.iteration_count as f64);
            let how = (session.status, session.end_reason, session.verified);
            *self.sessions.entry(how).or_default() += 1;
        }
        for turn in found.turns {
            let agent = match known.contains(&turn.agent) {
                true => turn.agent.clone(),
                false => OTHER.to_owned(),
            };
            self.agents.entry(agent).or_default().add(&turn);
        }
    }

    /// Writes all of it down.
    pub(super) fn write(&self, page: &mut Page, config: &Config) {
        self.write_sessions(page);
        self.write_events(page);
        self.write_agents(page, config);
    }

    fn write_sessions(&self, page: &mut Page) {
        let mut open = page.family(
            "ralphd_sessions",
            Kind::Gauge,
            "Sessions that have not ended, by state.",
        );
        let counts = self.open.as_ref();
        for state in SessionState::ALL
            .iter()
            .filter(|state| !state.is_terminal())
        {
            let count = counts.and_then(|counts| counts.get(state));
            let count = count.copied().unwrap_or(0);
            open.value(&[("state", state.as_str())], count as f64);
        }
        let mut ended = page.family(
            "ralphd_sessions_ended_total",
            Kind::Counter,
            "Sessions that ended, by state, reason, and whether what they claim was verified.",
        );
        for ((state, reason, verified), count) in &self.sessions {
            let labels = [
                ("state", state.as_str()),
                ("end_reason", reason.map_or("", EndReason::as_str)),
                ("verified", verified.map_or("", Verified::as_str)),
            ];
            ended.value(&labels, *count as f64);
        }
        for (name, help, measured) in [
            (
                "ralphd_session_duration_seconds",
                "From the start of a session to its end, waiting included.",
                &self.session_seconds,
            ),
            (
                "ralphd_session_iterations",
                "Iterations that an ended session took.",
                &self.session_iterations,
            ),
        ] {
            let mut family = page.family(name, Kind::Histogram, help);
            family.histogram(&[], &measured.counted());
        }
    }

    fn write_events(&self, page: &mut Page) {
        let count = |kind: &str| self.events.get(kind).copied().unwrap_or(0) as f64;
        let mut tasks = page.family(
            "ralphd_task_transitions_total",
            Kind::Counter,
            "Steps of tasks, by the state that was reached.",
        );
        for state in TaskState::ALL {
            let kind = format!("task.{state}");
            tasks.value(&[("state", state.as_str())], count(&kind));
        }
        let mut sessions = page.family(
            "ralphd_session_transitions_total",
            Kind::Counter,
            "Steps of sessions, by the state that was reached.",
        );
        for state in SessionState::ALL {
            let kind = format!("session.{state}");
            sessions.value(&[("state", state.as_str())], count(&kind));
        }
        let mut others = page.family(
            "ralphd_events_total",
            Kind::Counter,
            "What else was written to the history, by type of event.",
        );
        for kind in EventType::ALL {
            others.value(&[("type", kind.as_str())], count(kind.as_str()));
        }
    }

    fn write_agents(&self, page: &mut Page, config: &Config) {
        let mut iterations = page.family(
            "ralphd_iterations_total",
            Kind::Counter,
            "Iterations that ended, by agent and verdict.",
        );
        for (agent, work) in &self.agents {
            for (verdict, count) in &work.verdicts {
                let labels = [("agent", agent.as_str()), ("verdict", verdict.as_str())];
                iterations.value(&labels, *count as f64);
            }
        }
        let mut seconds = page.family(
            "ralphd_iteration_duration_seconds",
            Kind::Histogram,
            "How long the iterations of an agent take.",
        );
        for (agent, work) in &self.agents {
            seconds.histogram(&[("agent", agent)], &work.seconds.counted());
        }
        self.write_spending(page, config);
    }

    fn write_spending(&self, page: &mut Page, config: &Config) {
        let model = |agent: &str| {
            let configured = config.agents.get(agent);
            configured
                .and_then(|agent| agent.model.clone())
                .unwrap_or_default()
        };
        let mut cost = page.family(
            "ralphd_cost_usd_total",
            Kind::Counter,
            "What agents cost, in US dollars, as far as it is known; model is the configured one, empty where the tool chooses.",
        );
        for (agent, work) in &self.agents {
            cost.value(&[("agent", agent), ("model", &model(agent))], work.cost_usd);
        }
        let mut tokens = page.family(
            "ralphd_tokens_total",
            Kind::Counter,
            "Tokens that agents used, by direction; what was read from a cache is among the input.",
        );
        for (agent, work) in &self.agents {
            let model = model(agent);
            for (direction, count) in [("input", work.input_tokens), ("output", work.output_tokens)]
            {
                let labels = [
                    ("agent", agent.as_str()),
                    ("model", model.as_str()),
                    ("direction", direction),
                ];
                tokens.value(&labels, count as f64);
            }
        }
        let mut calls = page.family(
            "ralphd_tool_calls_total",
            Kind::Counter,
            "Tools that agents called.",
        );
        for (agent, work) in &self.agents {
            calls.value(&[("agent", agent)], work.tool_calls as f64);
        }
    }
}

impl Work {
    fn add(&mut self, turn: &EndedTurn) {
        if let Some(verdict) = turn.verdict {
            *self.verdicts.entry(verdict).or_default() += 1;
            let ms = turn.duration_ms.unwrap_or(0).max(0);
            self.seconds.observe(ms as f64 / 1000.0);
        }
        // A counter never falls, whatever a tool says.
        self.cost_usd += turn.cost_usd.unwrap_or(0.0).max(0.0);
        self.input_tokens += turn.input_tokens.unwrap_or(0).max(0);
        self.output_tokens += turn.output_tokens.unwrap_or(0).max(0);
        self.tool_calls += turn.tool_calls.unwrap_or(0).max(0);
    }
}

fn find(sql: &mut dyn Sql, after: i64, first: bool) -> Result<Found> {
    let last = events::last(sql)?.max(after);
    let upto = last.min(after.saturating_add(SPAN));
    let part = Part { after, upto };
    let more = upto < last;
    Ok(Found {
        upto,
        more,
        // They must belong to the very moment up to which the steps are counted.
        open: (first && !more).then(|| census::open(sql)).transpose()?,
        events: census::events(sql, part)?,
        steps: census::steps(sql, part)?,
        ended: census::ended(sql, part)?,
        turns: census::turns(sql, part)?,
    })
}
