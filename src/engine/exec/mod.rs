//! The tasks of a plan, one file a kind. Each does its one thing and leaves its task by `work`; what follows a failure is not theirs.

mod analysis;
mod material;
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
use serde_json::json;

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
            super::ralph::run(work, Some(orders)).await
        }
        TaskKind::Analysis => analysis::run(work).await,
        TaskKind::SqlQuery => sql::run(work, false).await,
        TaskKind::SqlAggregate => sql::run(work, true).await,
        TaskKind::Validation => validation::run(work).await,
        TaskKind::Transform => transform::run(work).await,
        TaskKind::Shell => shell::run(work).await,
        TaskKind::Merge => merge(work).await,
        TaskKind::Plan => anyhow::bail!("a plan cannot hold the task that makes it"),
    }
}

/// All tasks of a session share one workspace, so that what each has done is there for the others already.
async fn merge(work: Work) -> Result<()> {
    let words = "nothing to merge: the tasks share one workspace";
    work.complete(json!({"merged": [], "message": words}), words)
        .await
}
