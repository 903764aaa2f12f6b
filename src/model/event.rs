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
        PlanSaved => "plan.saved",
        PlanCalledBack => "plan.called_back",
        PlanCompleted => "plan.completed",
        DatasetsRead => "datasets.read",
        TaskSetback => "task.setback",
        SubAgentSpawned => "sub_agent.spawned",
        SubAgentEnded => "sub_agent.ended",
        HumanAsked => "human.asked",
        HumanAnswered => "human.answered",
        HumanApproved => "human.approved",
        HumanRejected => "human.rejected",
        HumanExpired => "human.expired",
        WorkspacePrepared => "workspace.prepared",
        WorkspaceNotKept => "workspace.not_kept",
        WorkspaceMerged => "workspace.merged",
        WorkspaceConflicted => "workspace.conflicted",
        WorkspacePushed => "workspace.pushed",
        WorkspaceNotPushed => "workspace.not_pushed",
        SessionRewound => "session.rewound",
        BudgetTwoThirds => "budget.two_thirds",
        NoticeGivenUp => "notice.given_up",
        RequestRejected => "request.rejected",
        ScheduleTicked => "schedule.ticked",
        ScheduleDropped => "schedule.dropped",
        SchedulePaused => "schedule.paused",
        ScheduleResumed => "schedule.resumed",
        DaemonStarted => "daemon.started",
        DaemonStopped => "daemon.stopped",
    }
}
