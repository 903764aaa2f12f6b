//! Why does the loop stop? One pure function with a closed answer, asked before every iteration.
//! It must see everything it needs in `Standing`, all of it from rows, so that the answer is the same after a crash.

use super::backoff::backoff_ms;
use super::failure::{Failure, Reaction};
use super::fallback::{Choice, Colleague, choose};
use super::iteration::Verdict;
use super::limit::Limit;
use super::session::{EndReason, Verified};

/// Turns in a row that vanished with their shim: whatever it is, it will go on.
const MAX_LOST_TURNS: u32 = 3;

/// How the last iteration ended, as far as it matters for going on.
#[derive(Clone, Debug, Default)]
pub struct LastTurn {
    /// Who took it.
    pub agent: String,
    pub verdict: Option<Verdict>,
    /// null: there is nothing to verify with.
    pub verify_passed: Option<bool>,
    /// Protected files that the agent changed.
    pub tampered: Vec<String>,
    pub failure: Option<Failure>,
    /// The agent asked, and the question has not been put to anybody yet.
    pub asks: bool,
    /// The agent gave work to another one, and that has not come to its end.
    pub delegates: bool,
    pub ended_at_ms: i64,
}

/// A limit and how much of it is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge<N> {
    pub used: N,
    pub limit: Option<N>,
    /// What the next iteration is known to take at least.
    pub next: N,
}

impl<N: PartialOrd + Copy + Default + std::ops::Add<Output = N>> Gauge<N> {
    fn is_spent(&self) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        self.used >= limit || self.used + self.next > limit
    }
}

/// Everything the decision looks at.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    pub last: LastTurn,
    pub cancel: bool,
    pub pause: bool,
    /// No turn may begin under this claim: the daemon goes down, or a turn was ended for a wish that was withdrawn since.
    pub shutdown: bool,
    /// A person has said something that no iteration has read: it is not done before that.
    pub unread_guidance: bool,
    pub iterations: Gauge<i64>,
    pub wall_ms: Gauge<i64>,
    pub usd: Gauge<f64>,
    pub tokens: Gauge<i64>,
    pub tool_calls: Gauge<i64>,
    /// Who works now.
    pub agent: String,
    /// Who may take the next turn, in order: first the one that was asked for.
    pub colleagues: Vec<Colleague>,
    /// Its failures in a row that were worth another try.
    pub transient_streak: u32,
    pub transient_retries: u32,
    pub transient_backoff_ms: i64,
    /// Turns in a row that vanished with their shim.
    pub lost_streak: u32,
    /// Counted iterations in a row that changed nothing.
    pub stagnant_streak: i64,
    pub stagnation_threshold: i64,
    /// Counted iterations in a row that were stopped because they repeated themselves.
    pub doom_streak: i64,
    /// Whether a person must look at changed protected files before the promise is believed.
    pub tampering_needs_a_person: bool,
    /// What a person said to the question about them: true accepts.
    pub tampering_accepted: Option<bool>,
    /// Agents may not start before this time, and why.
    pub closed_until: Option<(i64, String)>,
    pub now_ms: i64,
}

/// Why the loop stops.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The promise is kept, and as far as it can be checked it is true.
    Done(Verified),
    Cancelled,
    Limit(EndReason),
    /// The agent cannot go on.
    Failed(String),
    /// Whoever supervises it dies of it.
    Poison(String),
    Stagnated,
    /// Fresh starts only lead to the same repetition.
    DoomLoop,
    /// Protected files were changed: a person decides.
    AskAboutTampering(Vec<String>),
    /// The agent asked something.
    Ask,
    /// A sub-agent has the next word.
    Delegate,
    Paused,
    /// The claim is given up; the task goes back into the queue.
    Shutdown,
    /// A limit over all sessions leaves no room for this one.
    Spent(EndReason, String),
    /// Another agent goes on; with it, the limit of the one that was asked for, while it holds.
    HandOver {
        to: String,
        limit: Option<Limit>,
    },
    /// Not before this time: a failure that may pass by itself, or a time at which agents may not start.
    Wait {
        until_ms: i64,
        reason: String,
    },
}

/// The first reason that holds, in order: the promise, then a person's word, then the caps, then the rest.
pub fn why_stop(standing: &Standing) -> Option<Stop> {
    promise(standing)
        .or_else(|| standing.cancel.then_some(Stop::Cancelled))
        .or_else(|| doom_loop(standing))
        .or_else(|| cap(standing).map(Stop::Limit))
        .or_else(|| failure(standing))
        .or_else(|| poison(standing))
        .or_else(|| stagnation(standing))
        .or_else(|| standing.last.asks.then_some(Stop::Ask))
        .or_else(|| standing.pause.then_some(Stop::Paused))
        .or_else(|| standing.shutdown.then_some(Stop::Shutdown))
        .or_else(|| standing.last.delegates.then_some(Stop::Delegate))
        .or_else(|| limited(standing))
        .or_else(|| backoff(standing))
        .or_else(|| closed(standing))
}

