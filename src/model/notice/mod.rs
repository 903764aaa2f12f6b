//! What is told to somebody outside: which event is an occasion for it, and how long a receiver that does not answer is tried.
//! Pure: events and times come in, decisions go out; `message` is what is said.

mod digest;
mod message;

pub use digest::{DigestFacts, DigestMessage, Told};
pub use message::{Budget, Message, MessageFacts, Question};

use super::backoff::backoff_ms;
use super::event::EventType;
use super::schedule::{self, TickOutcome};
use super::words::words;
use serde_json::Value as Json;

words! {
    /// Why somebody is told.
    pub enum Occasion {
        Ended => "ended",
        AwaitingHuman => "awaiting_human",
        Parked => "parked",
        Budget => "budget",
        Digest => "digest",
    }
}

/// Those that a target can be told of or not; the digest goes to whom its own section names.
pub const OF_SESSIONS: [Occasion; 4] = [
    Occasion::Ended,
    Occasion::AwaitingHuman,
    Occasion::Parked,
    Occasion::Budget,
];

words! {
    /// What became of telling it.
    pub enum NoticeStatus {
        Owed => "owed",
        Delivered => "delivered",
        GivenUp => "given_up",
    }
}

/// The target that stands for the `callback_url` of a request.
pub const CALLBACK: &str = "callback";

/// So often a receiver is tried. With the usual first wait of 5 s that is about a day.
pub const MAX_ATTEMPTS: u32 = 33;
/// Waits double up to this.
const MAX_WAIT_MS: i64 = 3_600_000;
/// A receiver may ask for more patience, but not for ever.
const MAX_ASKED_WAIT_MS: i64 = 24 * 3_600_000;
/// A shorter pause is over before anybody has read of it.
const MIN_PARKED_MS: i64 = 30_000;

/// The types of events that may be an occasion.
pub const NOTABLE: [&str; 7] = [
    "session.completed",
    "session.failed",
    "session.cancelled",
    EventType::HumanAsked.as_str(),
    EventType::TaskParked.as_str(),
    EventType::BudgetTwoThirds.as_str(),
    EventType::ScheduleTicked.as_str(),
];

impl Occasion {
    /// What an event is an occasion for.
    pub fn of_event(kind: &str, at_ms: i64, facts: &Json) -> Option<Self> {
        match kind {
            "session.completed" | "session.failed" | "session.cancelled" => Some(Self::Ended),
            kind if kind == EventType::HumanAsked.as_str() => Some(Self::AwaitingHuman),
            kind if kind == EventType::BudgetTwoThirds.as_str() => Some(Self::Budget),
            kind if kind == EventType::TaskParked.as_str() => {
                let until_ms = facts["until_ms"].as_i64()?;
                (until_ms.saturating_sub(at_ms) >= MIN_PARKED_MS).then_some(Self::Parked)
            }
            kind if kind == EventType::ScheduleTicked.as_str() => {
                let sends = facts["schedule"] == schedule::DIGEST
                    && facts["outcome"] == TickOutcome::Started.as_str();
                sends.then_some(Self::Digest)
            }
            _ => None,
        }
    }

    /// Whether the session of a sub-agent is told of as well: nobody but a person can answer its question.
    pub fn is_told_of_sub_agents(self) -> bool {
        self == Self::AwaitingHuman
    }

    /// The type of the message that tells of it.
    pub fn message_type(self) -> &'static str {
        match self {
            Self::Ended => "session.ended",
            Self::AwaitingHuman => "session.awaiting_human",
            Self::Parked => "session.parked",
            Self::Budget => "session.budget",
            Self::Digest => "digest",
        }
    }
}

/// Why a try failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: String,
    /// The wait that the receiver asked for.
    pub asked_ms: Option<i64>,
    /// The receiver wants to hear nothing more.
    pub for_good: bool,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self {
            reason,
            asked_ms: None,
            for_good: false,
        }
    }
}

