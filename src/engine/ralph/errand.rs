//! Work that an agent of the loop gave to another one: whether it may, what is waited for, and what the next prompt says of it.
//! Everything is read from rows: the letter from its iteration, the sessions of the sub-agent by that iteration's name.

use super::Ralph;
use crate::clock::new_id;
use crate::config::agent::REHEARSAL;
use crate::engine::delegate::{Commission, key_of, lesson_of, next_step, why_failed};
use crate::engine::prompt::SubAgentReport;
use crate::model::delegation::{Errand, NextChild, Spawn};
use crate::model::promise;
use crate::model::session::SessionState;
use crate::model::shorten::{head, head_and_tail};
use crate::store::iterations::Iteration;
use crate::store::tasks::Parking;
use anyhow::{Result, anyhow};

const SPAWN_AGENT: &str = "spawn_agent";
/// What a prompt shows of the answer, and of the task that it answers.
const MAX_ANSWER_BYTES: usize = 16 * 1024;
const MAX_TASK_BYTES: usize = 2000;

impl Ralph {
    /// The last turn that counts, if it gave work to another agent. Turns that do not count have read nothing of it.
    fn errand(&self) -> Option<(&Iteration, &Spawn)> {
        let last = self
            .history
            .iter()
            .rev()
            .find(|iteration| iteration.counted)?;
        Some((last, last.spawn.as_ref()?))
    }

    /// Under which name the sessions of that work are found.
    pub(super) fn errand_key(iterations: &[Iteration]) -> Option<String> {
        let last = iterations
            .iter()
            .rev()
            .find(|iteration| iteration.counted)?;
        last.spawn.as_ref().map(|_| key_of(&last.id))
    }

    /// Whether a sub-agent is to be made or waited for before the next turn.
    pub(super) fn delegates(&self) -> bool {
        let Some((_, Spawn::Errand(errand))) = self.errand() else {
            return false;
        };
        match next_step(&self.children) {
            NextChild::Wait => true,
            NextChild::First | NextChild::Again => self.why_not(errand).is_none(),
            NextChild::Over => false,
        }
    }

    /// Makes the sub-agent's session, or waits for the one that is there.
    pub(super) async fn delegate(self) -> Result<()> {
        let next = next_step(&self.children);
        let Some((iteration, Spawn::Errand(errand))) = self.errand() else {
            return self.work.park(Parking::Released).await;
        };
        if matches!(next, NextChild::Wait | NextChild::Over) {
            return self.work.wait_for_child(None).await;
        }
        let error = self.children.last().map(lesson_of);
        let child = self.work.child(Commission {
            agent: errand.agent.clone(),
            objective: self
                .work
                .objective_for_errand(&errand.task, error.as_deref()),
            key: format!("{}{}", key_of(&iteration.id), self.children.len()),
        })?;
        self.work.wait_for_child(Some(child)).await
    }

    /// Why the work cannot be given away, for the agent that wants to.
    pub(super) fn why_not(&self, errand: &Errand) -> Option<String> {
        let refusal = self.may_spawn().and_then(|()| {
            let admitted = self.work.admit(&errand.agent);
            admitted.map(drop)
        });
        refusal.err().map(|why| format!("{why:#}"))
    }

    /// A built-in agent without the tool may not do by a letter what the tool would do.
    fn may_spawn(&self) -> Result<()> {
        let member = self.work.house.roster.member(&self.agent)?;
        let tools = member
            .profile
            .builtin
            .as_ref()
            .and_then(|builtin| builtin.tools.as_ref());
        match tools.is_none_or(|tools| tools.iter().any(|tool| tool == SPAWN_AGENT)) {
            true => Ok(()),
            false => Err(anyhow!(
                "the tool {SPAWN_AGENT} is not permitted here; do the work yourself"
            )),
        }
    }

    /// The agents that work can be given to, where there are others than the one that works here.
    pub(super) fn sub_agents(&self) -> Vec<String> {
        if self.may_spawn().is_err() {
            return Vec::new();
        }
        let members = self.work.house.roster.members();
        let names: Vec<String> = members
            .map(|member| &member.name)
            .filter(|name| *name != REHEARSAL && self.work.admit(name).is_ok())
            .cloned()
            .collect();
        match names.iter().any(|name| *name != self.agent) {
            true => names,
            false => Vec::new(),
        }
    }

    /// What was wrong with the wish for a sub-agent.
    pub(super) fn spawn_problem(&self) -> Option<String> {
        match self.errand()?.1 {
            Spawn::Unusable { problem } => {
                Some(format!("`state/spawn.json` could not be used: {problem}"))
            }
            Spawn::Errand(errand) if self.children.is_empty() => {
                let why = self.why_not(errand)?;
                Some(format!("no sub-agent was started: {why}"))
            }
            Spawn::Errand(_) => None,
        }
    }

    /// What the sub-agent came to.
    pub(super) fn sub_agent_report(&self) -> Option<SubAgentReport> {
        let (_, Spawn::Errand(errand)) = self.errand()? else {
            return None;
        };
        let child = self.children.last()?;
        let answer = child.final_answer.as_deref().unwrap_or_default();
        // The promise must come from this agent alone.
        let answer = promise::taken_out(answer, &self.work.mission.promise);
        Some(SubAgentReport {
            agent: child.agent.clone(),
            task: head(&errand.task, MAX_TASK_BYTES).to_owned(),
            failure: (child.status != SessionState::Completed).then(|| why_failed(child)),
            answer: head_and_tail(answer.trim(), MAX_ANSWER_BYTES).into_owned(),
            // Nobody who wrote any of it could know this line, so nothing in it can end it.
            boundary: new_id(),
        })
    }
}
