//! The life of a session: its states, the steps between them, and the words for where it came from and how it ended.
//! Pure: it decides what may follow what, and never touches the database.

use super::words::words;

words! {
    /// Where a session stands.
    pub enum SessionState {
        Created => "created",
        Discovering => "discovering",
        Planning => "planning",
        Executing => "executing",
        Summarizing => "summarizing",
        AwaitingHuman => "awaiting_human",
        Paused => "paused",
        Completed => "completed",
        Failed => "failed",
        Cancelled => "cancelled",
    }
}

words! {
    /// What can happen to a session.
    pub enum SessionStep {
        Discover => "discover",
        Plan => "plan",
        Execute => "execute",
        Summarize => "summarize",
        Ask => "ask",
        Answer => "answer",
        Pause => "pause",
        Resume => "resume",
        Complete => "complete",
        Fail => "fail",
        Cancel => "cancel",
    }
}

words! {
    /// What brought a session into being.
    pub enum Trigger {
        Inbox => "inbox",
        Cron => "cron",
        Webhook => "webhook",
        Api => "api",
        Cli => "cli",
        SubAgent => "sub_agent",
    }
}

words! {
    /// Why a session ended.
    pub enum EndReason {
        Completed => "completed",
        MaxIterations => "max_iterations",
        BudgetUsd => "budget_usd",
        BudgetTokens => "budget_tokens",
        BudgetWall => "budget_wall",
        BudgetToolCalls => "budget_tool_calls",
        Stagnated => "stagnated",
        DoomLoop => "doom_loop",
        AgentFailed => "agent_failed",
        PlanInvalid => "plan_invalid",
        TaskFailed => "task_failed",
        Poison => "poison",
        HumanTimeout => "human_timeout",
        HumanRejected => "human_rejected",
        Cancelled => "cancelled",
    }
}

impl EndReason {
    /// What a session may spend is used up.
    pub fn is_budget(self) -> bool {
        use EndReason::*;
        matches!(
            self,
            BudgetUsd | BudgetTokens | BudgetWall | BudgetToolCalls
        )
    }

    /// A limit the user set was hit: exit code 4, and `ralphd continue` is the way on.
    pub fn is_limit(self) -> bool {
        use EndReason::*;
        matches!(
            self,
            MaxIterations | BudgetUsd | BudgetTokens | BudgetWall | BudgetToolCalls
        )
    }
}

words! {
    /// How far a kept promise may be believed.
    pub enum Verified {
        /// `verify` ran and passed.
        Verified => "verified",
        /// The agent said so; nothing was checked.
        Claimed => "claimed",
        /// `verify` passed, but files it rests on were changed by the agent.
        Tampered => "tampered",
    }
}

words! {
    /// What a person wants of a session whose task is running; kept in the row until the loop sees it.
    pub enum Control {
        Pause => "pause",
        PauseNow => "pause_now",
        Cancel => "cancel",
    }
}

use SessionState as S;
use SessionStep as Step;

