//! How a session stands, in words: one wording for listings, the live view, the details and the dashboard.
//! Pure: it is given the rows and the time.

use super::standing::Standing;
use crate::clock::clock_time;
use crate::model::harmless::{cut, first_line};
use crate::model::iteration::Verdict;
use crate::model::role::Role;
use crate::model::session::{Control, EndReason, SessionState, Verified};
use crate::model::task::{TaskKind, TaskState};
use crate::store::iterations::Iteration;
use crate::store::tasks::{Assignment, Task};
use std::path::Path;

/// The longest part of a reason or question inside a status.
const MAX_REASON_CHARS: usize = 40;

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Bold,
    Dim,
    Good,
    Notice,
    Bad,
    Active,
}

impl Style {
    /// Its name, for whoever paints by names.
    pub fn as_str(self) -> &'static str {
        match self {
            Style::Plain => "plain",
            Style::Bold => "bold",
            Style::Dim => "dim",
            Style::Good => "good",
            Style::Notice => "notice",
            Style::Bad => "bad",
            Style::Active => "active",
        }
    }
}

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

/// The same with what is known beside it.
pub fn reason_in_words(reason: EndReason, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{}: {detail}", why_it_ended(reason)),
        None => why_it_ended(reason).to_owned(),
    }
}

/// How a task of a plan stands.
pub fn task_in_words(task: &Task, now_ms: i64) -> (String, Style) {
    let words = match (task.status, task.parked_until_ms) {
        (TaskState::Pending, Some(until)) if until > now_ms => {
            format!("parked until {}", clock_time(until, now_ms))
        }
        (TaskState::Pending, _) => "ready".to_owned(),
        (TaskState::WaitingDependency, _) => "waiting".to_owned(),
        (TaskState::HumanRequired, _) => "asks".to_owned(),
        (TaskState::Blocked, _) => "not run".to_owned(),
        (status, _) => status.to_string(),
    };
    let style = match task.status {
        TaskState::Completed => Style::Good,
        TaskState::Failed => Style::Bad,
        TaskState::Running => Style::Active,
        TaskState::HumanRequired | TaskState::Skipped => Style::Notice,
        _ => Style::Dim,
    };
    (words, style)
}

/// Who does it, where that is an agent of the plan's choice; roles are told with their turns.
pub fn worker_of(one: &Assignment) -> String {
    let named = one.step.as_ref().is_some_and(|step| step.agent.is_some());
    let agent = one.task.agent.clone();
    agent
        .filter(|_| named || one.task.task_type == TaskKind::Agent)
        .unwrap_or_default()
}

/// The part that was played in a turn, where it was one question to an agent.
fn role_of(iteration: &Iteration) -> Option<Role> {
    let name = Path::new(&iteration.prompt_file).file_name()?.to_str()?;
    name.split('.').nth(1)?.parse().ok()
}

/// What became of an iteration.
pub fn verdict_in_words(iteration: &Iteration) -> (&'static str, Style) {
    match iteration.verdict {
        None => ("under way", Style::Active),
        Some(verdict @ Verdict::Promised) => (verdict.as_str(), Style::Good),
        Some(verdict @ (Verdict::Failed | Verdict::TimedOut | Verdict::DoomLoop)) => {
            (verdict.as_str(), Style::Bad)
        }
        Some(verdict) => (verdict.as_str(), Style::Plain),
    }
}

/// What the verification said of it; nothing where none was made.
pub fn verify_in_words(iteration: &Iteration) -> Option<(&'static str, Style)> {
    match (iteration.verify_passed?, &iteration.tampered) {
        (true, Some(_)) => Some(("TAMPERED", Style::Bad)),
        (true, None) => Some(("passed", Style::Good)),
        (false, _) => Some(("FAILED", Style::Bad)),
    }
}

/// How the agent's program ended.
pub fn exit_in_words(iteration: &Iteration) -> String {
    match (iteration.exit_code, iteration.exit_signal) {
        (Some(code), _) => code.to_string(),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => String::new(),
    }
}

/// Who took an iteration, and in which part where it was one question to an agent.
pub fn taker(iteration: &Iteration, own: &str) -> String {
    let agent = iteration.agent.as_deref().unwrap_or(own);
    match role_of(iteration) {
        Some(role) => format!("{agent} as {role}").replace('_', " "),
        None => agent.to_owned(),
    }
}