/// When to try again after `attempts` failed tries; nothing when it is given up. `seed` differs from notice to notice, so that
/// not all of them come back in the same moment.
pub fn next_try_ms(
    base_ms: i64,
    attempts: u32,
    refusal: &Refusal,
    seed: u64,
    now_ms: i64,
) -> Option<i64> {
    if refusal.for_good || attempts >= MAX_ATTEMPTS {
        return None;
    }
    let wait = backoff_ms(base_ms, attempts).min(MAX_WAIT_MS.max(base_ms));
    let asked = refusal.asked_ms.unwrap_or(0).min(MAX_ASKED_WAIT_MS);
    let wait = wait.max(asked).max(0);
    let jitter = i64::try_from(seed % (wait as u64 / 10 + 1)).unwrap_or(0);
    Some(now_ms.saturating_add(wait).saturating_add(jitter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn few_events_are_occasions() {
        for (kind, facts, expected) in [
            ("session.completed", json!({}), Some(Occasion::Ended)),
            ("session.failed", json!({}), Some(Occasion::Ended)),
            ("session.cancelled", json!({}), Some(Occasion::Ended)),
            ("session.executing", json!({}), None),
            ("session.awaiting_human", json!({}), None),
            ("human.asked", json!({}), Some(Occasion::AwaitingHuman)),
            ("human.answered", json!({}), None),
            ("task.parked", json!({"until_ms": null}), None),
            ("task.parked", json!({"until_ms": 2_000}), None),
            (
                "task.parked",
                json!({"until_ms": 31_000}),
                Some(Occasion::Parked),
            ),
            ("budget.two_thirds", json!({}), Some(Occasion::Budget)),
            (
                "schedule.ticked",
                json!({"schedule": "[digest]", "outcome": "started"}),
                Some(Occasion::Digest),
            ),
            (
                "schedule.ticked",
                json!({"schedule": "[digest]", "outcome": "skipped"}),
                None,
            ),
            (
                "schedule.ticked",
                json!({"schedule": "nightly", "outcome": "started"}),
                None,
            ),
        ] {
            let found = Occasion::of_event(kind, 1_000, &facts);
            assert_eq!(found, expected, "{kind} {facts}");
            assert!(found.is_none() || NOTABLE.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn waits_double_up_to_an_hour_for_about_a_day() {
        let refusal = Refusal::from("500".to_owned());
        let wait = |attempts| next_try_ms(5_000, attempts, &refusal, 0, 0);
        assert_eq!(wait(1), Some(5_000));
        assert_eq!(wait(2), Some(10_000));
        assert_eq!(wait(10), Some(2_560_000));
        assert_eq!(wait(11), Some(3_600_000));
        assert_eq!(wait(MAX_ATTEMPTS), None);
        let all: i64 = (1..MAX_ATTEMPTS).filter_map(wait).sum();
        let hours = all / 3_600_000;
        assert!((22..=26).contains(&hours), "{hours} h");
    }

    #[test]
    fn a_receiver_may_ask_for_time_or_for_silence() {
        let asked = |asked_ms| Refusal {
            asked_ms: Some(asked_ms),
            ..Refusal::from("429".to_owned())
        };
        let wait = |refusal: &Refusal| next_try_ms(5_000, 1, refusal, 0, 0);
        assert_eq!(wait(&asked(60_000)), Some(60_000));
        assert_eq!(wait(&asked(-5)), Some(5_000));
        assert_eq!(wait(&asked(i64::MAX)), Some(MAX_ASKED_WAIT_MS));
        let gone = Refusal {
            for_good: true,
            ..asked(1)
        };
        assert_eq!(wait(&gone), None);
    }

    #[test]
    fn jitter_is_a_tenth_at_most_and_never_early() {
        let refusal = Refusal::from("500".to_owned());
        for seed in [0, 7, 499, 500, u64::MAX] {
            let next = next_try_ms(5_000, 1, &refusal, seed, 1_000).unwrap();
            assert!((6_000..=6_500).contains(&next), "{seed}: {next}");
        }
    }
}
