//! The life of a task: its states and steps, and the kinds of work a task can be.
//! Pure: the store applies these steps, the queue and the engine choose them.

use super::session::InvalidStep;
use super::words::words;

words! {
    /// Where a task stands.
    pub enum TaskState {
        Pending => "pending",
        WaitingDependency => "waiting_dependency",
        Running => "running",
        Retrying => "retrying",
        Completed => "completed",
        Failed => "failed",
        Skipped => "skipped",
        HumanRequired => "human_required",
        Blocked => "blocked",
        Cancelled => "cancelled",
    }
}

words! {
    /// What can happen to a task.
    pub enum TaskStep {
        Ready => "ready",
        Claim => "claim",
        Park => "park",
        Wait => "wait",
        Rescue => "rescue",
        Retry => "retry",
        Ask => "ask",
        Answer => "answer",
        Complete => "complete",
        Fail => "fail",
        Skip => "skip",
        Block => "block",
        Cancel => "cancel",
    }
}

words! {
    /// What runs a task.
    pub enum TaskKind {
        Agent => "agent",
        Analysis => "analysis",
        SqlQuery => "sql_query",
        SqlAggregate => "sql_aggregate",
        Validation => "validation",
        Transform => "transform",
        Shell => "shell",
        Merge => "merge",
        /// The session's own: it plans the others, waits for them and sums up. No plan can hold one.
        Plan => "plan",
    }
}

impl TaskKind {
    /// Whether a plan may hold a task of this kind.
    pub fn may_be_planned(self) -> bool {
        self != TaskKind::Plan
    }
}

use TaskState as T;
use TaskStep as Step;

/// Every allowed transition.
pub const TABLE: &[(TaskState, TaskStep, TaskState)] = &[
    (T::Pending, Step::Claim, T::Running),
    (T::Pending, Step::Skip, T::Skipped),
    (T::Pending, Step::Fail, T::Failed),
    (T::Pending, Step::Block, T::Blocked),
    (T::Pending, Step::Cancel, T::Cancelled),
    (T::WaitingDependency, Step::Ready, T::Pending),
    (T::WaitingDependency, Step::Skip, T::Skipped),
    (T::WaitingDependency, Step::Block, T::Blocked),
    (T::WaitingDependency, Step::Cancel, T::Cancelled),
    (T::Running, Step::Park, T::Pending),
    (T::Running, Step::Rescue, T::Pending),
    // For other tasks, or for the session of a sub-agent.
    (T::Running, Step::Wait, T::WaitingDependency),
    (T::Running, Step::Retry, T::Retrying),
    (T::Running, Step::Ask, T::HumanRequired),
    (T::Running, Step::Complete, T::Completed),
    (T::Running, Step::Fail, T::Failed),
    (T::Running, Step::Skip, T::Skipped),
    (T::Running, Step::Cancel, T::Cancelled),
    (T::Retrying, Step::Ready, T::Pending),
    (T::Retrying, Step::Fail, T::Failed),
    (T::Retrying, Step::Cancel, T::Cancelled),
    (T::HumanRequired, Step::Answer, T::Pending),
    (T::HumanRequired, Step::Complete, T::Completed),
    (T::HumanRequired, Step::Fail, T::Failed),
    (T::HumanRequired, Step::Skip, T::Skipped),
    (T::HumanRequired, Step::Cancel, T::Cancelled),
    (T::Blocked, Step::Ready, T::Pending),
    (T::Blocked, Step::Skip, T::Skipped),
    (T::Blocked, Step::Cancel, T::Cancelled),
];

impl TaskState {
    /// No transition leads out of it.
    pub fn is_terminal(self) -> bool {
        matches!(self, T::Completed | T::Failed | T::Skipped | T::Cancelled)
    }

    /// The state after `step`.
    pub fn after(self, step: TaskStep) -> Result<TaskState, InvalidStep> {
        TABLE
            .iter()
            .find(|(from, by, _)| (*from, *by) == (self, step))
            .map(|(_, _, to)| *to)
            .ok_or(InvalidStep {
                from: self.as_str(),
                step: step.as_str(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_one_end_and_terminal_states_have_none() {
        for (from, step, _) in TABLE {
            let ends = TABLE
                .iter()
                .filter(|(f, s, _)| (f, s) == (from, step))
                .count();
            assert_eq!(ends, 1, "{from} {step}");
            assert!(!from.is_terminal());
        }
    }

    #[test]
    fn every_open_state_can_be_cancelled() {
        for state in TaskState::ALL.iter().filter(|state| !state.is_terminal()) {
            assert_eq!(state.after(Step::Cancel), Ok(T::Cancelled));
        }
    }
}
