//! The end of a task whose work broke down: an error that is neither the agent's nor the database's, never in silence.

use super::work::make_room;
use crate::clock::now_ms;
use crate::model::iteration::Verdict;
use crate::model::session::{EndReason, SessionStep};
use crate::model::task::{TaskKind, TaskState, TaskStep};
use crate::store::driver::Sql;
use crate::store::iterations;
use crate::store::plans::{self, CallBack};
use crate::store::sessions::{self, Ending, Tally};
use crate::store::tasks::{self, Claim, Settlement};
use anyhow::Result;

/// Fails a claimed task, and its session with it.
pub fn fail(sql: &mut dyn Sql, claim: &Claim, reason: EndReason, detail: &str) -> Result<()> {
    let settlement = Settlement {
        error_type: Some(reason.as_str().to_owned()),
        error_message: Some(detail.to_owned()),
        ..Settlement::default()
    };
    tasks::settle(sql, claim, TaskStep::Fail, &settlement, now_ms())?;
    end_session(sql, claim, (reason, Verdict::Cancelled), detail)
}

/// The session of a task that was taken from its claimant and failed, because it keeps killing those who work on it.
pub fn poisoned(sql: &mut dyn Sql, claim: &Claim, detail: &str) -> Result<()> {
    end_session(sql, claim, (EndReason::Poison, Verdict::Lost), detail)
}

fn end_session(
    sql: &mut dyn Sql,
    claim: &Claim,
    (reason, verdict): (EndReason, Verdict),
    detail: &str,
) -> Result<()> {
    let (session, at_ms) = (&claim.session_id, now_ms());
    iterations::abandon(sql, session, &claim.task_id, verdict, at_ms)?;
    make_room(sql, session)?;
    let failed = tasks::expect(sql, &claim.task_id)?;
    if failed.step.is_some() {
        // Others of its session may be at work: they come to their end first.
        plans::follow(sql, (session, &claim.task_id), TaskState::Failed, at_ms)?;
        return plans::call_back(sql, session, &CallBack::End(reason), detail, at_ms);
    }
    let tally = match failed.task.task_type {
        TaskKind::Plan => Tally::Neither,
        _ => Tally::Failed,
    };
    let ending = Ending {
        tally,
        ..Ending::new(SessionStep::Fail, reason, Some(detail.to_owned()))
    };
    sessions::end(sql, session, &ending, at_ms)
}
