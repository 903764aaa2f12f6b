//! The ways to leave a claimed task: done, put aside, put to a person, given up, or with the whole session. One transaction each.

use super::Work;
use super::begin::{room_key, seat_key, takes_seat};
use super::leftover::{end_and_charge, give_up_turn};
use crate::clock::{new_id, now_ms};
use crate::model::session::{Control, EndReason, SessionStep};
use crate::model::task::TaskStep;
use crate::store::driver::Sql;
use crate::store::humans::{self, HumanKind, NewQuestion};
use crate::store::plans::{self, CallBack};
use crate::store::sessions::{self, Ending};
use crate::store::tasks::{self, Claim, Parking, Settlement};
use anyhow::Result;
use serde_json::Value as Json;

/// The longest summary of a task's result; the whole is in the row beside it.
const MAX_SUMMARY_CHARS: usize = 200;

/// What is put to a person.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    pub question: String,
    pub options: Vec<String>,
    /// What led to it, and its class.
    pub error: Option<String>,
    pub error_type: Option<String>,
    /// What there is of a result all the same.
    pub result: Option<Json>,
}

impl Work {
    /// A task of a plan is done.
    pub async fn complete(self, result: Json, summary: &str) -> Result<()> {
        let settlement = Settlement {
            result: Some(result.to_string()),
            summary: Some(first_line(summary)),
            ..Settlement::default()
        };
        self.finish(TaskStep::Complete, settlement).await
    }

    /// A task of a plan has ended, in whatever way.
    pub async fn finish(self, step: TaskStep, settlement: Settlement) -> Result<()> {
        self.leave(move |sql, claim, at_ms| plans::finish(sql, claim, step, &settlement, at_ms))
            .await
    }

    /// A task of a plan cannot go on, and with it the whole session comes to its end.
    pub async fn finish_all(self, reason: EndReason, detail: String) -> Result<()> {
        let settlement = failed(reason.as_str(), &detail);
        self.leave(move |sql, claim, at_ms| {
            plans::finish(sql, claim, TaskStep::Fail, &settlement, at_ms)?;
            let call = CallBack::End(reason);
            plans::call_back(sql, &claim.session_id, &call, &detail, at_ms)
        })
        .await
    }

    /// The task is put aside, and not for longer than there is time: that it is out of it is heard then, not when a limit is lifted.
    pub async fn park(self, parking: Parking) -> Result<()> {
        let parking = self.within_time(parking);
        self.leave(move |sql, claim, at_ms| tasks::park(sql, claim, &parking, at_ms))
            .await
    }

    fn within_time(&self, parking: Parking) -> Parking {
        let (Parking::Until { at_ms, reason }, Some((wall, end_ms))) = (&parking, self.time_end())
        else {
            return parking;
        };
        // Who is out of time already, and cannot even be told so yet, is not looked at again and again.
        match (now_ms()..*at_ms).contains(&end_ms) {
            true => Parking::Until {
                at_ms: end_ms,
                reason: format!(
                    "{reason}; its time budget of {wall} is used up before that is over"
                ),
            },
            false => parking,
        }
    }

    /// Told to stop from outside: put aside in the way that was meant.
    pub async fn stop(self) -> Result<()> {
        let id = self.session.id.clone();
        let wish = self
            .house
            .store
            .read(move |sql| sessions::control(sql, &id))
            .await?;
        let parking = match wish {
            Some(Control::Pause | Control::PauseNow) => Parking::Paused,
            _ => Parking::Released,
        };
        self.park(parking).await
    }

    /// The task waits until a person has answered.
    pub async fn ask(self, asking: Asking) -> Result<()> {
        let new = self.as_question(asking);
        self.leave(move |sql, claim, at_ms| humans::ask(sql, claim, &new, at_ms))
            .await
    }

    pub(super) fn as_question(&self, asking: Asking) -> NewQuestion {
        NewQuestion {
            id: new_id(),
            kind: HumanKind::Question,
            question: asking.question,
            options: asking.options,
            error: asking.error,
            error_type: asking.error_type,
            result: asking.result.as_ref().map(Json::to_string),
            expires_at_ms: now_ms() + self.mission.human_timeout_ms,
        }
    }

    /// The session ends with this task: a plain session's, or the one that plans.
    pub async fn end(self, step: TaskStep, settlement: Settlement, ending: Ending) -> Result<()> {
        self.leave(move |sql, claim, at_ms| {
            tasks::settle(sql, claim, step, &settlement, at_ms)?;
            sessions::end(sql, &claim.session_id, &ending, at_ms)
        })
        .await
    }

    /// The session fails with the task that plans it.
    pub async fn fail_session(self, reason: EndReason, detail: String) -> Result<()> {
        let settlement = failed(reason.as_str(), &detail);
        let ending = Ending::new(SessionStep::Fail, reason, Some(detail));
        self.end(TaskStep::Fail, settlement, ending).await
    }

    /// The task is put aside with a turn that has ended and is still to be judged, by whoever claims it next.
    pub(in crate::engine) async fn park_unjudged(self, parking: Parking) -> Result<()> {
        let park =
            move |sql: &mut dyn Sql, claim: &Claim, at_ms| tasks::park(sql, claim, &parking, at_ms);
        self.leave_with(park, |_, _| Ok(None)).await.map(drop)
    }

    /// Leaves the task by `how`, and makes room for one that waits for it.
    pub(in crate::engine) async fn leave(
        self,
        how: impl FnMut(&mut dyn Sql, &Claim, i64) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let house = self.house.clone();
        match self.leave_with(how, give_up_turn).await? {
            Some(turn) => Box::pin(end_and_charge(&house, &turn)).await,
            None => Ok(()),
        }
    }

    async fn leave_with(
        self,
        mut how: impl FnMut(&mut dyn Sql, &Claim, i64) -> Result<()> + Send + 'static,
        leftover: fn(&mut dyn Sql, &Claim) -> Result<Option<String>>,
    ) -> Result<Option<String>> {
        let mut waited_for = Vec::new();
        let parallel = self.mission.is_parallel();
        if takes_seat(&self.session, &self.task, self.step.as_ref(), parallel) {
            waited_for.push(seat_key(&self.session.workspace));
        }
        if self.step.is_some() && self.mission.max_parallel.is_some() {
            waited_for.push(room_key(&self.session.id));
        }
        let claim = self.claim;
        self.house
            .store
            .write(move |sql| {
                how(sql, &claim, now_ms())?;
                let left = leftover(sql, &claim)?;
                for key in &waited_for {
                    tasks::free_one(sql, key)?;
                }
                Ok(left)
            })
            .await
    }
}

/// What is written of a failure.
pub(super) fn failed(error_type: &str, message: &str) -> Settlement {
    Settlement {
        error_type: Some(error_type.to_owned()),
        error_message: Some(message.to_owned()),
        ..Settlement::default()
    }
}

/// The first line that says something, cut.
pub fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default()
        .chars()
        .take(MAX_SUMMARY_CHARS)
        .collect()
}
