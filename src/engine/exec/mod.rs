//! The tasks of a plan, one file a kind. Each does its one thing and leaves its task by `work`; what follows a failure is not theirs.

mod analysis;
mod material;
mod merge;
mod people;
mod shell;
mod sql;
mod transform;
mod validation;

pub use material::earlier;

use super::delegate;
use super::work::Work;
use crate::model::delegation::{Way, way};
use crate::model::task::TaskKind;
use anyhow::Result;

/// Works on a task of a plan until it is settled.
pub async fn run(work: Work) -> Result<()> {
    // A person may have said already what becomes of it.
    let Some(work) = people::heed(work).await? else {
        return Ok(());
    };
    let asked_for = work.step.as_ref().and_then(|step| step.agent.as_deref());
    match work.task.task_type {
        TaskKind::Agent
            if way(TaskKind::Agent, asked_for, &work.session.agent) == Way::SubAgent =>
        {
            delegate::run(work).await
        }
        TaskKind::Agent => {
            let orders = work.orders().await?;
            Box::pin(super::ralph::run(work, Some(orders))).await
        }
        TaskKind::Analysis => analysis::run(work).await,
        TaskKind::SqlQuery => sql::run(work, false).await,
        TaskKind::SqlAggregate => sql::run(work, true).await,
        TaskKind::Validation => validation::run(work).await,
        TaskKind::Transform => transform::run(work).await,
        TaskKind::Shell => shell::run(work).await,
        TaskKind::Merge => merge::run(work).await,
        TaskKind::Plan => anyhow::bail!("a plan cannot hold the task that makes it"),
    }
}
