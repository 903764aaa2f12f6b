//! The fields of each type of event. Words only.

use super::{Field, Form, field, flag, number, text, whole};
use crate::model::event::EventType::{self, *};

const FROM: Field = text("from", "The state before.");
const TO: Field = text("to", "The state that was reached; the end of the type.");
const ITERATION: Field = text("iteration", "The iteration's id.");
const ITERATION_NUMBER: Field = whole("number", "Its number in the session, from 1.");
const AGENT: Field = text("agent", "Who took the turn.");
const COST: Field = number(
    "cost_usd",
    "What it cost, in US dollars; null where unknown.",
)
.or_null();
const INPUT: Field = whole(
    "input_tokens",
    "Tokens read, from a cache too; null where unknown.",
)
.or_null();
const OUTPUT: Field = whole("output_tokens", "Tokens written; null where unknown.").or_null();
const DURATION: Field = whole("duration_ms", "How long it took.");
const TASK: Field = text("task", "The task that asks.").or_null();
const QUESTION: Field = text("question", "What is asked.");
const BRANCH: Field = text("branch", "Which branch.");
const INTO: Field = text("into", "The branch that it goes to.");
const SCHEDULE: Field = text("schedule", "Its name; [digest] is the digest's own.");

/// A session that was paused before it began becomes this once more, by a step like any other.
pub(super) const CREATED: &[Field] = &[
    text(
        "trigger",
        "By which way it came: inbox, cron, webhook, api, cli or sub_agent.",
    )
    .or_absent(),
    text("agent", "Who is to do it.").or_absent(),
    text("origin", "The stem of its file, or of its objective.").or_absent(),
    FROM.or_absent(),
    TO.or_absent(),
];
pub(super) const SESSION_STEP: &[Field] = &[FROM, TO];
pub(super) const SESSION_END: &[Field] = &[
    FROM,
    TO,
    text("end_reason", "Why it ended."),
    text("detail", "The same in words, where there is more to say.").or_null(),
    text(
        "verified",
        "verified, claimed or tampered; null where it did not complete.",
    )
    .or_null(),
];
pub(super) const TASK_STEP: &[Field] = &[
    FROM,
    TO,
    text("worker", "Who claimed it.").or_absent(),
    whole("claim", "The number of the claim.").or_absent(),
    text("error", "Why it failed, or asks.").or_absent(),
];
const SUMMARY: &[Field] = &[
    ITERATION,
    ITERATION_NUMBER,
    text("agent", "Who sums up."),
    COST,
    INPUT,
    OUTPUT,
    DURATION,
    text("summary", "What was said.").or_absent(),
    text("reason", "Why there is none.").or_absent(),
    flag("again", "It is made when the work goes on.").or_absent(),
];

