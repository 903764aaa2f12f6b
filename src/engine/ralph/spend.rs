//! What a turn of the loop is charged to, and what the next one is expected to cost.

use super::Ralph;
use super::turn::UnderWay;
use crate::agent::Outcome;
use crate::engine::work::Account;
use crate::model::usage::Usage;
use anyhow::Result;

impl Ralph {
    /// Lets the agent take its turn, and watches what it spends.
    pub(super) async fn take_turn(&self, turn: &UnderWay) -> Result<Outcome> {
        let account = Account {
            iteration: turn.id.clone(),
            before: Usage::default(),
            keeps_calls: true,
        };
        let agent = self.work.house.roster.hire(&self.agent)?;
        self.work
            .attend(&*agent, &account, |stop, reports| {
                turn.for_agent(self, stop, reports)
            })
            .await
    }

    /// What the next iteration is expected to cost: what is configured, else as much as the dearest one before it.
    pub(super) fn expected_cost(&self) -> Option<f64> {
        let costs = self
            .history
            .iter()
            .filter_map(|iteration| iteration.cost_usd);
        let dearest = costs.fold(0.0, f64::max);
        self.cost_per_iteration(&self.agent)
            .or_else(|| (dearest > 0.0).then_some(dearest))
            .map(|expected| match self.work.mission.budget.usd {
                Some(limit) => expected.min((limit - self.work.session.cost_usd).max(0.0)),
                None => expected,
            })
    }
}
