//! What a person answered to the failure of a task, before it is tried again.

use crate::engine::work::{Trouble, Work};
use crate::model::policy::{ErrorClass, OnFailure};
use crate::model::session::EndReason;
use crate::model::task::{TaskKind, TaskStep};
use crate::store::humans::{self, HumanKind, HumanRequest, HumanStatus};
use crate::store::tasks::Settlement;
use anyhow::Result;
use serde_json::json;

/// Does what a person chose; the task comes back where it is to be tried again.
pub async fn heed(work: Work) -> Result<Option<Work>> {
    let (Some(class), Some(message)) = (&work.task.error_type, &work.task.error_message) else {
        return Ok(Some(work));
    };
    let trouble = Trouble::new(class.parse().unwrap_or(ErrorClass::Other), message.clone());
    let (session, task) = (work.session.id.clone(), work.task.id.clone());
    let asked = work
        .house
        .store
        .read(move |sql| humans::of_task(sql, &session, &task))
        .await?;
    let last = asked
        .into_iter()
        .rfind(|asked| asked.kind == HumanKind::Question && asked.status == HumanStatus::Answered);
    match last {
        // The failure came after the answer.
        Some(last) if last.error.as_deref() != Some(&trouble.message) => Ok(Some(work)),
        Some(last) => act(work, trouble, last).await,
        None => Ok(Some(work)),
    }
}

async fn act(work: Work, trouble: Trouble, asked: HumanRequest) -> Result<Option<Work>> {
    let answer = asked.answer.unwrap_or_default();
    if work.task.task_type == TaskKind::Analysis && trouble.class == ErrorClass::Ambiguous {
        let result = json!({
            "decision": answer, "reasoning": "a person chose it", "confidence": "high", "human_decision": answer,
        });
        work.complete(result, &answer).await?;
        return Ok(None);
    }
    let critical = work.step.as_ref().is_some_and(|step| step.critical);
    match answer.trim().to_lowercase().parse() {
        Ok(OnFailure::Skip) if !critical => {
            let settlement = Settlement {
                error_type: Some(trouble.class.as_str().to_owned()),
                error_message: Some(trouble.message),
                ..Settlement::default()
            };
            work.finish(TaskStep::Skip, settlement).await?;
        }
        Ok(OnFailure::Stop) => {
            let detail = format!("a person stopped it after: {}", trouble.message);
            work.finish_all(EndReason::TaskFailed, detail).await?;
        }
        Ok(OnFailure::Replan) => work.replan(trouble).await?,
        // Words of their own reach whoever tries again by the answers in the prompt.
        _ => return Ok(Some(work)),
    }
    Ok(None)
}
