//! Where the loop stands, read from rows: the input of `model::stop::why_stop`.

use super::Ralph;
use crate::clock::now_ms;
use crate::model::failure::{Failure, Reaction};
use crate::model::iteration::Verdict;
use crate::model::limit::Limit;
use crate::model::session::Control;
use crate::model::stop::{Gauge, LastTurn, Standing};
use crate::model::window::Window;
use crate::store::driver::Sql;
use crate::store::guidance::{self, Guidance};
use crate::store::humans::{self, HumanRequest, HumanStatus};
use crate::store::iterations::{self, Iteration};
use crate::store::sessions::{self, Session};
use anyhow::Result;
use jiff::tz::TimeZone;

/// The word by which a person accepts changed protected files.
pub const ACCEPT: &str = "accept";

/// A look at the rows of one session.
pub(super) struct View {
    session_id: String,
    /// An ended iteration does not change any more: only what came after it is read.
    known: i64,
    has_fallbacks: bool,
}

/// What the rows said.
pub(super) struct Seen {
    session: Session,
    history: Vec<Iteration>,
    answers: Vec<HumanRequest>,
    guidance: Vec<Guidance>,
    limits_elsewhere: Vec<(String, Limit)>,
}

impl View {
    pub(super) fn see(&self, sql: &mut dyn Sql) -> Result<Seen> {
        let id = &self.session_id;
        Ok(Seen {
            session: sessions::expect(sql, id)?,
            history: iterations::history(sql, id, self.known)?,
            answers: humans::of_session(sql, id)?,
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
        let seen = self.house.store.read(move |sql| view.see(sql)).await?;
        self.take_in(seen);
        Ok(())
    }

    /// What there is to look at.
    pub(super) fn view(&self) -> View {
        let ended = |iteration: &&Iteration| iteration.ended_at_ms.is_some();
        View {
            session_id: self.claim.session_id.clone(),
            known: self
                .history
                .iter()
                .rfind(ended)
                .map_or(0, |last| last.number),
            has_fallbacks: self.has_fallbacks(),
        }
    }

    pub(super) fn take_in(&mut self, seen: Seen) {
        self.session = seen.session;
        self.history
            .retain(|iteration| iteration.ended_at_ms.is_some());
        self.history.extend(seen.history);
        self.answers = seen.answers;
        self.guidance = seen.guidance;
        self.limits_elsewhere = seen.limits_elsewhere;
    }

    pub(super) fn standing(&self, now_ms: i64) -> Standing {
        let defaults = &self.house.config.defaults;
        let budget = &self.mission.budget;
        let session = &self.session;
        let cost_of = |agent: &str| self.cost_per_iteration(agent).unwrap_or(0.0);
        let spent_tokens = session.input_tokens + session.output_tokens;
        Standing {
            last: self.last_turn(),
            cancel: session.control == Some(Control::Cancel),
            pause: matches!(session.control, Some(Control::Pause | Control::PauseNow)),
            unread_guidance: self.unread_guidance().next().is_some(),
            shutdown: *self.signals.shutdown.borrow() || *self.signals.stop.borrow(),
            iterations: gauge(session.iteration_count, Some(session.max_iterations), 1),
            wall_ms: gauge(
                self.active_ms(now_ms),
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
            doom_streak: i64::from(streak(self.history.iter(), |iteration| {
                iteration.verdict == Some(Verdict::DoomLoop)
            })),
            stagnation_threshold: self.mission.stagnation_threshold,
            tampering_needs_a_person: self.mission.tampering_needs_a_person,
            tampering_accepted: self
                .answer_to_last()
                .map(|answer| answer.trim().eq_ignore_ascii_case(ACCEPT)),
            closed_until: self.closed_until(now_ms),
            now_ms,
        }
    }

    /// Outside the configured window of the day no agent starts.
    fn closed_until(&self, now_ms: i64) -> Option<(i64, String)> {
        let window: Window = self.house.config.queue.window.as_ref()?.parse().ok()?;
        let opens_at_ms = window.opens_at_ms(now_ms, &TimeZone::system())?;
        Some((opens_at_ms, format!("outside the window {window}")))
    }

    /// What people said since the last iteration began.
    pub(super) fn unread_guidance(&self) -> impl Iterator<Item = &Guidance> {
        self.guidance
            .iter()
            .filter(|word| word.read_iteration_id.is_none())
    }

    /// Working time so far: waiting for people and pauses are not held against the budget.
    pub(super) fn active_ms(&self, now_ms: i64) -> i64 {
        let started = self.session.started_at_ms.unwrap_or(now_ms);
        (now_ms - started - self.session.waited_ms).max(0)
    }

    /// What a turn of an agent is known to cost, where that was configured.
    pub(super) fn cost_per_iteration(&self, agent: &str) -> Option<f64> {
        let member = self.house.roster.member(agent).ok()?;
        member.profile.cost_per_iteration
    }

    /// How many turns in a row had no final words, up to now.
    pub(super) fn empty_streak(&self) -> u32 {
        streak(self.history.iter(), |iteration| {
            iteration.verdict == Some(Verdict::Empty)
        })
    }

    fn lost_streak(&self) -> u32 {
        let lost = |iteration: &&Iteration| iteration.verdict == Some(Verdict::Lost);
        self.history.iter().rev().take_while(lost).count() as u32
    }

    fn last_turn(&self) -> LastTurn {
        let Some(last) = self.history.last() else {
            return LastTurn::default();
        };
        LastTurn {
            agent: self.taker_of(last).to_owned(),
            verdict: last.verdict,
            verify_passed: last.verify_passed,
            tampered: last.tampered.clone().unwrap_or_default(),
            failure: failure_of(last),
            asks: last.question.is_some() && !self.asked_since(last),
            ended_at_ms: last.ended_at_ms.unwrap_or_default(),
        }
    }

    fn asked_since(&self, last: &Iteration) -> bool {
        let ended = last.ended_at_ms.unwrap_or_default();
        self.answers.iter().any(|asked| asked.asked_at_ms >= ended)
    }

    /// What a person said after the last iteration.
    fn answer_to_last(&self) -> Option<&str> {
        let ended = self.history.last()?.ended_at_ms?;
        let answered = |asked: &&humans::HumanRequest| {
            asked.status == HumanStatus::Answered && asked.asked_at_ms >= ended
        };
        self.answers.iter().rev().find(answered)?.answer.as_deref()
    }

    fn stagnant_streak(&self) -> i64 {
        let counted = self
            .history
            .iter()
            .rev()
            .filter(|iteration| iteration.counted);
        counted
            .take_while(|iteration| iteration.progressed == Some(false))
            .count() as i64
    }
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
