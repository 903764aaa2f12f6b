//! The Ralph loop: run an agent with a fresh context, look for its promise, check it against reality, else start again
//! with the mission kept and the memory cleared, until done or a limit is hit.
//! All that it knows it reads from rows, so that a loop begun by one daemon is finished by the next.

mod colleagues;
mod judge;
mod record;
mod settle;
mod spend;
mod standing;
mod summary;
mod turn;
mod verify;

pub use settle::end_unfinished;

use super::mission::Mission;
use super::{House, Signals};
use crate::clock::now_ms;
use crate::model::limit::Limit;
use crate::model::stop::{Stop, why_stop};
use crate::store::iterations::Iteration;
use crate::store::sessions::{self, Session};
use crate::store::summaries::Summary;
use crate::store::tasks::{self, Claim, Parking};
use crate::store::workspaces::{self, Acquired};
use crate::workspace::{self, fingerprint};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;
use turn::Begun;

/// Works on a claimed `agent` task until it is settled: done, ended, parked or put to a person.
pub async fn run(house: Arc<House>, claim: Claim, signals: Signals) -> Result<()> {
    let Some(mut ralph) = Ralph::begin(house, claim, signals).await? else {
        return Ok(());
    };
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
    house: Arc<House>,
    claim: Claim,
    signals: Signals,
    /// Who works now: the session's own agent, or one that stands in for it.
    agent: String,
    mission: Mission,
    workspace: PathBuf,
    /// As of the last look.
    session: Session,
    history: Vec<Iteration>,
    answers: Vec<crate::store::humans::HumanRequest>,
    guidance: Vec<crate::store::guidance::Guidance>,
    memory: fingerprint::Memory,
    /// Limits that other sessions have run into.
    limits_elsewhere: Vec<(String, Limit)>,
    summary: Option<Summary>,
    /// Turns whose files are no longer needed.
    recorded_turns: Vec<String>,
}

impl Ralph {
    /// Takes the workspace and gathers what stays the same; nothing when another session is in the workspace.
    async fn begin(house: Arc<House>, claim: Claim, signals: Signals) -> Result<Option<Self>> {
        let taken = claim.clone();
        let begun = house
            .store
            .write(move |sql| {
                let session = sessions::expect(sql, &taken.session_id)?;
                match workspaces::acquire(sql, &session.workspace, &session.id, now_ms())? {
                    Acquired::Yes => {
                        let agent = tasks::agent_of(sql, &taken.task_id)?;
                        Ok(Some((session, agent)))
                    }
                    Acquired::HeldBy(holder) => {
                        let path = session.workspace;
                        tasks::park(
                            sql,
                            &taken,
                            &Parking::WorkspaceBusy { path, holder },
                            now_ms(),
                        )?;
                        Ok(None)
                    }
                }
            })
            .await?;
        let Some((session, agent)) = begun else {
            return Ok(None);
        };
        let workspace = PathBuf::from(&session.workspace);
        workspace::prepare(&workspace)?;
        Ok(Some(Self {
            mission: Mission::of(&session, &house.config)?,
            agent: agent.unwrap_or_else(|| session.agent.clone()),
            workspace,
            session,
            history: Vec::new(),
            answers: Vec::new(),
            guidance: Vec::new(),
            memory: fingerprint::Memory::default(),
            limits_elsewhere: Vec::new(),
            summary: None,
            recorded_turns: Vec::new(),
            house,
            claim,
            signals,
        }))
    }

    /// Why the loop stops here. A turn that is still under way is brought to its end first.
    fn why_stop(&self) -> Option<Stop> {
        match self.unfinished() {
            Some(_) => None,
            None => why_stop(&self.standing(now_ms())),
        }
    }

    /// The iteration that an earlier claimant left under way.
    fn unfinished(&self) -> Option<&Iteration> {
        self.history
            .last()
            .filter(|last| last.ended_at_ms.is_none())
    }
}