/// What the events that are no steps tell of, and their fields.
pub(super) const OTHERS: &[(EventType, &str, &[Field])] = &[
    (
        SessionControl,
        "Somebody wants a session to pause or to be cancelled, or no longer wants it.",
        &[text("control", "pause, pause_now, cancel, or null.").or_null()],
    ),
    (
        TaskParked,
        "A task goes back into the queue.",
        &[
            whole("until_ms", "Not before then; null where no time is known.").or_null(),
            text("reason", "Why.").or_null(),
        ],
    ),
    (
        TaskRescued,
        "A task was taken back from a claimant that died.",
        &[
            text("from_worker", "Who had it."),
            whole("deaths", "How many have died of it in a row."),
            text("why", "How that is known."),
        ],
    ),
    (
        IterationStarted,
        "An agent begins.",
        &[ITERATION, ITERATION_NUMBER, AGENT],
    ),
    (
        IterationEnded,
        "An agent is through, and was judged.",
        &[
            ITERATION,
            ITERATION_NUMBER,
            AGENT.or_null(),
            text(
                "verdict",
                "promised, unfinished, empty, rate_limited, failed, timed_out, doom_loop, cancelled or lost.",
            ),
            flag("counted", "Whether it counts against max_iterations."),
            flag(
                "verify_passed",
                "What the check said; null where none was made.",
            )
            .or_null(),
            field(
                Form::Texts,
                "warnings",
                "What the agent's tool remarked on.",
            ),
            text("failure", "What failed.").or_null(),
            text("failure_class", "Of which kind that is.").or_null(),
            COST,
            INPUT,
            OUTPUT,
            whole("tool_calls", "Tools that were called."),
            DURATION,
        ],
    ),
    (
        IterationSummarizing,
        "An iteration is being summed up for the next one.",
        &[
            ITERATION,
            ITERATION_NUMBER,
            text("agent", "Who sums up."),
            field(
                Form::Object,
                "before",
                "What the iteration itself had used: cost_usd, input_tokens, output_tokens, tool_calls.",
            ),
        ],
    ),
    (IterationSummarized, "An iteration was summed up.", SUMMARY),
    (
        IterationNotSummarized,
        "There is no summary; the next iteration goes without.",
        SUMMARY,
    ),
    (
        StepEnded,
        "A model gave a reply, for agents that tell of their steps.",
        &[
            whole("number", "Its number in the iteration."),
            text("model", "Which model.").or_null(),
            whole("input_tokens", "Tokens read."),
            whole("cached_tokens", "Those of them from a cache."),
            whole("output_tokens", "Tokens written."),
            COST,
        ],
    ),
    (
        ToolCalled,
        "An agent used a tool.",
        &[
            text("name", "Which."),
            text("about", "The argument that says most.").or_null(),
            flag("ok", "Whether it went well; null where unknown.").or_null(),
            whole("duration_ms", "How long it took; null where unknown.").or_null(),
        ],
    ),
    (
        AgentChanged,
        "Another agent goes on, because a limit shuts the first one out, or it is free again.",
        &[
            text("from", "Who worked on it."),
            text("to", "Who goes on."),
            text("reason", "What keeps the first one from it.").or_null(),
            whole("until_ms", "Until when.").or_null(),
        ],
    ),
    (
        CostUnknown,
        "What an agent costs cannot be known, as its first iteration shows.",
        &[
            text("agent", "Which."),
            text("model", "The model that has no price.").or_null(),
        ],
    ),
    (
        HandoffInvalid,
        "An iteration left a handoff that cannot be used.",
        &[ITERATION, text("problem", "What is wrong with it.")],
    ),
    (
        GuidanceTold,
        "A person told the session something.",
        &[text("text", "What.")],
    ),
    (
        PlanSaved,
        "There is a plan.",
        &[
            whole("tasks", "How many tasks it has."),
            text("plan_summary", "What it is."),
        ],
    ),
    (
        PlanCalledBack,
        "What is not begun of a plan is dropped.",
        &[
            text("call", "replan, or the reason for which the session ends."),
            text("why", "In words."),
        ],
    ),
    (
        PlanCompleted,
        "All tasks of a plan are over; the answer is written.",
        &[whole("tasks", "How many there were.")],
    ),
    (
        DatasetsRead,
        "The tables of a planned session are there.",
        &[
            field(Form::Texts, "tables", "Their names."),
            flag("reused", "They were read before."),
        ],
    ),
    (
        TaskSetback,
        "A task of a plan failed, and it was decided what follows.",
        &[
            text("error_type", "Of which kind."),
            text("error", "What failed."),
            text("decision", "What follows."),
            text("policy", "What the plan says of failures.").or_null(),
            text("reasoning", "Why, where somebody was asked.").or_null(),
        ],
    ),
    (
        SubAgentSpawned,
        "A task gives work to another agent.",
        &[
            text("session", "The session in which it is done."),
            text("agent", "Who does it."),
            whole("depth", "How deep that session is."),
        ],
    ),
    (
        SubAgentEnded,
        "The other agent's session has ended.",
        &[text("session", "Which."), text("end_reason", "Why.")],
    ),
    (
        HumanAsked,
        "A person is asked.",
        &[
            TASK,
            QUESTION,
            field(
                Form::Texts,
                "options",
                "What may be answered; any text where it is empty.",
            ),
            text("error", "What led to it.").or_null(),
            text("kind", "question, or gate: approve or reject."),
        ],
    ),
    (
        HumanAnswered,
        "A person answered.",
        &[TASK, QUESTION, text("answer", "What.")],
    ),
    (HumanApproved, "A person approved a step.", &[TASK]),
    (
        HumanRejected,
        "A person rejected a step; the session pauses.",
        &[TASK, QUESTION, text("rejected", "The reason.").or_null()],
    ),
    (
        HumanExpired,
        "Nobody answered in time; the session ends.",
        &[TASK, QUESTION],
    ),
    (
        WorkspacePrepared,
        "A session's workspace is ready.",
        &[
            text("path", "Where it is."),
            text("branch", "The branch that is worked on.").or_null(),
            text("commit", "The point that it starts from.").or_null(),
            text(
                "safety",
                "The ref that keeps a user's own checkout as it was.",
            )
            .or_null(),
            field(Form::Texts, "notes", "What people should know of it."),
        ],
    ),
    (
        WorkspaceNotKept,
        "What an iteration did could not be kept as a point.",
        &[ITERATION, text("problem", "Why.")],
    ),
    (
        WorkspaceMerged,
        "The branch of a task was merged.",
        &[
            BRANCH,
            INTO,
            text("commit", "What came of it."),
            flag("conflict", "Whether a conflict was resolved.").or_absent(),
        ],
    ),
    (
        WorkspaceConflicted,
        "The branch of a task is in conflict with the working branch.",
        &[BRANCH, INTO, field(Form::Texts, "paths", "Where.")],
    ),
    (
        WorkspacePushed,
        "A session's branch was pushed.",
        &[BRANCH, text("to", "Where to.")],
    ),
    (
        WorkspaceNotPushed,
        "A session's branch was not taken.",
        &[BRANCH, text("to", "Where to."), text("why", "Why not.")],
    ),
    (
        SessionRewound,
        "A session was taken back, or forward, to a point.",
        &[
            whole(
                "to",
                "The iteration after which it stands now; 0 is its start.",
            ),
            text("commit", "The point's."),
        ],
    ),
    (
        BudgetTwoThirds,
        "Two thirds of a budget are used.",
        &[
            text("kind", "usd, tokens, wall or tool_calls."),
            number("used", "How much, wall in milliseconds."),
            number("limit", "Of how much."),
        ],
    ),
    (
        NoticeGivenUp,
        "Somebody could not be told.",
        &[
            text("notice", "Its id."),
            text("target", "Who: a name from [notify], or callback."),
            text("occasion", "Of what."),
            whole("attempts", "How often it was tried."),
            text("error", "What came of the last try.").or_null(),
        ],
    ),
    (
        RequestRejected,
        "A file in an inbox is no request.",
        &[text("file", "Its name."), text("reason", "What is wrong.")],
    ),
    (
        ScheduleTicked,
        "A moment of a schedule was settled.",
        &[
            SCHEDULE,
            whole("due_at_ms", "When it was due."),
            text("outcome", "started, skipped or refused."),
            text("detail", "Why.").or_null(),
            text("session_id", "The session that was started.").or_null(),
            whole("at_ms", "When it was settled."),
        ],
    ),
    (
        ScheduleDropped,
        "A schedule missed too many moments to name each.",
        &[
            SCHEDULE,
            text("from", "The first of them."),
            text("until", "The last of them."),
        ],
    ),
    (SchedulePaused, "A schedule was paused.", &[SCHEDULE]),
    (ScheduleResumed, "A schedule goes on.", &[SCHEDULE]),
    (
        DaemonStarted,
        "A daemon is there.",
        &[
            text("worker", "Its id among the workers."),
            whole("pid", "Its process id."),
            text("version", "Which ralphd it is."),
        ],
    ),
    (
        DaemonStopped,
        "A daemon went.",
        &[text("worker", "Its id among the workers.")],
    ),
];
