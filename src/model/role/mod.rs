//! The parts that agents play in a planned session, and what each answers: types with a schema for the model, and readers that take
//! what models write where its meaning is plain. Pure: it must not ask anybody, nor decide what follows an answer.

mod advice;
mod analysis;
mod extract;
mod fields;
mod query;
mod strict;
#[cfg(test)]
mod tests;
mod validity;

pub use advice::Advice;
pub use analysis::{Analysis, Confidence};
pub use extract::json_in;
pub use query::Query;
pub use validity::Validity;

use super::plan;
use super::words::words;
use serde_json::Value as Json;

words! {
    /// A part that an agent plays in a planned session.
    pub enum Role {
        /// Splits the objective into tasks.
        Planner => "planner",
        /// Decides `analysis` tasks, and writes or mends the SQL of others.
        Analyst => "analyst",
        /// Judges results in `validation` tasks.
        Validator => "validator",
        /// Chooses what follows a failure.
        ErrorAnalyzer => "error_analyzer",
        /// Turns the results of all tasks into the answer.
        Summarizer => "summarizer",
        /// Brings the work of parallel branches together.
        Merger => "merger",
    }
}

/// The schema of a plan in the strict dialect; [`plan::schema`] is the one for people and files.
pub fn plan_schema() -> Json {
    strict::strict(plan::schema())
}
