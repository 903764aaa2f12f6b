//! When a conversation has outgrown its context window, and what of it to let go: older steps become a summary, the newest stay as they are.
//! Steps are kept or let go whole, so no call is parted from its result; the objective is never touched. It must not ask a model itself.

mod digest;
mod estimate;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod transcript;

use crate::model::conversation::{History, Step};
use crate::model::shorten::head;
use estimate::{
    MESSAGE_TOKENS, SUMMARY_TOKENS, after_reply_tokens, bytes_within, objective_tokens,
};
pub use estimate::{history_tokens, step_tokens, text_tokens};
use transcript::Matter;

/// The system prompt of the call that sums up; its one message is the plan's transcript.
pub const SUMMARISE: &str = include_str!("../../../../config/prompts/compaction.md");

/// A shorter summary says nothing.
const MIN_SUMMARY_TOKENS: u64 = 128;
/// A longer one is a conversation again.
const MAX_SUMMARY_TOKENS: u64 = 4_000;
/// The part of the free room that a summary may take: one in so many.
const SUMMARY_SHARE: u64 = 4;
/// A shorter transcript is not worth a call.
const MIN_TRANSCRIPT_TOKENS: u64 = 128;
/// The part of the free room that kept steps may take, so that the next step does not fill the window again: one in so many.
const KEPT_SHARE: u64 = 2;

/// How much a model can take in, and when it is time to make room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub context_tokens: u64,
    /// The part of the window that may be filled.
    pub compact_at: f64,
    /// How much of the newest is kept as it is.
    pub protect_tokens: u64,
}

/// What to let go, and what to ask for in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// So many of the oldest steps.
    pub let_go: usize,
    /// The message of the summarising call.
    pub transcript: String,
    /// The most that the summary may come to.
    pub summary_max_tokens: u64,
}

/// What can never be let go fills the window already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// None where the provider's own limit is lower than what we were told, and unknown.
    pub context_tokens: Option<u64>,
    pub fixed_tokens: u64,
    pub objective_tokens: u64,
}

impl std::fmt::Display for TooSmall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "the objective (about {} tokens) with the system prompt and the tools (about {}) leaves no room to work in ",
            self.objective_tokens, self.fixed_tokens
        )?;
        match self.context_tokens {
            Some(tokens) => write!(
                formatter,
                "a context window of {tokens} tokens: set a larger context_window if the model has one, choose a model \
                 that has, or shorten the objective"
            ),
            None => formatter.write_str(
                "the context window of the model as it is served, which is smaller than context_window says: serve it \
                 with a larger one, or shorten the objective",
            ),
        }
    }
}

impl std::error::Error for TooSmall {}

impl Window {
    /// Whether it is time to make room. `fixed_tokens` are the system prompt's and the tools'; `reported_tokens` what the
    /// provider counted for the last reply, in and out: 0 where it told none, and after a compaction, which it has not seen.
    pub fn is_full(&self, history: &History, fixed_tokens: u64, reported_tokens: u64) -> bool {
        let threshold = self.threshold_tokens();
        let estimated = used_tokens(history, fixed_tokens, 0);
        // A report counts thoughts too, which nobody keeps: where little is kept, compaction would win nothing.
        estimated >= threshold
            || (estimated >= least_threshold(history, fixed_tokens)
                && used_tokens(history, fixed_tokens, reported_tokens) >= threshold)
    }

    fn threshold_tokens(&self) -> u64 {
        (self.context_tokens as f64 * self.compact_at.clamp(0.0, 1.0)) as u64
    }
}

/// What to let go of a conversation that `is_full`, told the same.
pub fn plan(
    history: &History,
    window: &Window,
    fixed_tokens: u64,
    reported_tokens: u64,
) -> Result<Plan, TooSmall> {
    let threshold = window.threshold_tokens();
    let least = least_threshold(history, fixed_tokens);
    if threshold < least {
        return Err(TooSmall {
            context_tokens: Some(window.context_tokens),
            fixed_tokens,
            objective_tokens: objective_tokens(history),
        });
    }
    let estimated = used_tokens(history, fixed_tokens, 0);
    let used = used_tokens(history, fixed_tokens, reported_tokens);
    // Where the estimate is too low, all that is measured by it must fit into less.
    let narrowed = (threshold as f64 * (estimated as f64 / used.max(1) as f64)) as u64;
    Ok(plan_below(
        history,
        window.protect_tokens,
        fixed_tokens,
        narrowed.clamp(least, threshold),
    ))
}

