//! The Ralph loop: run an agent with a fresh context, look for its promise, check it against reality, else start again
//! with the mission kept and the memory cleared, until done or a limit is hit.
//! All that it knows it reads from rows, so that a loop begun by one daemon is finished by the next.

mod colleagues;
mod errand;
mod judge;
mod keep;
mod record;
mod settle;
mod spend;
mod standing;
mod summary;
mod turn;
mod verify;

use super::prompt::StepPrompt;
use super::work::Work;
use crate::clock::now_ms;
use crate::model::limit::Limit;
use crate::model::stop::{Stop, why_stop};
use crate::store::iterations::Iteration;
use crate::store::restore_points::RestorePoint;
use crate::store::sessions::Session;
use crate::store::summaries::Summary;
use crate::workspace::git::Recall;
use anyhow::Result;
use turn::Begun;

/// Works on a claimed `agent` task until it is settled: done, ended, parked or put to a person.
pub async fn run(work: Work, orders: Option<Orders>) -> Result<()> {
    let mut ralph = Ralph::new(work, orders);
    ralph.look().await?;
    loop {
        if let Some(stop) = ralph.why_stop() {
            return ralph.settle(stop).await;
        }
        if ralph.summarize().await? {
            ralph.look().await?;
            continue;
        }
        let turn = match ralph.next_turn().await? {
            Begun::Turn(turn) => turn,
            Begun::Not(stop) => return ralph.settle(stop).await,
        };
        let outcome = ralph.take_turn(&turn).await?;
        let Some(judged) = ralph.judge(&turn, outcome).await? else {
            return ralph.leave_unjudged().await;
        };
        ralph.record(&turn, judged).await?;
    }
}

/// One task being looped.
struct Ralph {
    work: Work,
    /// Who works now: the session's own agent, or one that stands in for it.
    agent: String,
    history: Vec<Iteration>,
    answers: Vec<crate::store::humans::HumanRequest>,
    guidance: Vec<crate::store::guidance::Guidance>,
    /// The sessions of the sub-agent that the last turn asked for.
    children: Vec<Session>,
    /// The sessions that this one works for.
    above: Vec<Session>,
    /// What is known of a plain directory without reading it again.
    recall: Recall,
    /// What a plain directory looked like when it was kept last.
    kept_mark: Option<u64>,
    /// The state of the workspace that was kept last.
    point: Option<RestorePoint>,
    /// The highest number that an iteration of the session has.
    last_number: i64,
    /// Limits that other sessions have run into.
    limits_elsewhere: Vec<(String, Limit)>,
    summary: Option<Summary>,
    /// Turns whose files are no longer needed.
    recorded_turns: Vec<String>,
    /// What the plan wants of this step.
    orders: Option<Orders>,
}

/// What a plan wants of one step.
pub struct Orders {
    pub prompt: StepPrompt,
    /// The last iteration of the tries before this one: what they came to is no reason to stop now.
    pub after: i64,
}

impl Ralph {
    fn new(work: Work, orders: Option<Orders>) -> Self {
        let agent = work.task.agent.as_ref().unwrap_or(&work.session.agent);
        Self {
            agent: agent.clone(),
            work,
            history: Vec::new(),
            answers: Vec::new(),
            guidance: Vec::new(),
            children: Vec::new(),
            above: Vec::new(),
            recall: Recall::default(),
            kept_mark: None,
            point: None,
            last_number: 0,
            limits_elsewhere: Vec::new(),
            summary: None,
            recorded_turns: Vec::new(),
            orders,
        }
    }

    /// Why the loop stops here. A turn that is still under way is brought to its end first.
    fn why_stop(&self) -> Option<Stop> {
        match self.unfinished() {
            Some(_) => None,
            None => why_stop(&self.standing(now_ms())),
        }
    }

    /// The iterations of this try.
    fn attempt(&self) -> &[Iteration] {
        let after = self.orders.as_ref().map_or(0, |orders| orders.after);
        let earlier = self.history.partition_point(|past| past.number <= after);
        &self.history[earlier..]
    }

    /// The iteration that an earlier claimant left under way.
    fn unfinished(&self) -> Option<&Iteration> {
        self.history
            .last()
            .filter(|last| last.ended_at_ms.is_none())
    }
}
