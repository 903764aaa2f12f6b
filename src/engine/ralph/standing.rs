//! Where the loop stands, read from rows: the input of `model::stop::why_stop`.

use super::Ralph;
use crate::clock::now_ms;
use crate::engine::work::{accepts, is_consultation};
use crate::model::failure::{Failure, Reaction};
use crate::model::iteration::Verdict;
use crate::model::limit::Limit;
use crate::model::request::{Budget, Request};
use crate::model::session::Control;
use crate::model::stop::{Gauge, LastTurn, Standing};
use crate::model::window::Window;
use crate::store::driver::Sql;
use crate::store::guidance::{self, Guidance};
use crate::store::humans::{self, HumanRequest, HumanStatus};
use crate::store::iterations::{self, Iteration};
use crate::store::restore_points::{self, RestorePoint};
use crate::store::sessions::{self, Session};
use crate::store::tasks::Claim;
use anyhow::Result;
use jiff::tz::TimeZone;

/// A look at the rows of one session.
pub(super) struct View {
    claim: Claim,
    /// The directory that is worked in.
    place: String,
    /// An ended iteration does not change any more: only what came after it is read.
    known: i64,
    /// The work for a sub-agent in what is known.
    errand: Option<String>,
    has_fallbacks: bool,
}

/// What the rows said.
pub(super) struct Seen {
    session: Session,
    history: Vec<Iteration>,
    answers: Vec<HumanRequest>,
    guidance: Vec<Guidance>,
    children: Vec<Session>,
    above: Vec<Session>,
    limits_elsewhere: Vec<(String, Limit)>,
    point: Option<RestorePoint>,
    last_number: i64,
}

impl View {
    pub(super) fn see(&self, sql: &mut dyn Sql) -> Result<Seen> {
        let id = &self.claim.session_id;
        let session = sessions::expect(sql, id)?;
        let history = iterations::history(sql, &self.claim, self.known)?;
        let errand = match history.iter().any(|iteration| iteration.counted) {
            true => Ralph::errand_key(&history),
            false => self.errand.clone(),
        };
        Ok(Seen {
            children: match errand {
                Some(key) => sessions::of_errand(sql, id, &self.claim.task_id, &key)?,
                None => Vec::new(),
            },
            above: sessions::lineage(sql, &session)?,
            point: restore_points::last(sql, id, &self.place)?,
            last_number: iterations::last_number(sql, id)?,
            session,
            history,
            answers: humans::of_task(sql, id, &self.claim.task_id)?,
            guidance: guidance::of_session(sql, id)?,
            limits_elsewhere: match self.has_fallbacks {
                true => iterations::limited(sql, now_ms())?,
                false => Vec::new(),
            },
        })
    }
}

impl Ralph {
    /// Reads the session, its iterations and its answers as they are now.
    pub(super) async fn look(&mut self) -> Result<()> {
        let view = self.view();
        let seen = self.work.house.store.read(move |sql| view.see(sql)).await?;
        self.take_in(seen);
        Ok(())
    }

    /// What there is to look at.
    pub(super) fn view(&self) -> View {
        let ended = |iteration: &&Iteration| iteration.ended_at_ms.is_some();
        View {
            claim: self.work.claim.clone(),
            place: self.work.workspace.to_string_lossy().into_owned(),
            known: self
                .history
                .iter()
                .rfind(ended)
                .map_or(0, |last| last.number),
            errand: Self::errand_key(&self.history),
            has_fallbacks: self.has_fallbacks(),
        }
    }

    pub(super) fn take_in(&mut self, seen: Seen) {
        self.work.session = seen.session;
        self.history
            .retain(|iteration| iteration.ended_at_ms.is_some());
        let worked = seen
            .history
            .into_iter()
            .filter(|turn| !is_consultation(turn));
        self.history.extend(worked);
        self.answers = seen.answers;
        self.guidance = seen.guidance;
        self.children = seen.children;
        self.above = seen.above;
        self.limits_elsewhere = seen.limits_elsewhere;
        self.point = seen.point;
        self.last_number = seen.last_number;
    }

    pub(super) fn standing(&self, now_ms: i64) -> Standing {
        let defaults = &self.work.house.config.defaults;
        let budget = &self.budget();
        let session = &self.work.session;
        let cost_of = |agent: &str| self.cost_per_iteration(agent).unwrap_or(0.0);
        let spent_tokens = session.input_tokens + session.output_tokens;
        Standing {
            last: self.last_turn(),
            cancel: session.control == Some(Control::Cancel),
            pause: matches!(session.control, Some(Control::Pause | Control::PauseNow)),
            unread_guidance: self.unread_guidance().next().is_some(),
            shutdown: *self.work.signals.shutdown.borrow() || *self.work.signals.stop.borrow(),
            iterations: gauge(session.iteration_count, Some(session.max_iterations), 1),
            wall_ms: gauge(
                self.work.active_ms(now_ms),
                budget.wall.map(|wall| wall.as_millis()),
                0,
            ),
            usd: Gauge {
                used: session.cost_usd,
                limit: budget.usd,
                // Who stands in and is too dear is passed over, and does not end the session.
                next: cost_of(&self.agent).min(cost_of(&session.agent)),
            },
            tokens: gauge(spent_tokens, budget.tokens.map(as_count), 0),
            tool_calls: gauge(session.tool_call_count, budget.tool_calls.map(as_count), 0),
            agent: self.agent.clone(),
            colleagues: self.colleagues(),
            transient_streak: self.transient_streak(&self.agent),
            transient_retries: defaults.transient_retries,
            transient_backoff_ms: defaults.transient_backoff.as_millis(),
            lost_streak: self.lost_streak(),
            stagnant_streak: self.stagnant_streak(),
            doom_streak: i64::from(streak(self.attempt().iter(), |iteration| {
                iteration.verdict == Some(Verdict::DoomLoop)
            })),
            stagnation_threshold: self.work.mission.stagnation_threshold,
            tampering_needs_a_person: self.work.mission.tampering_needs_a_person,
            tampering_accepted: self.answer_to_last().map(accepts),
            closed_until: self.closed_until(now_ms),
            now_ms,
        }
    }

