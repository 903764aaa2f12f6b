//! The session's own task in a planned session: it reads the datasets, has the work planned, waits while others do it, and turns what they
//! came to into the answer. Everything it knows it reads from rows, so that one daemon plans and another sums up.

mod answer;
mod plan;
mod verify;

use super::work::Work;
use crate::clock::now_ms;
use crate::model::event::EventType;
use crate::model::session::{EndReason, SessionState, SessionStep};
use crate::model::task::{TaskState, TaskStep};
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::plans::{self, CallBack, Piece};
use crate::store::sessions::{self, Ending};
use crate::store::tasks::Settlement;
use anyhow::Result;
use serde_json::json;

/// Conducts a session from where it stands until there is something to wait for.
pub async fn run(mut work: Work) -> Result<()> {
    loop {
        let went_on = match work.session.status {
            SessionState::Discovering => discover(work).await?,
            SessionState::Planning => return plan::run(work).await,
            SessionState::Executing => take_stock(work).await?,
            SessionState::Summarizing => return answer::run(work).await,
            other => anyhow::bail!("a session cannot be conducted while {other}"),
        };
        let Some(next) = went_on else {
            return Ok(());
        };
        work = next;
    }
}

/// Looks at what there is to be asked.
async fn discover(mut work: Work) -> Result<Option<Work>> {
    work.remember_protected().await?;
    let facts = match work.datasets().await? {
        Ok(None) => None,
        Ok(Some(datasets)) => {
            let tables = datasets.schema().tables.iter();
            let names: Vec<_> = tables.map(|table| table.name.clone()).collect();
            Some(json!({"tables": names, "reused": datasets.reused()}))
        }
        Err(trouble) => {
            let detail = format!("the datasets cannot be read: {trouble}");
            work.fail_session(EndReason::TaskFailed, detail).await?;
            return Ok(None);
        }
    };
    work.take_step(
        SessionStep::Plan,
        facts.map(|facts| (EventType::DatasetsRead, facts)),
    )
    .await
    .map(Some)
}

/// All tasks are over, or this one was called back before.
async fn take_stock(work: Work) -> Result<Option<Work>> {
    let (session, task) = (work.session.id.clone(), work.task.id.clone());
    let (call, pieces) = work
        .house
        .store
        .read(move |sql| {
            Ok((
                plans::called_back(sql, &task)?,
                plans::pieces(sql, &session)?,
            ))
        })
        .await?;
    match call {
        Some((CallBack::Replan, _)) => work.take_step(SessionStep::Plan, None).await.map(Some),
        Some((CallBack::End(reason), why)) => {
            fail(work, reason, why, &pieces).await?;
            Ok(None)
        }
        None => match why_incomplete(&pieces, work.first_order()) {
            Some(why) => {
                fail(work, EndReason::TaskFailed, why, &pieces).await?;
                Ok(None)
            }
            None => complete(work, &pieces).await,
        },
    }
}

async fn complete(work: Work, pieces: &[Piece]) -> Result<Option<Work>> {
    let Some(work) = verify::run(work, pieces).await? else {
        return Ok(None);
    };
    let facts = json!({"tasks": pieces.len()});
    work.take_step(
        SessionStep::Summarize,
        Some((EventType::PlanCompleted, facts)),
    )
    .await
    .map(Some)
}

/// The session fails, with what it came to so far as its answer.
async fn fail(work: Work, reason: EndReason, why: String, pieces: &[Piece]) -> Result<()> {
    let settlement = Settlement {
        error_type: Some(reason.as_str().to_owned()),
        error_message: Some(why.clone()),
        ..Settlement::default()
    };
    let ending = Ending {
        answer: answer::digest(pieces),
        ..Ending::new(SessionStep::Fail, reason, Some(why))
    };
    work.end(TaskStep::Fail, settlement, ending).await
}

/// Which tasks kept the plan from being completed. Those before the present plan were replaced by it.
fn why_incomplete(pieces: &[Piece], first_order: u64) -> Option<String> {
    let of = |state: TaskState| {
        let present = pieces
            .iter()
            .filter(move |piece| u64::from(piece.order) >= first_order);
        present.filter(move |piece| piece.status == state)
    };
    let mut words: Vec<String> = of(TaskState::Failed).map(in_words).collect();
    match of(TaskState::Blocked).count() {
        0 => {}
        count => words.push(format!("{count} that depend on it were not run")),
    }
    let completed = |piece: &Piece| piece.status == TaskState::Completed;
    if words.is_empty() && !pieces.iter().any(completed) {
        words.push("every task of the plan was skipped".to_owned());
    }
    (!words.is_empty()).then(|| words.join("; "))
}

fn in_words(piece: &Piece) -> String {
    let error = piece.error.as_deref().unwrap_or("no reason was told");
    let first = error.lines().next().unwrap_or_default();
    format!(
        "task {} ({}) failed: {first}",
        piece.order, piece.description
    )
}

impl Work {
    /// The first task of the present plan.
    fn first_order(&self) -> u64 {
        let plan = self.session.plan.as_ref();
        plan.and_then(|plan| plan["first_order"].as_u64())
            .unwrap_or(0)
    }

    /// Takes a step of the session and tells what led to it; the work goes on from there.
    async fn take_step(
        mut self,
        step: SessionStep,
        told: Option<(EventType, serde_json::Value)>,
    ) -> Result<Work> {
        let (claim, lease) = (self.claim.clone(), self.house.lease_until_ms());
        let stepped = move |sql: &mut dyn Sql| {
            let at_ms = now_ms();
            if !crate::store::tasks::renew(sql, &claim, lease)? {
                anyhow::bail!(crate::store::tasks::ClaimLost(claim.task_id.clone()));
            }
            if let Some((kind, facts)) = &told {
                let about = About::session(&claim.session_id);
                events::add(sql, about, *kind, at_ms, facts)?;
            }
            sessions::step(sql, &claim.session_id, step, at_ms)?;
            sessions::expect(sql, &claim.session_id)
        };
        self.session = self.house.store.write(stepped).await?;
        Ok(self)
    }
}
