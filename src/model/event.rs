//! The names of what is written to the append-only history.
//! Pure words; the store writes them, in the transaction of the change they tell of.

use super::words::words;

words! {
    /// The type of an event that is not a transition; transitions are named `session.<state>` and `task.<state>`.
    pub enum EventType {
        SessionControl => "session.control",
        TaskParked => "task.parked",
        TaskRescued => "task.rescued",
        IterationStarted => "iteration.started",
        IterationEnded => "iteration.ended",
        IterationSummarizing => "iteration.summarizing",
        IterationSummarized => "iteration.summarized",
        IterationNotSummarized => "iteration.not_summarized",
        StepEnded => "step.ended",
        ToolCalled => "tool.called",
        AgentChanged => "agent.changed",
        CostUnknown => "cost.unknown",
        HandoffInvalid => "handoff.invalid",
        GuidanceTold => "guidance.told",
        HumanAsked => "human.asked",
        HumanAnswered => "human.answered",
        HumanExpired => "human.expired",
        RequestRejected => "request.rejected",
        DaemonStarted => "daemon.started",
        DaemonStopped => "daemon.stopped",
    }
}
