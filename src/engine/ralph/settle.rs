//! The loop has stopped: what that means for the task and its session, in one transaction.

use super::Ralph;
use super::standing::ACCEPT;
use crate::clock::{new_id, now_ms};
use crate::model::limit::Limit;
use crate::model::session::{Control, EndReason, SessionStep, Verified};
use crate::model::stop::Stop;
use crate::model::task::TaskStep;
use crate::store::humans::{self, HumanKind, NewQuestion};
use crate::store::iterations;
use crate::store::sessions::{self, Ending, Tally};
use crate::store::tasks::{self, Claim, HandOver, Parking, Settlement};
use anyhow::Result;
use serde_json::{Value as Json, json};

/// The longest summary of a task's result; the whole answer is in the session.
const MAX_SUMMARY_CHARS: usize = 200;

impl Ralph {
    pub(super) async fn settle(mut self, stop: Stop) -> Result<()> {
        self.end_running_summary().await?;
        self.clear_away();
        match stop {
            Stop::Done(verified) => self.complete(verified).await,
            Stop::Cancelled => {
                let detail = "cancelled while it was running".to_owned();
                self.end(
                    TaskStep::Cancel,
                    SessionStep::Cancel,
                    EndReason::Cancelled,
                    detail,
                )
                .await
            }
            Stop::Limit(reason) => {
                let detail = self.limit_in_words(reason);
                self.end(TaskStep::Fail, SessionStep::Fail, reason, detail)
                    .await
            }
            Stop::Spent(reason, detail) => {
                self.end(TaskStep::Fail, SessionStep::Fail, reason, detail)
                    .await
            }
            Stop::Failed(detail) => {
                self.end(
                    TaskStep::Fail,
                    SessionStep::Fail,
                    EndReason::AgentFailed,
                    detail,
                )
                .await
            }
            Stop::Poison(detail) => {
                self.end(TaskStep::Fail, SessionStep::Fail, EndReason::Poison, detail)
                    .await
            }
            Stop::Stagnated => {
                let detail = format!(
                    "{} iterations in a row changed nothing",
                    self.mission.stagnation_threshold
                );
                self.end(
                    TaskStep::Fail,
                    SessionStep::Fail,
                    EndReason::Stagnated,
                    detail,
                )
                .await
            }
            Stop::DoomLoop => {
                let detail =
                    "the agent repeated the same tool call, and fresh starts led to the same again"
                        .to_owned();
                self.end(
                    TaskStep::Fail,
                    SessionStep::Fail,
                    EndReason::DoomLoop,
                    detail,
                )
                .await
            }
            Stop::AskAboutTampering(files) => self.ask(tampering_question(&files)).await,
            Stop::Ask => {
                let question = self.agents_question();
                self.ask(question).await
            }
            Stop::Paused => self.park(Parking::Paused).await,
            Stop::Shutdown => self.park(Parking::Released).await,
            Stop::HandOver { to, limit } => self.hand_over(to, limit).await,
            Stop::Wait { until_ms, reason } => {
                self.park(Parking::Until {
                    at_ms: until_ms,
                    reason,
                })
                .await
            }
        }
    }

    /// The verification was ended on purpose: the turn stays under way in the rows, and whoever claims the task next judges it.
    pub(super) async fn leave_unjudged(self) -> Result<()> {
        let paused = matches!(
            self.session.control,
            Some(Control::Pause | Control::PauseNow)
        );
        self.settle(if paused { Stop::Paused } else { Stop::Shutdown })
            .await
    }

    async fn complete(self, verified: Verified) -> Result<()> {
        let answer = self.answer().await?;
        let summary = answer
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        let settlement = Settlement {
            result: Some(json!({"answer": answer, "verified": verified}).to_string()),
            summary: Some(summary.chars().take(MAX_SUMMARY_CHARS).collect()),
            ..Settlement::default()
        };
        let ending = Ending {
            answer: Some(answer),
            verified: Some(verified),
            tally: Tally::Completed,
            ..Ending::new(SessionStep::Complete, EndReason::Completed, None)
        };
        let claim = self.claim;
        self.house
            .store
            .write(move |sql| {
                let at_ms = now_ms();
                tasks::settle(sql, &claim, TaskStep::Complete, &settlement, at_ms)?;
                sessions::end(sql, &claim.session_id, &ending, at_ms)
            })
            .await
    }

    async fn end(
        self,
        task: TaskStep,
        step: SessionStep,
        reason: EndReason,
        detail: String,
    ) -> Result<()> {
        let answer = Some(self.answer().await?).filter(|answer| !answer.is_empty());
        let settlement = Settlement {
            error_type: Some(reason.as_str().to_owned()),
            error_message: Some(detail.clone()),
            ..Settlement::default()
        };
        let ending = Ending {
            answer,
            tally: match task {
                TaskStep::Cancel => Tally::Neither,
                _ => Tally::Failed,
            },
            ..Ending::new(step, reason, Some(detail))
        };
        let claim = self.claim;
        self.house
            .store
            .write(move |sql| end_unfinished(sql, &claim, task, &settlement, &ending))
            .await
    }

