//! The loop has stopped: what that means for the task and its session, in one transaction.

use super::Ralph;
use super::standing::reacts;
use crate::engine::work::{Asking, Trouble, first_line, tampering_question};
use crate::model::failure::Reaction;
use crate::model::limit::Limit;
use crate::model::policy::ErrorClass;
use crate::model::promise;
use crate::model::session::{Control, EndReason, SessionStep, Verified};
use crate::model::stop::Stop;
use crate::model::task::TaskStep;
use crate::store::iterations::{self, Iteration};
use crate::store::sessions::{Ending, Tally};
use crate::store::tasks::{self, HandOver, Parking, Settlement};
use anyhow::Result;
use serde_json::json;

impl Ralph {
    pub(super) async fn settle(mut self, stop: Stop) -> Result<()> {
        self.end_running_summary().await?;
        self.clear_away();
        let planned = self.work.step.is_some();
        match stop {
            Stop::Done(verified) => self.complete(verified).await,
            Stop::Cancelled if planned => {
                let nothing = Settlement::default();
                self.work.finish(TaskStep::Cancel, nothing).await
            }
            Stop::Cancelled => {
                let detail = "cancelled while it was running".to_owned();
                self.end(SessionStep::Cancel, EndReason::Cancelled, detail)
                    .await
            }
            Stop::Limit(reason) => {
                let detail = match reason.is_budget() && self.is_limit_above() {
                    true => format!("{reason} of the session it works for is used up"),
                    false => self.work.limit_in_words(reason),
                };
                self.reach_limit(reason, detail).await
            }
            Stop::Spent(reason, detail) => self.reach_limit(reason, detail).await,
            Stop::Failed(detail) => self.give_up(EndReason::AgentFailed, detail).await,
            Stop::Poison(detail) => self.give_up(EndReason::Poison, detail).await,
            Stop::Stagnated => {
                let detail = format!(
                    "{} iterations in a row changed nothing",
                    self.work.mission.stagnation_threshold
                );
                self.give_up(EndReason::Stagnated, detail).await
            }
            Stop::DoomLoop => {
                let detail =
                    "the agent repeated the same tool call, and fresh starts led to the same again"
                        .to_owned();
                self.give_up(EndReason::DoomLoop, detail).await
            }
            Stop::AskAboutTampering(files) => self.work.ask(tampering_question(&files)).await,
            Stop::Ask => {
                let asking = self.agents_question();
                self.work.ask(asking).await
            }
            Stop::Delegate => self.delegate().await,
            Stop::Paused => self.work.park(Parking::Paused).await,
            Stop::Shutdown => self.work.park(Parking::Released).await,
            Stop::HandOver { to, limit } => self.hand_over(to, limit).await,
            Stop::Wait { until_ms, reason } => {
                let at_ms = until_ms;
                self.work.park(Parking::Until { at_ms, reason }).await
            }
        }
    }

    /// A budget that is not its own is used up.
    fn is_limit_above(&self) -> bool {
        !self.above.is_empty() && self.work.used_up().is_none()
    }

    /// The verification was ended on purpose: the turn stays under way in the rows, and whoever claims the task next judges it.
    pub(super) async fn leave_unjudged(mut self) -> Result<()> {
        self.clear_away();
        let parking = match self.work.session.control {
            Some(Control::Pause | Control::PauseNow) => Parking::Paused,
            _ => Parking::Released,
        };
        self.work.park_unjudged(parking).await
    }

    async fn complete(mut self, verified: Verified) -> Result<()> {
        if self.work.step.is_none() {
            match self.work.publish().await? {
                Some(work) => self.work = work,
                None => return Ok(()),
            }
        }
        let answer = self.answer().await?;
        let result = json!({"answer": answer, "verified": verified});
        if self.work.step.is_some() {
            return self.work.complete(result, &answer).await;
        }
        let settlement = Settlement {
            result: Some(result.to_string()),
            summary: Some(first_line(&answer)),
            ..Settlement::default()
        };
        let ending = Ending {
            answer: Some(answer),
            verified: Some(verified),
            tally: Tally::Completed,
            ..Ending::new(SessionStep::Complete, EndReason::Completed, None)
        };
        self.work.end(TaskStep::Complete, settlement, ending).await
    }

    /// A limit is the whole session's, whichever of its tasks comes upon it.
    async fn reach_limit(self, reason: EndReason, detail: String) -> Result<()> {
        match self.work.step.is_some() {
            true => self.work.finish_all(reason, detail).await,
            false => self.end(SessionStep::Fail, reason, detail).await,
        }
    }

    /// The agent cannot do it: in a plan that is for the task's failure policy.
    async fn give_up(self, reason: EndReason, detail: String) -> Result<()> {
        match self.work.step.is_some() {
            true => {
                let for_good = |last: &Iteration| reacts(last, Reaction::Stop);
                let class = match self.attempt().last().is_some_and(for_good) {
                    true => ErrorClass::Permission,
                    false => ErrorClass::Other,
                };
                let trouble = Trouble::new(class, format!("{reason}: {detail}"));
                self.work.setback(trouble).await
            }
            false => self.end(SessionStep::Fail, reason, detail).await,
        }
    }

    async fn end(self, step: SessionStep, reason: EndReason, detail: String) -> Result<()> {
        let answer = Some(self.answer().await?).filter(|answer| !answer.is_empty());
        let settlement = Settlement {
            error_type: Some(reason.as_str().to_owned()),
            error_message: Some(detail.clone()),
            ..Settlement::default()
        };
        let (task, tally) = match step {
            SessionStep::Cancel => (TaskStep::Cancel, Tally::Neither),
            _ => (TaskStep::Fail, Tally::Failed),
        };
        let ending = Ending {
            answer,
            tally,
            ..Ending::new(step, reason, Some(detail))
        };
        self.work.end(task, settlement, ending).await
    }

    /// Another agent goes on. The task goes through the queue once more, where there is room for that agent or not.
    async fn hand_over(self, to: String, limit: Option<Limit>) -> Result<()> {
        let over = HandOver {
            from: self.agent,
            to,
            reason: limit.map(|limit| limit.of(&self.work.session.agent)),
            until_ms: limit.map(|limit| limit.until_ms),
            queued_since_ms: self.work.session.created_at_ms,
        };
        tracing::info!(session = self.work.session.id, to = over.to, "handed over");
        self.work
            .leave(move |sql, claim, at_ms| tasks::hand_over(sql, claim, &over, at_ms))
            .await
    }

    fn agents_question(&self) -> Asking {
        let asked = self.history.last().and_then(|last| last.question.clone());
        let asked = asked.unwrap_or_default();
        let options = asked["options"].as_array().into_iter().flatten();
        Asking {
            question: asked["question"].as_str().unwrap_or_default().to_owned(),
            options: options
                .filter_map(|option| option.as_str().map(str::to_owned))
                .collect(),
            ..Asking::default()
        }
    }

    /// The last words of the agent, without the promise itself.
    async fn answer(&self) -> Result<String> {
        let claim = self.work.claim.clone();
        let said = self
            .work
            .house
            .store
            .read(move |sql| iterations::last_words(sql, &claim))
            .await?;
        Ok(promise::answer_in(
            &said.unwrap_or_default(),
            &self.work.mission.promise,
        ))
    }
}
