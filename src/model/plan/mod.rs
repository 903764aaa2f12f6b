//! A plan: the tasks of a session, what each depends on, and what to do when one fails. Written by a planner model as JSON or by hand in
//! a workflow; read tolerantly where the meaning is plain, refused with everything that is wrong where it is not.
//! It must not run anything, nor know where a plan came from.

mod draw;
mod graph;
mod merging;
mod problem;
mod progress;
#[cfg(test)]
mod properties;
mod read;
mod rules;
#[cfg(test)]
mod tests;
mod tidy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use draw::draw;
pub use graph::Graph;
pub use merging::with_merge;
pub use problem::{Problem, Problems};
pub use progress::{Change, Progress, Standing, StepRefusal};
pub(crate) use read::{Draft, drafts};
pub use read::{from_json, from_value};
pub use rules::Rules;
pub(crate) use rules::check;
pub(crate) use tidy::Origin;

use super::policy::OnFailure;
use super::task::TaskKind;
use super::words::words;

/// More tasks than this are no plan but a program.
pub const MAX_TASKS: usize = 10_000;

words! {
    /// How much work a plan is, as its planner sees it.
    pub enum Complexity {
        Simple => "simple",
        Moderate => "moderate",
        Complex => "complex",
    }
}

/// How a session is worked through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The whole approach in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 20_000))]
    pub plan_summary: String,

    /// How much work it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,

    /// The tasks; those that do not depend on each other run at the same time.
    #[schemars(length(min = 1, max = MAX_TASKS))]
    pub tasks: Vec<PlanTask>,
}

/// One task of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanTask {
    /// The number of the task, by which others depend on it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub order: u32,

    /// What runs it: `agent` long work by an agent; `analysis` a decision by a model; `sql_query` rows; `sql_aggregate` one row;
    /// `validation` a check by a model; `transform` a jq filter over the results of its dependencies; `shell` a command; `merge` the
    /// work of parallel branches brought together.
    #[serde(rename = "type")]
    #[schemars(schema_with = "kinds")]
    pub kind: TaskKind,

    /// What is to be done, for whoever does it.
    #[schemars(extend("format" = "text", "maxLength" = 20_000))]
    pub description: String,

    /// The orders of the tasks whose results this one needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "orders")]
    pub depends_on: Vec<u32>,

    /// Who does it: the name of an agent. Left out: the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line", "maxLength" = 1000))]
    pub agent: Option<String>,

    /// Without its result the rest is worth nothing: it cannot be skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,

    /// What to do when it fails. Left out: what suits the kind of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,

    /// The dataset it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line", "maxLength" = 4000))]
    pub target: Option<String>,

    /// For `sql_query` and `sql_aggregate`: one SELECT. Values are placeholders without quotes: `{{dep.N.path}}`, `{{value}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 100_000))]
    pub sql: Option<String>,

    /// For `transform`: a jq filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 100_000))]
    pub filter: Option<String>,

    /// For `shell`: the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 100_000))]
    pub command: Option<String>,

    /// What a right result looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 20_000))]
    pub expected_output: Option<String>,

    /// Why the task is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 20_000))]
    pub reasoning: Option<String>,
}

impl PlanTask {
    /// A task of which only the necessary is said.
    pub fn new(order: u32, kind: TaskKind, description: impl Into<String>) -> PlanTask {
        PlanTask {
            order,
            kind,
            description: description.into(),
            depends_on: Vec::new(),
            agent: None,
            critical: false,
            on_failure: None,
            target: None,
            sql: None,
            filter: None,
            command: None,
            expected_output: None,
            reasoning: None,
        }
    }
}

fn kinds(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let known = TaskKind::ALL.iter().filter(|kind| kind.may_be_planned());
    let words: Vec<&str> = known.map(|kind| kind.as_str()).collect();
    schemars::json_schema!({ "type": "string", "enum": words })
}

fn orders(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": { "type": "integer", "minimum": 0, "maximum": 1_000_000 },
        "maxItems": 1000,
    })
}

/// The JSON Schema of a plan, for a planner.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Plan).to_value()
}