    /// The session's budget, and no more of it than is left to those it works for: they may have several at work.
    fn budget(&self) -> Budget {
        let mut budget = self.work.mission.budget.clone();
        let own = Used::of(&self.work.session);
        for above in &self.above {
            let request: Option<Request> = serde_json::from_value(above.request.clone()).ok();
            let theirs = request
                .and_then(|request| request.budget)
                .unwrap_or_default();
            let used = Used::of(above);
            if let Some(limit) = theirs.usd {
                let left = own.usd + (limit - used.usd).max(0.0);
                budget.usd = Some(budget.usd.map_or(left, |usd| usd.min(left)));
            }
            budget.tokens = least(budget.tokens, theirs.tokens, own.tokens, used.tokens);
            let calls = (own.tool_calls, used.tool_calls);
            budget.tool_calls = least(budget.tool_calls, theirs.tool_calls, calls.0, calls.1);
        }
        budget
    }

    /// Outside the configured window of the day no agent starts.
    fn closed_until(&self, now_ms: i64) -> Option<(i64, String)> {
        let window: Window = self.work.house.config.queue.window.as_ref()?.parse().ok()?;
        let opens_at_ms = window.opens_at_ms(now_ms, &TimeZone::system())?;
        Some((opens_at_ms, format!("outside the window {window}")))
    }

    /// What people said since the last iteration began.
    pub(super) fn unread_guidance(&self) -> impl Iterator<Item = &Guidance> {
        self.guidance
            .iter()
            .filter(|word| word.read_iteration_id.is_none())
    }

    /// What a turn of an agent is known to cost, where that was configured.
    pub(super) fn cost_per_iteration(&self, agent: &str) -> Option<f64> {
        let member = self.work.house.roster.member(agent).ok()?;
        member.profile.cost_per_iteration
    }

    /// How many turns in a row had no final words, up to now.
    pub(super) fn empty_streak(&self) -> u32 {
        streak(self.attempt().iter(), |iteration| {
            iteration.verdict == Some(Verdict::Empty)
        })
    }

    fn lost_streak(&self) -> u32 {
        let lost = |iteration: &&Iteration| iteration.verdict == Some(Verdict::Lost);
        self.attempt().iter().rev().take_while(lost).count() as u32
    }

    fn last_turn(&self) -> LastTurn {
        let Some(last) = self.attempt().last() else {
            return LastTurn::default();
        };
        LastTurn {
            agent: self.taker_of(last).to_owned(),
            verdict: last.verdict,
            verify_passed: last.verify_passed,
            tampered: last.tampered.clone().unwrap_or_default(),
            failure: failure_of(last),
            asks: last.question.is_some() && !self.asked_since(last),
            delegates: self.delegates(),
            ended_at_ms: last.ended_at_ms.unwrap_or_default(),
        }
    }

    fn asked_since(&self, last: &Iteration) -> bool {
        let ended = last.ended_at_ms.unwrap_or_default();
        self.answers.iter().any(|asked| asked.asked_at_ms >= ended)
    }

    /// What a person said after the last iteration.
    fn answer_to_last(&self) -> Option<&str> {
        let ended = self.attempt().last()?.ended_at_ms?;
        let answered = |asked: &&humans::HumanRequest| {
            asked.status == HumanStatus::Answered && asked.asked_at_ms >= ended
        };
        self.answers.iter().rev().find(answered)?.answer.as_deref()
    }

    fn stagnant_streak(&self) -> i64 {
        let counted = self
            .attempt()
            .iter()
            .rev()
            .filter(|iteration| iteration.counted);
        counted
            .take_while(|iteration| iteration.progressed == Some(false))
            .count() as i64
    }
}

/// What a session has used of its budget.
struct Used {
    usd: f64,
    tokens: u64,
    tool_calls: u64,
}

impl Used {
    fn of(session: &Session) -> Self {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Self {
            usd: session.cost_usd,
            tokens: count(session.input_tokens + session.output_tokens),
            tool_calls: count(session.tool_call_count),
        }
    }
}

/// A limit of one's own, and no more than what is left of another's.
fn least(own: Option<u64>, theirs: Option<u64>, own_used: u64, used: u64) -> Option<u64> {
    let left = theirs.map(|limit| own_used.saturating_add(limit.saturating_sub(used)));
    own.into_iter().chain(left).min()
}

fn gauge(used: i64, limit: Option<i64>, next: i64) -> Gauge<i64> {
    Gauge { used, limit, next }
}

fn as_count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn failure_of(iteration: &Iteration) -> Option<Failure> {
    Some(Failure {
        class: iteration.failure_class?,
        detail: iteration.failure_detail.clone().unwrap_or_default(),
        reset_at_ms: iteration.reset_at_ms,
    })
}

pub(super) fn reacts(iteration: &Iteration, reaction: Reaction) -> bool {
    iteration
        .failure_class
        .is_some_and(|class| class.reaction() == reaction)
}

/// How many iterations at the end are of a kind. Turns that were ended on purpose say nothing either way.
pub(super) fn streak<'a>(
    history: impl DoubleEndedIterator<Item = &'a Iteration>,
    of_kind: impl Fn(&Iteration) -> bool,
) -> u32 {
    history
        .rev()
        .filter(|iteration| iteration.verdict != Some(Verdict::Cancelled))
        .take_while(|iteration| of_kind(iteration))
        .count() as u32
}
