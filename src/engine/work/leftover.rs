//! What an earlier claimant of a task left under way and nobody wants any more: it is ended, and no row says for ever that it is at work.

use super::Work;
use crate::clock::now_ms;
use crate::engine::{House, summary_turn, verify_turn};
use crate::model::iteration::Verdict;
use crate::process;
use crate::store::driver::Sql;
use crate::store::tasks::Claim;
use crate::store::{iterations, ledger};
use anyhow::Result;
use std::path::PathBuf;

/// Ends all of it: an agent's turn with what comes after it, and commands.
pub async fn end_what_runs(house: &House, claim: &Claim) -> Result<()> {
    let (session, task) = (claim.session_id.clone(), claim.task_id.clone());
    let last = house
        .store
        .read(move |sql| iterations::last_of_task(sql, &session, &task))
        .await?;
    match last {
        Some(last) if last.ended_at_ms.is_none() => {
            end_turn(house, claim, &last.id, Verdict::Cancelled).await?;
        }
        // What comes after a turn, and its end in the rows, may have been left too.
        Some(last) => end_processes(house, &last.id).await?,
        None => {}
    }
    for turn in house.commands_of(&claim.task_id)? {
        let record = house.turn_record(&turn);
        house.roster.supervision().supervisor.end(&record).await?;
    }
    Ok(())
}

/// Ends a turn, and gives it up by this verdict.
pub(super) async fn end_turn(
    house: &House,
    claim: &Claim,
    iteration: &str,
    verdict: Verdict,
) -> Result<()> {
    end_and_charge(house, iteration).await?;
    let claim = claim.clone();
    house
        .store
        .write(move |sql| abandon(sql, &claim, verdict))
        .await
}

/// Ends what runs for a turn; what it has cost until then was spent all the same.
pub(super) async fn end_and_charge(house: &House, iteration: &str) -> Result<()> {
    end_processes(house, iteration).await?;
    let id = iteration.to_owned();
    let read = move |sql: &mut dyn Sql| iterations::get(sql, &id);
    let Some(turn) = house.store.read(read).await? else {
        return Ok(());
    };
    let Some(agent) = turn
        .agent
        .as_deref()
        .and_then(|name| house.roster.hire(name).ok())
    else {
        return Ok(());
    };
    let output = PathBuf::from(turn.output_file);
    let usage = match tokio::task::spawn_blocking(move || agent.used(&output)).await? {
        Ok(usage) => usage,
        Err(error) => {
            tracing::warn!(iteration, "what it cost is not known: {error:#}");
            return Ok(());
        }
    };
    let charge =
        move |sql: &mut dyn Sql| ledger::correct_running(sql, &turn.session_id, &turn.id, &usage);
    house.store.write(charge).await
}

async fn end_processes(house: &House, iteration: &str) -> Result<()> {
    for turn in [
        summary_turn(iteration),
        verify_turn(iteration),
        iteration.to_owned(),
    ] {
        let record = house.turn_record(&turn);
        let supervisor = &house.roster.supervision().supervisor;
        supervisor.end(&record).await?;
        process::forget(&record)?;
    }
    Ok(())
}

/// Gives up, in the rows, the turn of a claimant before this one that nobody had a use for; its processes are still to be ended.
pub(super) fn give_up_turn(sql: &mut dyn Sql, claim: &Claim) -> Result<Option<String>> {
    if claim.number == 1 {
        return Ok(None);
    }
    let left = iterations::open_of_task(sql, &claim.session_id, &claim.task_id)?;
    if left.is_some() {
        abandon(sql, claim, Verdict::Cancelled)?;
    }
    Ok(left)
}

fn abandon(sql: &mut dyn Sql, claim: &Claim, verdict: Verdict) -> Result<()> {
    let (session, task) = (&claim.session_id, &claim.task_id);
    iterations::abandon(sql, session, task, verdict, now_ms())
}

impl Work {
    /// Gives up a turn that was written down and never began.
    pub(in crate::engine) async fn give_up_unbegun(&self, iteration: &str) -> Result<()> {
        end_turn(&self.house, &self.claim, iteration, Verdict::Lost).await
    }
}
