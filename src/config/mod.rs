//! The configuration: built-in defaults, under a file, under the environment. The structs are the only list
//! of keys; their JSON Schema is what a file is checked against. It reads the file and starts nothing.

pub mod agent;
mod digest;
mod environment;
mod events;
mod file;
pub mod hooks;
pub mod http;
mod load;
pub mod notify;
pub mod paths;
mod planned;
mod problem;
#[cfg(test)]
mod reference;
mod rules;
mod schedule;
#[cfg(test)]
mod tests;
mod workspaces;

use indexmap::IndexMap;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

pub use agent::Agent;
pub use digest::Digest;
pub use environment::Environment;
pub use events::Events;
pub use hooks::Hook;
pub use http::Http;
pub use load::Loaded;
pub use notify::{Callbacks, Target};
pub use planned::{Planner, Roles, Workflows};
pub use problem::{ConfigError, ConfigProblem};
pub use rules::unknown_target;
pub use schedule::{Schedule, ScheduledRequest};
pub use workspaces::{Git, Workspaces};

use crate::model::delegation;
use crate::model::period::Period;
use crate::model::policy;
use crate::model::price::Price;
use crate::model::request::{self, PromiseMatch, Request};

/// The commented reference with every key and default.
pub const REFERENCE: &str = include_str!("../../config/ralphd.toml");

/// Everything that can be configured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the database, the inbox and the workspaces live.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub state: Option<PathBuf>,
    pub defaults: Defaults,
    pub planner: Planner,
    pub roles: Roles,
    pub inbox: InboxRules,
    /// Inboxes beside the one in the state directory.
    #[schemars(extend("maxItems" = 100))]
    pub inboxes: Vec<Inbox>,
    /// Requests that start by the clock.
    #[schemars(extend("maxItems" = 1_000))]
    pub schedules: Vec<Schedule>,
    pub queue: Queue,
    pub budget: Budget,
    /// Prices of models, over the built-in ones.
    #[schemars(schema_with = "prices_schema")]
    pub prices: IndexMap<String, Price>,
    pub workspaces: Workspaces,
    pub git: Git,
    pub process: Process,
    pub secrets: Secrets,
    pub prompts: Prompts,
    pub workflows: Workflows,
    pub http: Http,
    pub callbacks: Callbacks,
    /// Who is told of sessions, by name.
    #[schemars(schema_with = "notify::targets_schema")]
    pub notify: IndexMap<String, Target>,
    pub digest: Digest,
    pub events: Events,
    pub log: Log,
    /// The agents, by name.
    #[schemars(schema_with = "agents_schema")]
    pub agents: IndexMap<String, Agent>,
    /// The webhooks, by name.
    #[schemars(schema_with = "hooks::hooks_schema")]
    pub hooks: IndexMap<String, Hook>,
}

/// What a request that does not say otherwise gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub agent: Option<String>,
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_iterations: u32,
    #[schemars(extend("format" = "line", "maxLength" = 1000))]
    pub completion_promise: String,
    pub promise_match: PromiseMatch,
    #[schemars(extend("format" = "positive-period"))]
    pub iteration_timeout: Period,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub silence_timeout: Option<Period>,
    #[schemars(range(min = 1, max = 1_000_000))]
    pub stagnation_threshold: u32,
    #[schemars(extend("format" = "positive-period"))]
    pub verify_timeout: Period,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub summarizer: Option<String>,
    #[schemars(extend("format" = "positive-period"))]
    pub summarizer_timeout: Period,
    #[schemars(range(min = 1, max = 5))]
    pub autonomy: u8,
    #[schemars(extend("format" = "positive-period"))]
    pub human_timeout: Period,
    #[schemars(range(min = 0, max = 100))]
    pub transient_retries: u32,
    #[schemars(extend("format" = "positive-period"))]
    pub transient_backoff: Period,
    #[schemars(range(min = 0, max = 10))]
    pub max_retries: u32,
    #[schemars(range(min = 0, max = 10))]
    pub max_depth: u32,
    #[schemars(schema_with = "request::names")]
    pub notify: Vec<String>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            agent: None,
            max_iterations: 10,
            completion_promise: "TASK_COMPLETE".to_owned(),
            promise_match: PromiseMatch::Line,
            iteration_timeout: Period::from_mins(30),
            silence_timeout: None,
            stagnation_threshold: 3,
            verify_timeout: Period::from_mins(10),
            summarizer: None,
            summarizer_timeout: Period::from_mins(5),
            autonomy: 4,
            human_timeout: Period::from_hours(24),
            transient_retries: 3,
            transient_backoff: Period::from_secs(1),
            max_retries: policy::MAX_RETRIES,
            max_depth: delegation::MAX_DEPTH,
            notify: Vec::new(),
        }
    }
}