/// What to let go when a provider says that the context overflowed, whatever we thought: half of what is in there.
pub fn force(history: &History, window: &Window, fixed_tokens: u64) -> Result<Plan, TooSmall> {
    let estimated = used_tokens(history, fixed_tokens, 0);
    let least = least_threshold(history, fixed_tokens);
    if estimated < least {
        return Err(TooSmall {
            context_tokens: None,
            fixed_tokens,
            objective_tokens: objective_tokens(history),
        });
    }
    let threshold = (estimated / 2).clamp(least, window.threshold_tokens().max(least));
    Ok(plan_below(
        history,
        window.protect_tokens,
        fixed_tokens,
        threshold,
    ))
}

/// The conversation after compaction. A summary that is too long loses its end; for an empty one, a plain digest stands in.
pub fn apply(mut history: History, plan: &Plan, summary: &str) -> History {
    let max_bytes = bytes_within(plan.summary_max_tokens);
    let kept = history
        .steps
        .split_off(plan.let_go.min(history.steps.len()));
    let earlier = history.summary.as_deref();
    let summary = match summary.trim() {
        "" => digest::digest(earlier, &history.steps, max_bytes),
        told => told.to_owned(),
    };
    History {
        summary: Some(head(&summary, max_bytes).to_owned()),
        steps: kept,
        objective: history.objective,
    }
}

fn used_tokens(history: &History, fixed_tokens: u64, reported_tokens: u64) -> u64 {
    let estimated = fixed_tokens.saturating_add(history_tokens(history));
    let since = history.steps.last().map_or(0, after_reply_tokens);
    match reported_tokens {
        0 => estimated,
        told => estimated.max(told.saturating_add(since)),
    }
}

/// The lowest threshold that leaves room for a summary, and for the call that writes it.
fn least_threshold(history: &History, fixed_tokens: u64) -> u64 {
    let conversation = fixed_tokens
        .saturating_add(objective_tokens(history))
        .saturating_add(SUMMARY_TOKENS + MIN_SUMMARY_TOKENS + 1);
    conversation.max(summarising_tokens(MIN_SUMMARY_TOKENS) + MIN_TRANSCRIPT_TOKENS)
}

/// What the summarising call takes beside its transcript.
fn summarising_tokens(summary_max_tokens: u64) -> u64 {
    text_tokens(SUMMARISE) + 2 * MESSAGE_TOKENS + summary_max_tokens
}

/// Plans so that the conversation stays below `threshold`, which is at least `least_threshold`.
fn plan_below(history: &History, protect_tokens: u64, fixed_tokens: u64, threshold: u64) -> Plan {
    let room = threshold - fixed_tokens - objective_tokens(history) - SUMMARY_TOKENS - 1;
    let summary_max_tokens = (room / SUMMARY_SHARE)
        .min(threshold - summarising_tokens(0) - MIN_TRANSCRIPT_TOKENS)
        .clamp(MIN_SUMMARY_TOKENS, MAX_SUMMARY_TOKENS);
    let let_go =
        history.steps.len() - kept(&history.steps, room - summary_max_tokens, protect_tokens);
    let matter = Matter {
        objective: &history.objective,
        earlier: history.summary.as_deref(),
        steps: &history.steps[..let_go],
        summary_max_tokens,
    };
    let transcript_tokens = threshold - summarising_tokens(summary_max_tokens);
    Plan {
        let_go,
        transcript: transcript::write(&matter, bytes_within(transcript_tokens)),
        summary_max_tokens,
    }
}

/// How many of the newest steps stay. The newest may take all of the room: what the model has just asked for, it would ask for again.
fn kept(steps: &[Step], room_tokens: u64, protect_tokens: u64) -> usize {
    let mut total = 0;
    let fits = |(index, tokens): &(usize, u64)| {
        total += tokens;
        let most = if *index == 0 {
            room_tokens
        } else {
            room_tokens / KEPT_SHARE
        };
        total <= most.min(protect_tokens)
    };
    let newest_first = steps.iter().rev().map(step_tokens).enumerate();
    newest_first.take_while(fits).count()
}