fn promise(standing: &Standing) -> Option<Stop> {
    let last = &standing.last;
    if last.verdict != Some(Verdict::Promised) || standing.unread_guidance {
        return None;
    }
    match last.verify_passed {
        Some(false) => None,
        None => Some(Stop::Done(Verified::Claimed)),
        Some(true) if last.tampered.is_empty() => Some(Stop::Done(Verified::Verified)),
        Some(true) => match standing.tampering_accepted {
            _ if !standing.tampering_needs_a_person => Some(Stop::Done(Verified::Tampered)),
            Some(true) => Some(Stop::Done(Verified::Tampered)),
            Some(false) => None,
            None => Some(Stop::AskAboutTampering(last.tampered.clone())),
        },
    }
}

/// As often as a standstill would be borne, or as often as there may be iterations at all.
fn doom_loop(standing: &Standing) -> Option<Stop> {
    let all = standing.iterations.limit.unwrap_or(i64::MAX);
    let borne = standing.stagnation_threshold.min(all);
    (standing.doom_streak > 0 && standing.doom_streak >= borne).then_some(Stop::DoomLoop)
}

fn cap(standing: &Standing) -> Option<EndReason> {
    let caps = [
        (standing.iterations.is_spent(), EndReason::MaxIterations),
        (standing.usd.is_spent(), EndReason::BudgetUsd),
        (standing.tokens.is_spent(), EndReason::BudgetTokens),
        (standing.tool_calls.is_spent(), EndReason::BudgetToolCalls),
        (standing.wall_ms.is_spent(), EndReason::BudgetWall),
    ];
    caps.into_iter()
        .find(|(spent, _)| *spent)
        .map(|(_, reason)| reason)
}

fn failure(standing: &Standing) -> Option<Stop> {
    let Failure { class, detail, .. } = standing.last.failure.as_ref()?;
    let asked_for = standing.colleagues.first();
    // One that only stands in for another does not end the session: it is not asked again.
    if asked_for.is_some_and(|asked_for| asked_for.name != standing.last.agent) {
        return None;
    }
    let tries = standing.transient_streak;
    match class.reaction() {
        Reaction::Stop => Some(Stop::Failed(detail.clone())),
        Reaction::Retry if tries > standing.transient_retries => {
            Some(Stop::Failed(format!("{detail} ({tries} times in a row)")))
        }
        Reaction::Retry | Reaction::Park | Reaction::NextIteration => None,
    }
}

fn poison(standing: &Standing) -> Option<Stop> {
    let lost = standing.lost_streak;
    (lost >= MAX_LOST_TURNS).then(|| {
        Stop::Poison(format!(
            "{lost} turns in a row vanished with their shim, which died"
        ))
    })
}

fn stagnation(standing: &Standing) -> Option<Stop> {
    (standing.stagnant_streak >= standing.stagnation_threshold).then_some(Stop::Stagnated)
}

/// A limit is waited out, unless somebody else can go on meanwhile.
fn limited(standing: &Standing) -> Option<Stop> {
    match choose(&standing.colleagues, &standing.agent, standing.now_ms) {
        Choice::GoOn => None,
        Choice::HandOver { to, limit } => Some(Stop::HandOver { to, limit }),
        Choice::Wait { agent, limit } => Some(Stop::Wait {
            until_ms: limit.until_ms,
            reason: limit.of(&agent),
        }),
    }
}

/// A passing failure is waited out, a little longer each time.
fn backoff(standing: &Standing) -> Option<Stop> {
    let last = &standing.last;
    let Failure { class, detail, .. } = last.failure.as_ref()?;
    if class.reaction() != Reaction::Retry || last.agent != standing.agent {
        return None;
    }
    let pause = backoff_ms(standing.transient_backoff_ms, standing.transient_streak);
    let until_ms = last.ended_at_ms.saturating_add(pause);
    // Where the clock was set back, nobody knows how long it has been.
    (last.ended_at_ms..until_ms)
        .contains(&standing.now_ms)
        .then(|| Stop::Wait {
            until_ms,
            reason: detail.clone(),
        })
}

fn closed(standing: &Standing) -> Option<Stop> {
    let (until_ms, reason) = standing.closed_until.clone()?;
    Some(Stop::Wait { until_ms, reason })
}

#[cfg(test)]
mod tests;
