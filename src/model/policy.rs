//! What follows when a task has failed: its own policy, else the habit of its error class, within what retries, autonomy and
//! criticality allow. Pure: one function from what is known to what is done; it must not read a clock, a row or an error text.

#[cfg(test)]
mod tests;

use super::words::words;

/// Retries after the first try, where the configuration says nothing else.
pub const MAX_RETRIES: u32 = 2;
/// New plans within one session: one that fails in the same way each time must come to an end.
pub const MAX_REPLANS: u32 = 2;
/// With `auto`, this many failures in a session are no accident any more.
pub const FAILURES_FOR_A_HUMAN: u32 = 3;
/// Up to this autonomy a person is asked before something is given up.
const ASK_BEFORE_GIVING_UP_UP_TO: u8 = 3;
/// A timeout seldom passes by repetition.
const TIMEOUT_RETRIES: u32 = 1;

words! {
    /// What a task's author wants done when it fails.
    pub enum OnFailure {
        Retry => "retry",
        Skip => "skip",
        Stop => "stop",
        Human => "human",
        Replan => "replan",
        /// The error analyzer chooses.
        Auto => "auto",
    }
}

words! {
    /// What kind of thing went wrong in a task.
    pub enum ErrorClass {
        SqlError => "sql_error",
        Timeout => "timeout",
        NoData => "no_data",
        /// Several answers are equally right.
        Ambiguous => "ambiguous",
        Permission => "permission",
        /// A table or column is not what the plan took it for.
        SchemaMismatch => "schema_mismatch",
        /// The content is not of the form that was expected.
        Format => "format",
        Other => "other",
    }
}

words! {
    /// What the error analyzer may choose.
    pub enum AnalyzerChoice {
        Retry => "retry",
        Skip => "skip",
        Stop => "stop",
        Human => "human",
        Replan => "replan",
    }
}

/// A failure and all that bears on what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setback {
    /// The task's own policy; nothing given leaves it to the error class.
    pub policy: Option<OnFailure>,
    pub class: ErrorClass,
    /// How often the task was retried already.
    pub retries: u32,
    pub max_retries: u32,
    pub critical: bool,
    pub autonomy: u8,
    /// Failures of tasks in this session, this one included.
    pub session_failures: u32,
    /// How often this session was planned anew.
    pub replans: u32,
    /// What the error analyzer said about this failure, once it was asked.
    pub analyzer: Option<AnalyzerChoice>,
}

/// What is done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Again; with the error in the prompt where that can change the outcome.
    Retry {
        with_error: bool,
    },
    /// Go on without its result.
    Skip,
    /// End the session.
    Stop,
    AskHuman,
    /// Keep what is completed, plan the rest anew.
    Replan,
    AskAnalyzer,
    /// The task has failed; what depends on it is blocked.
    Fail,
}

/// What to do about a failure.
pub fn decide(setback: &Setback) -> Decision {
    match setback.policy {
        None => setback.by_class(),
        Some(OnFailure::Retry) => setback.retry(setback.max_retries),
        Some(OnFailure::Skip) => setback.skip(),
        Some(OnFailure::Stop) => Decision::Stop,
        Some(OnFailure::Human) => Decision::AskHuman,
        Some(OnFailure::Replan) => setback.replan(),
        Some(OnFailure::Auto) => setback.automatic(),
    }
}

impl Setback {
    fn by_class(&self) -> Decision {
        match self.class {
            ErrorClass::SqlError | ErrorClass::Other => self.retry(self.max_retries),
            ErrorClass::Timeout if self.retries < TIMEOUT_RETRIES.min(self.max_retries) => {
                self.again()
            }
            ErrorClass::Timeout | ErrorClass::NoData => self.skip(),
            ErrorClass::Ambiguous | ErrorClass::Format => Decision::AskHuman,
            ErrorClass::Permission => Decision::Stop,
            ErrorClass::SchemaMismatch => self.replan(),
        }
    }

    fn automatic(&self) -> Decision {
        if self.session_failures >= FAILURES_FOR_A_HUMAN {
            return Decision::AskHuman;
        }
        match self.analyzer {
            None => Decision::AskAnalyzer,
            Some(AnalyzerChoice::Retry) => self.retry(self.max_retries),
            Some(AnalyzerChoice::Skip) => self.skip(),
            Some(AnalyzerChoice::Stop) => Decision::Stop,
            Some(AnalyzerChoice::Human) => Decision::AskHuman,
            Some(AnalyzerChoice::Replan) => self.replan(),
        }
    }

    fn retry(&self, max_retries: u32) -> Decision {
        if self.retries < max_retries {
            self.again()
        } else {
            self.give_up()
        }
    }

    /// After a timeout there is nothing to learn from the error; everything else may be done better, knowing it.
    fn again(&self) -> Decision {
        Decision::Retry {
            with_error: self.class != ErrorClass::Timeout,
        }
    }

    fn skip(&self) -> Decision {
        if self.critical {
            self.give_up()
        } else {
            Decision::Skip
        }
    }

    fn replan(&self) -> Decision {
        if self.replans < MAX_REPLANS {
            Decision::Replan
        } else {
            self.give_up()
        }
    }

    fn give_up(&self) -> Decision {
        if self.autonomy <= ASK_BEFORE_GIVING_UP_UP_TO {
            Decision::AskHuman
        } else {
            Decision::Fail
        }
    }
}
