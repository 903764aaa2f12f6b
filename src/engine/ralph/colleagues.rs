//! Who may take the next turn of this session, as rows and settings tell it: the input of `model::fallback`.

use super::Ralph;
use super::standing::{failure_of, reacts, streak};
use crate::model::failure::Reaction;
use crate::model::fallback::Colleague;
use crate::model::limit::{Limit, named_end};
use crate::store::iterations::Iteration;
use crate::workspace::fingerprint::hash_of;

impl Ralph {
    /// The agent that was asked for, and after it those who may stand in for it.
    pub(super) fn colleagues(&self) -> Vec<Colleague> {
        let asked_for = &self.work.session.agent;
        let order = self.work.house.roster.with_fallbacks(asked_for);
        let colleagues = order.into_iter().map(|name| {
            let stands_in = name != asked_for;
            let elsewhere = self.limits_elsewhere.iter();
            let elsewhere = elsewhere.filter(|(agent, _)| stands_in && agent == name);
            let known = elsewhere
                .map(|(_, limit)| *limit)
                .chain(self.limit_of(name));
            Colleague {
                name: name.to_owned(),
                limit: known.max_by_key(|limit| limit.until_ms),
                fit: !stands_in || self.can_stand_in(name),
            }
        });
        colleagues.collect()
    }

    /// Whether anybody may stand in for the agent that was asked for.
    pub(super) fn has_fallbacks(&self) -> bool {
        self.work
            .house
            .roster
            .with_fallbacks(&self.work.session.agent)
            .len()
            > 1
    }

    /// The iterations that one agent took, first to last.
    pub(super) fn turns_of<'a>(
        &'a self,
        agent: &'a str,
    ) -> impl DoubleEndedIterator<Item = &'a Iteration> {
        let by = move |iteration: &&Iteration| self.taker_of(iteration) == agent;
        self.attempt().iter().filter(by)
    }

    /// Who took an iteration.
    pub(super) fn taker_of<'a>(&'a self, iteration: &'a Iteration) -> &'a str {
        iteration
            .agent
            .as_deref()
            .unwrap_or(&self.work.session.agent)
    }

    /// Failures in a row of one agent that were worth another try.
    pub(super) fn transient_streak(&self, agent: &str) -> u32 {
        streak(self.turns_of(agent), |iteration| {
            reacts(iteration, Reaction::Retry)
        })
    }

    /// What the last turn of an agent in this session says of a limit.
    fn limit_of(&self, agent: &str) -> Option<Limit> {
        let last = self.turns_of(agent).next_back()?;
        let unnamed = streak(self.turns_of(agent), |iteration| {
            let ended_at_ms = iteration.ended_at_ms.unwrap_or_default();
            reacts(iteration, Reaction::Park)
                && named_end(iteration.reset_at_ms, ended_at_ms).is_none()
        });
        let seed = hash_of(&self.work.session.id);
        Limit::after(&failure_of(last)?, last.ended_at_ms?, unnamed, seed)
    }

    /// It is there, the session's limits can be kept with it, and it has not failed for good in this session.
    fn can_stand_in(&self, agent: &str) -> bool {
        let Ok(member) = self.work.house.roster.member(agent) else {
            return false;
        };
        let profile = &member.profile;
        let keeps_limits = profile.unkeepable(&self.work.mission.budget).is_empty()
            && (!self.work.house.config.budget.is_set() || profile.knows_its_cost());
        let affordable = self.work.mission.budget.usd.is_none_or(|usd| {
            self.work.session.cost_usd + profile.cost_per_iteration.unwrap_or(0.0) <= usd
        });
        let gave_up = self
            .turns_of(agent)
            .next_back()
            .is_some_and(|last| reacts(last, Reaction::Stop));
        let retries = self.work.house.config.defaults.transient_retries;
        keeps_limits
            && affordable
            && !gave_up
            && self.transient_streak(agent) <= retries
            && member.is_there()
    }
}
