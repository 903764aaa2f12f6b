//! The request's `verify` over a whole plan: run when every task is done and before anything is called completed. What it refutes is planned
//! anew, as long as that is allowed.

use crate::engine::command_turn;
use crate::engine::work::{Command, CommandEnd, Work, accepts, tampering_question};
use crate::files;
use crate::model::policy::MAX_REPLANS;
use crate::model::session::{EndReason, Verified};
use crate::process;
use crate::store::humans::{self, HumanRequest, HumanStatus};
use crate::store::plans::{self, CallBack, Piece};
use crate::store::sessions;
use crate::store::tasks::Parking;
use anyhow::Result;

/// Checks the work where a check was asked for; the work comes back when it holds.
pub(super) async fn run(work: Work, pieces: &[Piece]) -> Result<Option<Work>> {
    let Some(text) = work.mission.verify.clone() else {
        return work.note(Verified::Claimed).await.map(Some);
    };
    let logs = work.house.log_directory(&work.session.id);
    files::make_private_directory(&logs)?;
    let tries = work.task.retry_count + 1;
    let turn = command_turn(&work.task.id, tries);
    let end = work
        .run_command(Command {
            turn: turn.clone(),
            text: &text,
            log: logs.join(format!("T000.verify.{tries:02}.log")),
            stdin: None,
            time: work.house.config.defaults.verify_timeout.into(),
            environment: Vec::new(),
        })
        .await?;
    let passed = end.passed();
    let CommandEnd::Ended { tail, .. } = end else {
        work.stop().await?;
        return Ok(None);
    };
    process::forget(&work.house.turn_record(&turn))?;
    if passed {
        return believe(work, pieces).await;
    }
    let why = format!("the verification `{text}` failed although every task was done:\n{tail}");
    again(work, why, pieces).await?;
    Ok(None)
}

/// A passed check is believed as it is, unless what it stands on was changed: that may be for a person to accept.
async fn believe(work: Work, pieces: &[Piece]) -> Result<Option<Work>> {
    let tampered = work.tampered()?;
    if tampered.is_empty() {
        return work.note(Verified::Verified).await.map(Some);
    }
    if !work.mission.tampering_needs_a_person {
        return work.note(Verified::Tampered).await.map(Some);
    }
    match work.last_answer().await? {
        None => work.ask(tampering_question(&tampered)).await?,
        Some(answer) if accepts(&answer) => {
            return work.note(Verified::Tampered).await.map(Some);
        }
        Some(answer) => {
            let files = tampered.join(", ");
            let why = format!("protected files were changed: {files}; a person said: {answer}");
            again(work, why, pieces).await?;
        }
    }
    Ok(None)
}

/// What is refuted is planned anew, as long as that is allowed.
async fn again(work: Work, why: String, pieces: &[Piece]) -> Result<()> {
    match work.task.retry_count < i64::from(MAX_REPLANS) {
        true => work.plan_again(why).await,
        false => super::fail(work, EndReason::TaskFailed, why, pieces).await,
    }
}

impl Work {
    /// What a person said last to this task, since the session was planned as it is.
    async fn last_answer(&self) -> Result<Option<String>> {
        let (session, task) = (self.session.id.clone(), self.task.id.clone());
        let asked = self
            .house
            .store
            .read(move |sql| humans::of_task(sql, &session, &task))
            .await?;
        let plan = self.session.plan.as_ref();
        let planned_at_ms = plan.and_then(|plan| plan["planned_at_ms"].as_i64());
        let answered = |asked: &HumanRequest| {
            asked.status == HumanStatus::Answered && Some(asked.asked_at_ms) >= planned_at_ms
        };
        Ok(asked
            .into_iter()
            .rfind(answered)
            .and_then(|asked| asked.answer))
    }

    /// Remembers it until the session ends.
    async fn note(mut self, verified: Verified) -> Result<Work> {
        let id = self.session.id.clone();
        self.session = self
            .house
            .store
            .write(move |sql| {
                sessions::set_verified(sql, &id, verified)?;
                sessions::expect(sql, &id)
            })
            .await?;
        Ok(self)
    }

    async fn plan_again(self, why: String) -> Result<()> {
        self.leave(move |sql, claim, at_ms| {
            plans::call_back(sql, &claim.session_id, &CallBack::Replan, &why, at_ms)?;
            crate::store::tasks::park(sql, claim, &Parking::Released, at_ms)
        })
        .await
    }
}