    async fn ask(self, asked: Json) -> Result<()> {
        let options = asked
            .get("options")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        let new = NewQuestion {
            id: new_id(),
            kind: HumanKind::Question,
            question: asked
                .get("question")
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned(),
            options: options
                .filter_map(|option| option.as_str().map(str::to_owned))
                .collect(),
            error: None,
            expires_at_ms: now_ms() + self.mission.human_timeout_ms,
        };
        let claim = self.claim;
        self.house
            .store
            .write(move |sql| humans::ask(sql, &claim, &new, now_ms()))
            .await
    }

    async fn park(self, parking: Parking) -> Result<()> {
        let claim = self.claim;
        self.house
            .store
            .write(move |sql| tasks::park(sql, &claim, &parking, now_ms()))
            .await
    }

    /// Another agent goes on. The task goes through the queue once more, where there is room for that agent or not.
    async fn hand_over(self, to: String, limit: Option<Limit>) -> Result<()> {
        let over = HandOver {
            from: self.agent,
            to,
            reason: limit.map(|limit| limit.of(&self.session.agent)),
            until_ms: limit.map(|limit| limit.until_ms),
            queued_since_ms: self.session.created_at_ms,
        };
        tracing::info!(session = self.session.id, to = over.to, "handed over");
        let claim = self.claim;
        self.house
            .store
            .write(move |sql| tasks::hand_over(sql, &claim, &over, now_ms()))
            .await
    }

    fn agents_question(&self) -> Json {
        self.history
            .last()
            .and_then(|last| last.question.clone())
            .unwrap_or_else(|| json!({}))
    }

    /// The last words of the agent, without the promise itself.
    async fn answer(&self) -> Result<String> {
        let id = self.session.id.clone();
        let said = self
            .house
            .store
            .read(move |sql| iterations::last_words(sql, &id))
            .await?;
        Ok(without_promise(
            &said.unwrap_or_default(),
            &self.mission.promise,
        ))
    }

    fn limit_in_words(&self, reason: EndReason) -> String {
        let session = &self.session;
        match reason {
            EndReason::MaxIterations => format!(
                "the limit of {} iterations was reached",
                session.max_iterations
            ),
            EndReason::BudgetWall => match self.mission.budget.wall {
                Some(wall) => format!("the time budget of {wall} is used up"),
                None => "the time budget is used up".to_owned(),
            },
            EndReason::BudgetUsd => {
                let limit = self.mission.budget.usd.unwrap_or_default();
                format!(
                    "the budget of {limit:.2} USD is used up: {:.2} USD spent",
                    session.cost_usd
                )
            }
            other => format!("the limit {other} was reached"),
        }
    }
}

/// Settles a claimed task that did not complete, and its session with it.
pub fn end_unfinished(
    sql: &mut dyn crate::store::driver::Sql,
    claim: &Claim,
    task: TaskStep,
    settlement: &Settlement,
    ending: &Ending,
) -> Result<()> {
    let at_ms = now_ms();
    tasks::settle(sql, claim, task, settlement, at_ms)?;
    sessions::end(sql, &claim.session_id, ending, at_ms)
}

/// A text without a last line that only keeps the promise; a text that is nothing else stays.
fn without_promise(text: &str, promise: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let kept = match lines.split_last() {
        Some((last, before))
            if last.contains(promise) && before.iter().any(|line| !line.trim().is_empty()) =>
        {
            before
        }
        _ => &lines[..],
    };
    kept.join("\n").trim().to_owned()
}

fn tampering_question(files: &[String]) -> Json {
    let question = format!(
        "The work passes its verification, but the agent changed protected files: {}. Answer '{ACCEPT}' to accept it all the same; anything else is told to the agent, who goes on.",
        files.join(", ")
    );
    json!({"question": question, "options": [ACCEPT, "restore the protected files"]})
}

#[cfg(test)]
mod tests {
    use super::without_promise;

    #[test]
    fn the_promise_is_no_part_of_the_answer() {
        for (text, answer) in [
            ("All done.\n\nTASK_COMPLETE\n", "All done."),
            ("All done.\n<promise>TASK_COMPLETE</promise>", "All done."),
            ("TASK_COMPLETE", "TASK_COMPLETE"),
            ("TASK_COMPLETE\nThat was it.", "TASK_COMPLETE\nThat was it."),
            ("", ""),
        ] {
            assert_eq!(without_promise(text, "TASK_COMPLETE"), answer);
        }
    }
}