/// When a file in an inbox counts as a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InboxRules {
    pub settle: Period,
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub max_bytes: u64,
    #[schemars(extend("format" = "positive-period"))]
    pub rescan: Period,
}

impl Default for InboxRules {
    fn default() -> InboxRules {
        InboxRules {
            settle: Period::from_millis(500),
            max_bytes: 1_048_576,
            rescan: Period::from_secs(30),
        }
    }
}

/// A further inbox, with defaults of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    #[schemars(extend("format" = "path"))]
    pub path: PathBuf,
    /// Request keys for files of this inbox that do not give them; its `objective` is always empty.
    #[serde(default)]
    #[schemars(schema_with = "request::defaults_schema")]
    pub defaults: Request,
}

/// How tasks are taken from the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    #[schemars(range(min = 1, max = 256))]
    pub max_parallel: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub max_sessions: Option<u32>,
    #[schemars(extend("format" = "positive-period"))]
    pub lease: Period,
    #[schemars(extend("format" = "positive-period"))]
    pub heartbeat: Period,
    /// A window of the day, as `22:00-06:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "window"))]
    pub window: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub starts_per_hour: Option<u32>,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            max_parallel: 4,
            max_sessions: None,
            lease: Period::from_secs(30),
            heartbeat: Period::from_secs(10),
            window: None,
            starts_per_hour: None,
        }
    }
}

/// Limits in US dollars beside those of the requests; none by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub iteration_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub day_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub month_usd: Option<f64>,
}

impl Budget {
    /// Whether anything is limited.
    pub fn is_set(&self) -> bool {
        *self != Budget::default()
    }
}

/// How programs are run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Process {
    pub kill_grace: Period,
    #[schemars(range(min = 4096, max = 1_099_511_627_776_u64))]
    pub output_cap_bytes: u64,
    #[schemars(schema_with = "request::env_names")]
    pub env: Vec<String>,
}

impl Default for Process {
    fn default() -> Process {
        Process {
            kill_grace: Period::from_secs(10),
            output_cap_bytes: 67_108_864,
            env: Vec::new(),
        }
    }
}

/// What is masked wherever it would be shown or stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    #[schemars(schema_with = "request::env_names")]
    pub names: Vec<String>,
}

/// Where prompt templates come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prompts {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub dir: Option<PathBuf>,
}

/// What the daemon says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub level: LogLevel,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Config {
    /// Names of variables that hold secrets although they do not sound like it.
    pub fn secret_names(&self) -> Vec<String> {
        let keys = self.agents.values().filter_map(Agent::key_variable);
        let named = self.secrets.names.iter().map(String::as_str);
        let hooks = self.hooks.values().flat_map(|hook| &hook.secret_env);
        let told = self.notify.values().flat_map(Target::secret_variables);
        let signed = self.callbacks.secret_env.as_deref();
        let all = named.chain(keys).chain(hooks.map(String::as_str));
        let all = all.chain(told).chain(signed);
        all.map(str::to_owned).collect()
    }
}

fn prices_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "model" },
        "additionalProperties": generator.subschema_for::<Price>(),
        "maxProperties": 1_000,
    })
}

fn agents_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "name" },
        "additionalProperties": generator.subschema_for::<Agent>(),
        "maxProperties": 1_000,
    })
}

/// The JSON Schema of the configuration.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}
