//! A claimed task while somebody works on it: what is known of it, its session and its plan, and the ways to leave it.
//! Whatever kind of task it is, it begins and ends here; what happens between is its own room's.

mod begin;
mod command;
mod consult;
mod guard;
mod leave;
mod leftover;
mod setback;
mod spend;
mod unheard;

pub(in crate::engine) use begin::make_room;
pub use begin::{Door, Doors};
pub use command::{Command, CommandEnd};
pub(in crate::engine) use consult::is_consultation;
pub use consult::{Consulted, Question};
pub(in crate::engine) use guard::{accepts, tampering_question};
pub use leave::{Asking, first_line};
pub use leftover::end_what_runs;
pub use setback::Trouble;
pub(in crate::engine) use spend::{Account, stop_for, words_of};

use super::mission::Mission;
use super::{House, Signals};
use crate::agent;
use crate::clock::now_ms;
use crate::model::period::Period;
use crate::model::plan::PlanTask;
use crate::model::session::EndReason;
use crate::store::restore_points::NewPoint;
use crate::store::sessions::Session;
use crate::store::tasks::{Claim, Task};
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A turn whose budget of time is almost gone still gets this much, so that it can say a last word.
const MIN_TURN: Duration = Duration::from_secs(1);

/// A claimed task.
pub struct Work {
    pub house: Arc<House>,
    pub claim: Claim,
    pub signals: Signals,
    /// As of the last look.
    pub session: Session,
    pub task: Task,
    /// What its plan says of it; nothing for the one task of a plain session and for the task that plans the others.
    pub step: Option<PlanTask>,
    /// What an earlier try left.
    pub last_result: Option<Json>,
    pub mission: Mission,
    pub workspace: PathBuf,
    /// The state before the first iteration, which is written down with that.
    pub start: Option<NewPoint>,
}

impl Work {
    /// For whom the programs of this task work.
    pub fn commission(&self) -> agent::Commission {
        agent::Commission {
            session_id: self.session.id.clone(),
            task_id: self.claim.task_id.clone(),
            iteration: self.session.iteration_count + 1,
            workspace: self.workspace.clone(),
        }
    }

    /// A time limit, cut to what is left of the session's.
    pub fn time_within(&self, own: Duration) -> Duration {
        let Some(wall) = self.mission.budget.wall else {
            return own;
        };
        let left_ms = wall.as_millis() - self.active_ms(now_ms());
        own.min(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)).max(MIN_TURN))
    }

    /// The session's time budget, and when it is used up unless people are waited for meanwhile.
    fn time_end(&self) -> Option<(Period, i64)> {
        let (wall, started) = (self.mission.budget.wall?, self.session.started_at_ms?);
        let end_ms = started + self.session.waited_ms + wall.as_millis();
        Some((wall, end_ms))
    }

    /// Working time so far: waiting for people and pauses are not held against the budget.
    pub fn active_ms(&self, now_ms: i64) -> i64 {
        let started = self.session.started_at_ms.unwrap_or(now_ms);
        (now_ms - started - self.session.waited_ms).max(0)
    }

    /// Whether other tasks may be at work beside this one, in its session or in the one it works for.
    pub fn has_company(&self) -> bool {
        self.step.is_some() || self.session.parent_session_id.is_some()
    }

    /// A budget of the session that is used up, in words.
    pub fn used_up(&self) -> Option<(EndReason, String)> {
        let (budget, session) = (&self.mission.budget, &self.session);
        let tokens = session.input_tokens + session.output_tokens;
        let reached = |used: i64, limit: Option<u64>| {
            limit.is_some_and(|limit| u64::try_from(used).unwrap_or(0) >= limit)
        };
        if budget.usd.is_some_and(|limit| session.cost_usd >= limit) {
            return Some((
                EndReason::BudgetUsd,
                self.limit_in_words(EndReason::BudgetUsd),
            ));
        }
        let wall = budget.wall.map(|wall| wall.as_millis() as u64);
        let reason = match () {
            _ if reached(self.active_ms(now_ms()), wall) => EndReason::BudgetWall,
            _ if reached(tokens, budget.tokens) => EndReason::BudgetTokens,
            _ if reached(session.tool_call_count, budget.tool_calls) => EndReason::BudgetToolCalls,
            _ => return None,
        };
        Some((reason, self.limit_in_words(reason)))
    }

    /// Which limit was reached, for people.
    pub fn limit_in_words(&self, reason: EndReason) -> String {
        let session = &self.session;
        match reason {
            EndReason::MaxIterations => format!(
                "the limit of {} iterations was reached",
                session.max_iterations
            ),
            EndReason::BudgetWall => match self.mission.budget.wall {
                Some(wall) => format!("the time budget of {wall} is used up"),
                None => "the time budget is used up".to_owned(),
            },
            EndReason::BudgetUsd => {
                let limit = self.mission.budget.usd.unwrap_or_default();
                format!(
                    "the budget of {limit:.2} USD is used up: {:.2} USD spent",
                    session.cost_usd
                )
            }
            other => format!("the limit {other} was reached"),
        }
    }
}
