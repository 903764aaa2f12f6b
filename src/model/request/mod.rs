//! A request: what a user asks for, from a Markdown or JSON file, the web, or the command line. Only what
//! was given is known here; defaults are laid under it later, and no name is looked up.

mod markdown;
mod overlay;
mod problem;
#[cfg(test)]
mod properties;
mod schema;
#[cfg(test)]
mod tests;
mod timestamp;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use problem::{Problem, Problems};
pub use schema::schema;
pub(crate) use schema::{defaults_schema, env_names, names};

use crate::model::document::{Node, json};
use crate::model::period::Period;

/// A request to ralphd: an objective, and how to go about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["objective"]))]
pub struct Request {
    /// What is to be achieved; in a Markdown file, the text below the front matter.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("format" = "text"))]
    pub objective: String,

    /// The agent that does the work: a name from `[agents]`. Default: `[defaults].agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub agent: Option<String>,

    /// How many fresh-context runs are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_iterations: Option<u32>,

    /// The exact words that the agent must say when it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line", "maxLength" = 1000))]
    pub completion_promise: Option<String>,

    /// How the promise is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise_match: Option<PromiseMatch>,

    /// A shell command that must exit 0 in the workspace before the promise is believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text"))]
    pub verify: Option<String>,

    /// Globs of files that the agent must not change for the verification to count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::globs")]
    pub protect: Vec<String>,

    /// What the session may spend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,

    /// `none`, `auto`, or the name of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub plan: Option<String>,

    /// What the workflow is given, by the names of its inputs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::inputs")]
    pub inputs: BTreeMap<String, String>,

    /// How much is done without asking: 1-2 ask before every step, 3 before critical steps, 4-5 never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    pub autonomy: Option<u8>,

    /// The directory the agent works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,

    /// Files or `postgres://` addresses that SQL steps may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::lines")]
    pub datasets: Vec<String>,

    /// Higher goes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub priority: Option<i64>,

    /// Not to be started before this time (RFC 3339, with its offset).
    #[serde(with = "timestamp", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub not_before: Option<Timestamp>,

    /// Free words to find the session by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::labels")]
    pub labels: BTreeMap<String, String>,

    /// Who is told: names from `[notify]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::names")]
    pub notify: Vec<String>,

    /// An address that the result is posted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "http-url", "maxLength" = 2000))]
    pub callback_url: Option<String>,

    /// How long one run of the agent may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub iteration_timeout: Option<Period>,

    /// How long an agent may stay silent before its run is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub silence_timeout: Option<Period>,

    /// After so many iterations in a row without any sign of progress the loop ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub stagnation_threshold: Option<u32>,

    /// How long a person's answer is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub human_timeout: Option<Period>,

    /// How many tasks of this session may run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub max_parallel: Option<u32>,

    /// Names of environment variables that are passed on to the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::env_names")]
    pub env: Vec<String>,

    /// Two requests with the same key become one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line", "maxLength" = 255))]
    pub idempotency_key: Option<String>,
}

/// Keys of a request that are laid over an earlier one.
pub struct Changes;

/// How the promise is looked for in the agent's final words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromiseMatch {
    /// Alone on a line, or in `<promise>…</promise>`.
    #[default]
    Line,
    /// Anywhere.
    Contains,
}

/// What a session may spend; the first limit that is reached ends it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000_000))]
    pub usd: Option<f64>,

    /// Tokens, in and out together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_u64))]
    pub tokens: Option<u64>,

    /// Time on the clock since the session started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub wall: Option<Period>,

    /// Calls of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub tool_calls: Option<u64>,
}

/// The directory the agent works in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workspace {
    /// A name under which the workspace is kept and found again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub session: Option<String>,

    /// The git repository to work on: a path or an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "git-location"))]
    pub repo: Option<String>,

    /// The branch, tag or commit to start from.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "git-reference"))]
    pub reference: Option<String>,

    /// Without the history before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shallow: Option<bool>,

    /// Work in the directory `repo` itself instead of a copy of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<bool>,

    /// Whether runs wait for each other or work on branches of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collaboration: Option<Collaboration>,
}

/// How several runs share a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Collaboration {
    /// One run at a time.
    #[default]
    Sequential,
    /// Each task on a branch of its own, merged at the end.
    Parallel,
}

impl Request {
    /// Reads a Markdown request: optional YAML front matter, then the objective.
    pub fn from_markdown(text: &str) -> Result<Request, Problems> {
        schema::request_from(&markdown::parse(text)?)
    }

    /// Reads a JSON request.
    pub fn from_json(text: &str) -> Result<Request, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        schema::request_from(&json::parse(text)?)
    }

    /// Reads some keys of a request, to be laid over an earlier one.
    pub fn changes_from_json(text: &str) -> Result<Request, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        schema::changes_from(&json::parse(text)?)
    }

    /// The checks of a request that was not read from a file, such as one made of command-line options.
    pub fn validate(&self) -> Result<(), Problems> {
        // JSON has no such numbers: they would turn into "not given".
        let usd = self.budget.as_ref().and_then(|budget| budget.usd);
        if usd.is_some_and(|usd| !usd.is_finite()) {
            return Err(Problem::of_key("budget.usd", "must be a finite number").into());
        }
        let value =
            serde_json::to_value(self).map_err(|error| Problem::plain(error.to_string()))?;
        schema::request_from(&Node::from(value)).map(|_| ())
    }
}
