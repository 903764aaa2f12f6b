//! How a turn can fail, and what the daemon does about each kind. Pure words: what text or exit code means which kind is not
//! decided here.

use crate::model::words::words;

words! {
    /// Why a turn failed.
    pub enum FailureClass {
        /// The key or login was refused: 401, 403, not logged in.
        Auth => "auth",
        /// The tool cannot work as it is set up: unknown option or model, malformed request.
        Configuration => "configuration",
        /// Too many requests in a short time; it passes by itself.
        RateLimit => "rate_limit",
        /// The plan, quota or credit is used up, often until a named time.
        UsageLimit => "usage_limit",
        /// The model's server failed or was too busy: 5xx, 529.
        Overloaded => "overloaded",
        /// The server could not be reached, or the connection broke.
        Network => "network",
        /// The prompt, or the answer, did not fit the model's window.
        ContextOverflow => "context_overflow",
        /// The model or its safeguards declined to answer.
        Refusal => "refusal",
        /// The tool died of a signal, or ended without its last word.
        Crash => "crash",
        /// The tool ran out of memory.
        OutOfMemory => "out_of_memory",
        /// The iteration's time was over.
        Timeout => "timeout",
        /// Nothing was heard of the tool for too long.
        Silence => "silence",
        /// Anything else; the detail says what.
        Other => "other",
    }
}

words! {
    /// What the daemon does about a failure.
    pub enum Reaction {
        /// Wait until the reset time, or with backoff where none is known; not counted as an iteration.
        Park => "park",
        /// Try the same again with backoff, a few times; not counted.
        Retry => "retry",
        /// Give up: the same would happen again until a person changes something.
        Stop => "stop",
        /// Counted like any iteration; the next one, with a fresh context, may do better.
        NextIteration => "next_iteration",
    }
}

impl FailureClass {
    /// What to do about this kind of failure. Unknown failures are taken for passing ones: the retries are few.
    pub const fn reaction(self) -> Reaction {
        match self {
            Self::RateLimit | Self::UsageLimit => Reaction::Park,
            Self::Overloaded | Self::Network | Self::Crash | Self::OutOfMemory | Self::Other => {
                Reaction::Retry
            }
            Self::Auth | Self::Configuration => Reaction::Stop,
            Self::ContextOverflow | Self::Refusal | Self::Timeout | Self::Silence => {
                Reaction::NextIteration
            }
        }
    }
}

/// One failure of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind, on which the daemon acts.
    pub class: FailureClass,
    /// One line for people.
    pub detail: String,
    /// When a limit ends, in milliseconds since 1970, where the tool said so.
    pub reset_at_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_reaction() {
        let table = [
            ("auth", "stop"),
            ("configuration", "stop"),
            ("rate_limit", "park"),
            ("usage_limit", "park"),
            ("overloaded", "retry"),
            ("network", "retry"),
            ("context_overflow", "next_iteration"),
            ("refusal", "next_iteration"),
            ("crash", "retry"),
            ("out_of_memory", "retry"),
            ("timeout", "next_iteration"),
            ("silence", "next_iteration"),
            ("other", "retry"),
        ];
        assert_eq!(table.len(), FailureClass::ALL.len());
        for (class, reaction) in table {
            let parsed: FailureClass = class.parse().expect("a word of the set");
            assert_eq!(parsed.as_str(), class);
            assert_eq!(parsed.reaction().as_str(), reaction, "{class}");
        }
    }
}