/// Every allowed transition. `Answer` and `Resume` lead back to where the session came from, so they list several ends.
pub const TABLE: &[(SessionState, SessionStep, SessionState)] = &[
    (S::Created, Step::Discover, S::Discovering),
    (S::Created, Step::Plan, S::Planning),
    (S::Created, Step::Execute, S::Executing),
    (S::Created, Step::Pause, S::Paused),
    (S::Created, Step::Fail, S::Failed),
    (S::Created, Step::Cancel, S::Cancelled),
    (S::Discovering, Step::Plan, S::Planning),
    (S::Discovering, Step::Ask, S::AwaitingHuman),
    (S::Discovering, Step::Pause, S::Paused),
    (S::Discovering, Step::Fail, S::Failed),
    (S::Discovering, Step::Cancel, S::Cancelled),
    (S::Planning, Step::Execute, S::Executing),
    (S::Planning, Step::Ask, S::AwaitingHuman),
    (S::Planning, Step::Pause, S::Paused),
    (S::Planning, Step::Fail, S::Failed),
    (S::Planning, Step::Cancel, S::Cancelled),
    (S::Executing, Step::Plan, S::Planning),
    (S::Executing, Step::Summarize, S::Summarizing),
    (S::Executing, Step::Ask, S::AwaitingHuman),
    (S::Executing, Step::Pause, S::Paused),
    (S::Executing, Step::Complete, S::Completed),
    (S::Executing, Step::Fail, S::Failed),
    (S::Executing, Step::Cancel, S::Cancelled),
    (S::Summarizing, Step::Ask, S::AwaitingHuman),
    (S::Summarizing, Step::Pause, S::Paused),
    (S::Summarizing, Step::Complete, S::Completed),
    (S::Summarizing, Step::Fail, S::Failed),
    (S::Summarizing, Step::Cancel, S::Cancelled),
    (S::AwaitingHuman, Step::Answer, S::Discovering),
    (S::AwaitingHuman, Step::Answer, S::Planning),
    (S::AwaitingHuman, Step::Answer, S::Executing),
    (S::AwaitingHuman, Step::Answer, S::Summarizing),
    (S::AwaitingHuman, Step::Pause, S::Paused),
    (S::AwaitingHuman, Step::Complete, S::Completed),
    (S::AwaitingHuman, Step::Fail, S::Failed),
    (S::AwaitingHuman, Step::Cancel, S::Cancelled),
    (S::Paused, Step::Resume, S::Created),
    (S::Paused, Step::Resume, S::Discovering),
    (S::Paused, Step::Resume, S::Planning),
    (S::Paused, Step::Resume, S::Executing),
    (S::Paused, Step::Resume, S::Summarizing),
    (S::Paused, Step::Resume, S::AwaitingHuman),
    (S::Paused, Step::Fail, S::Failed),
    (S::Paused, Step::Cancel, S::Cancelled),
];

/// A step that the present state does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidStep {
    /// The state it was asked of.
    pub from: &'static str,
    /// The step that was asked for.
    pub step: &'static str,
}

impl std::fmt::Display for InvalidStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "cannot {} while {}", self.step, self.from)
    }
}

impl std::error::Error for InvalidStep {}

impl SessionState {
    /// No transition leads out of it.
    pub fn is_terminal(self) -> bool {
        matches!(self, S::Completed | S::Failed | S::Cancelled)
    }

    /// The state after `step`. `came_from` is where a paused or waiting session returns to.
    pub fn after(
        self,
        step: SessionStep,
        came_from: Option<SessionState>,
    ) -> Result<SessionState, InvalidStep> {
        let mut ends = TABLE
            .iter()
            .filter(|(from, by, _)| (*from, *by) == (self, step))
            .map(|(_, _, to)| *to);
        let returns = matches!(step, Step::Answer | Step::Resume);
        let end = if returns {
            ends.find(|to| Some(*to) == came_from)
        } else {
            ends.next()
        };
        end.ok_or(InvalidStep {
            from: self.as_str(),
            step: step.as_str(),
        })
    }

    /// What is remembered as `came_from` on the way from `self` to `to`: a detour remembers its start, the way back forgets it.
    pub fn remembers(
        self,
        to: SessionState,
        came_from: Option<SessionState>,
    ) -> Option<SessionState> {
        match (self, to) {
            // A pause inside a question must not forget where the question arose.
            (S::AwaitingHuman, S::Paused) | (S::Paused, S::AwaitingHuman) => came_from,
            (_, S::Paused | S::AwaitingHuman) => Some(self),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_end_for_each_step_but_the_two_that_return() {
        for (from, step, _) in TABLE {
            let ends = TABLE
                .iter()
                .filter(|(f, s, _)| (f, s) == (from, step))
                .count();
            let returns = matches!(step, Step::Answer | Step::Resume);
            assert!(ends == 1 || returns, "{from} {step} has {ends} ends");
        }
    }

    #[test]
    fn terminal_states_accept_no_step() {
        for state in SessionState::ALL.iter().filter(|state| state.is_terminal()) {
            for step in SessionStep::ALL {
                assert!(state.after(*step, Some(S::Executing)).is_err());
            }
        }
    }

    #[test]
    fn every_open_state_can_be_cancelled_and_failed() {
        for state in SessionState::ALL
            .iter()
            .filter(|state| !state.is_terminal())
        {
            assert_eq!(state.after(Step::Cancel, None), Ok(S::Cancelled));
            assert_eq!(state.after(Step::Fail, None), Ok(S::Failed));
        }
    }

    #[test]
    fn the_refusal_names_state_and_step() {
        let refusal = S::Completed.after(Step::Pause, None).unwrap_err();
        assert_eq!(refusal.to_string(), "cannot pause while completed");
    }
}
