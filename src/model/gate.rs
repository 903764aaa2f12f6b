//! Gates: before which tasks a person is asked, and what each turn of a gate means for its task and its session.
//! Pure: the store applies the steps. It must not know how a person is reached.

use super::session::{InvalidStep, SessionStep};
use super::task::TaskStep;
use super::words::words;

/// Up to this autonomy every step is gated.
const EVERY_STEP_UP_TO: u8 = 2;
/// Up to this one critical steps are.
const CRITICAL_STEPS_UP_TO: u8 = 3;

words! {
    /// Where a gate stands.
    pub enum GateState {
        Waiting => "waiting",
        Approved => "approved",
        Rejected => "rejected",
        Expired => "expired",
    }
}

words! {
    /// What can happen at a gate.
    pub enum GateStep {
        Approve => "approve",
        Reject => "reject",
        Expire => "expire",
        /// The session that a rejection paused goes on: the gate is shut again and asks anew.
        Reopen => "reopen",
    }
}

/// What happens to a task and its session; nothing where they stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequence {
    pub task: Option<TaskStep>,
    pub session: Option<SessionStep>,
}

/// Whether a task waits for a person before it runs. An approved one does not wait again.
pub const fn is_gated(autonomy: u8, critical: bool, approved: bool) -> bool {
    let wanted = autonomy <= EVERY_STEP_UP_TO || (critical && autonomy <= CRITICAL_STEPS_UP_TO);
    wanted && !approved
}

/// What a person's answer at a gate means, where it is a plain yes or no.
pub fn word(answer: &str) -> Option<GateStep> {
    match answer.trim().to_lowercase().as_str() {
        "approve" | "approved" | "yes" | "y" | "ok" => Some(GateStep::Approve),
        "reject" | "rejected" | "no" | "n" => Some(GateStep::Reject),
        _ => None,
    }
}

/// A claimed task has reached its gate: it is put aside before anything of it runs. `others_waiting` is whether the
/// session waits for a person already.
pub const fn suspend(others_waiting: bool) -> Consequence {
    Consequence {
        task: Some(TaskStep::Ask),
        session: if others_waiting {
            None
        } else {
            Some(SessionStep::Ask)
        },
    }
}

impl GateState {
    /// The gate after `step`.
    pub fn after(self, step: GateStep) -> Result<GateState, InvalidStep> {
        match (self, step) {
            (Self::Waiting, GateStep::Approve) => Ok(Self::Approved),
            (Self::Waiting, GateStep::Reject) => Ok(Self::Rejected),
            (Self::Waiting, GateStep::Expire) => Ok(Self::Expired),
            (Self::Rejected, GateStep::Reopen) => Ok(Self::Waiting),
            (from, step) => Err(InvalidStep {
                from: from.as_str(),
                step: step.as_str(),
            }),
        }
    }
}

impl GateStep {
    /// What follows from this step. `others_waiting` is whether the session waits for a person at another place too.
    pub const fn consequence(self, others_waiting: bool) -> Consequence {
        match self {
            Self::Approve => Consequence {
                task: Some(TaskStep::Answer),
                session: if others_waiting {
                    None
                } else {
                    Some(SessionStep::Answer)
                },
            },
            // The task stays at its gate: a rejection is a word to the whole session, not the end of the task.
            Self::Reject => Consequence {
                task: None,
                session: Some(SessionStep::Pause),
            },
            Self::Expire => Consequence {
                task: Some(TaskStep::Fail),
                session: Some(SessionStep::Fail),
            },
            // Back in the queue; its claimant finds it gated and asks anew.
            Self::Reopen => Consequence {
                task: Some(TaskStep::Answer),
                session: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::SessionState;
    use crate::model::task::TaskState;
    use proptest::prelude::*;

    #[test]
    fn gates_turn_once() {
        for &state in GateState::ALL {
            for &step in GateStep::ALL {
                let allowed = match state {
                    GateState::Waiting => step != GateStep::Reopen,
                    GateState::Rejected => step == GateStep::Reopen,
                    GateState::Approved | GateState::Expired => false,
                };
                assert_eq!(state.after(step).is_ok(), allowed, "{state} {step}");
            }
        }
    }

    /// What is decided here is allowed by the tables of tasks and sessions, and leads where a person expects.
    #[test]
    fn consequences_are_legal_steps() {
        let at_gate = TaskState::Running
            .after(suspend(false).task.unwrap())
            .unwrap();
        let waiting = SessionState::Executing
            .after(suspend(false).session.unwrap(), None)
            .unwrap();
        let came_from = SessionState::Executing.remembers(waiting, None);
        assert_eq!(
            (at_gate, waiting),
            (TaskState::HumanRequired, SessionState::AwaitingHuman)
        );
        for (step, task, session) in [
            (
                GateStep::Approve,
                TaskState::Pending,
                SessionState::Executing,
            ),
            (
                GateStep::Reject,
                TaskState::HumanRequired,
                SessionState::Paused,
            ),
            (GateStep::Expire, TaskState::Failed, SessionState::Failed),
            (
                GateStep::Reopen,
                TaskState::Pending,
                SessionState::AwaitingHuman,
            ),
        ] {
            let follows = step.consequence(false);
            let task_after = follows.task.map_or(Ok(at_gate), |step| at_gate.after(step));
            assert_eq!(task_after, Ok(task), "{step}");
            let session_after = follows
                .session
                .map_or(Ok(waiting), |step| waiting.after(step, came_from));
            assert_eq!(session_after, Ok(session), "{step}");
        }
        assert_eq!(suspend(true).session, None);
        assert_eq!(GateStep::Approve.consequence(true).session, None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        // Feature: agent-harnesses, Property 10: Autonomy-level gate placement
        #[test]
        fn property_10_gates_by_autonomy(autonomy in 1..=5u8, tasks in proptest::collection::vec(any::<bool>(), 0..40)) {
            let gated: Vec<bool> = tasks.iter().map(|&critical| is_gated(autonomy, critical, false)).collect();
            let expected = match autonomy {
                1 | 2 => vec![true; tasks.len()],
                3 => tasks.clone(),
                _ => vec![false; tasks.len()],
            };
            prop_assert_eq!(gated, expected);
            prop_assert!(tasks.iter().all(|&critical| !is_gated(autonomy, critical, true)), "approved once is enough");
        }
    }
}
