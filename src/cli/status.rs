//! How a session stands, in words: one wording for listings, the live view and the details.
//! Pure: it is given the rows and the time.

use super::output::{Style, clock_time, cut, first_line};
use crate::model::session::{Control, EndReason, SessionState, Verified};
use crate::model::task::TaskState;
use crate::report::standing::Standing;
use crate::store::tasks::Task;

/// The longest part of a reason or question inside a status.
const MAX_REASON_CHARS: usize = 40;

impl Standing {
    /// Who works on it: `codex for claude` while one stands in for the other.
    pub fn worker(&self) -> String {
        let (own, current) = (&self.session.agent, &self.current_agent);
        match own == current || self.session.status.is_terminal() {
            true => own.clone(),
            false => format!("{current} for {own}"),
        }
    }

    /// Somebody works on it right now.
    pub fn runs(&self) -> bool {
        let running = |task: &Task| task.status == TaskState::Running;
        let any = self.count(TaskState::Running) > 0 || self.task.as_ref().is_some_and(running);
        any && !self.session.status.is_terminal()
    }

    fn count(&self, state: TaskState) -> i64 {
        let stands = self.planned.as_ref();
        stands
            .and_then(|stands| stands.get(&state).copied())
            .unwrap_or(0)
    }

    /// How far a plan is, `2 of 5 tasks done`; nothing where there is none yet.
    pub fn progress(&self) -> Option<String> {
        self.session
            .plan
            .as_ref()
            .filter(|_| self.planned.is_some())?;
        let session = &self.session;
        let failed = match session.failed_task_count {
            0 => String::new(),
            count => format!(", {count} failed"),
        };
        Some(format!(
            "{} of {} tasks done{failed}",
            session.completed_task_count, session.task_count
        ))
    }

    /// The status in a few words, and how it looks.
    pub fn in_words(&self, now_ms: i64) -> (String, Style) {
        let session = &self.session;
        match (session.status, session.control) {
            (SessionState::Completed, _) => completed(session.verified),
            (SessionState::Failed, _) => {
                let reason = session.end_reason.map_or("unknown", EndReason::as_str);
                (format!("failed: {reason}"), Style::Bad)
            }
            (SessionState::Cancelled, _) => ("cancelled".to_owned(), Style::Dim),
            (_, Some(Control::Cancel)) => ("being cancelled".to_owned(), Style::Notice),
            (_, Some(Control::PauseNow)) => ("being paused".to_owned(), Style::Notice),
            (_, Some(Control::Pause)) => ("pausing after this iteration".to_owned(), Style::Notice),
            (SessionState::AwaitingHuman, _) => {
                let asks = cut(&self.question(), MAX_REASON_CHARS);
                (format!("asks: {asks}"), Style::Notice)
            }
            (SessionState::Paused, _) => (self.pause_in_words(), Style::Notice),
            (status, _) => self.queued(now_ms).unwrap_or_else(|| {
                let progress = self
                    .progress()
                    .filter(|_| status == SessionState::Executing);
                (
                    progress.unwrap_or_else(|| status.to_string()),
                    Style::Active,
                )
            }),
        }
    }

    fn pause_in_words(&self) -> String {
        let context = self.session.human_context.as_ref();
        match context.and_then(|context| context.get("rejected")) {
            None => "paused".to_owned(),
            Some(reason) => match reason.as_str().map(first_line) {
                Some(reason) => format!("paused, rejected: {}", cut(&reason, MAX_REASON_CHARS)),
                None => "paused, rejected".to_owned(),
            },
        }
    }

    /// The question that it waits on.
    pub fn question(&self) -> String {
        let context = self.session.human_context.as_ref();
        let question = context.and_then(|context| context.get("question")?.as_str());
        first_line(question.unwrap_or("a question"))
    }

    /// What keeps an open session's task in the queue.
    fn queued(&self, now_ms: i64) -> Option<(String, Style)> {
        let task = self
            .task
            .as_ref()
            .filter(|task| task.status == TaskState::Pending)?;
        let reason = task
            .parked_reason
            .as_deref()
            .map(first_line)
            .unwrap_or_default();
        let reason = cut(&reason, MAX_REASON_CHARS);
        let words = match (task.parked_until_ms, task.not_before_ms) {
            (Some(until), _) if until > now_ms => {
                format!("parked until {}, {reason}", clock_time(until, now_ms))
            }
            (_, Some(time)) if time > now_ms => format!("not before {}", clock_time(time, now_ms)),
            _ if task.waits_for.is_some() => format!("waiting: {reason}"),
            _ => "queued".to_owned(),
        };
        Some((words, Style::Dim))
    }
}

fn completed(verified: Option<Verified>) -> (String, Style) {
    match verified {
        Some(Verified::Verified) => ("completed, verified".to_owned(), Style::Good),
        Some(Verified::Claimed) => ("completed, claimed".to_owned(), Style::Good),
        Some(Verified::Tampered) => ("completed, TAMPERED".to_owned(), Style::Bad),
        None => ("completed".to_owned(), Style::Good),
    }
}

/// Why a session ended, as a sentence.
pub fn why_it_ended(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Completed => "the promise was kept",
        EndReason::MaxIterations => "it used all its iterations",
        EndReason::BudgetUsd => "its money is used up",
        EndReason::BudgetTokens => "its tokens are used up",
        EndReason::BudgetWall => "its time is used up",
        EndReason::BudgetToolCalls => "its tool calls are used up",
        EndReason::Stagnated => "nothing moved any more",
        EndReason::DoomLoop => "the agent repeated itself without end",
        EndReason::AgentFailed => "the agent could not go on",
        EndReason::PlanInvalid => "the plan was not usable",
        EndReason::TaskFailed => "a task failed",
        EndReason::Poison => "it took down whoever worked on it",
        EndReason::HumanTimeout => "nobody answered its question in time",
        EndReason::HumanRejected => "a person rejected it",
        EndReason::Cancelled => "a person cancelled it",
    }
}
