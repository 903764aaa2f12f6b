//! `[agents.NAME]`: a worker as it is configured. Nothing here looks whether its program exists.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::model::request;

/// The built-in agent that plays a recorded conversation; its name cannot be taken.
pub const REHEARSAL: &str = "rehearsal";

/// Agents that may be used without being configured.
pub const WITHOUT_CONFIGURATION: [&str; 5] = [REHEARSAL, "claude", "codex", "gemini", "opencode"];

/// A configured agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    #[serde(default)]
    pub kind: AgentKind,
    /// The program and its arguments.
    #[schemars(schema_with = "command_schema")]
    pub command: Vec<String>,
    #[serde(default)]
    pub prompt: PromptDelivery,
    #[serde(default)]
    pub output: OutputFormat,
    /// Names of environment variables that this agent gets beside the usual ones.
    #[serde(default)]
    #[schemars(schema_with = "request::env_names")]
    pub env: Vec<String>,
    /// US dollars that one iteration is taken to cost, where the agent cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub cost_per_iteration: Option<f64>,
    #[serde(default)]
    pub limits: Limits,
}

/// What an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    #[default]
    Command,
}

/// How the prompt reaches the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptDelivery {
    #[default]
    Stdin,
    Arg,
    File,
}

/// How the program's output is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    #[default]
    Text,
}

/// Resource limits of the agent's processes; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub open_files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub processes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_u64))]
    pub file_size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_000_u64))]
    pub memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub cpu_seconds: Option<u64>,
}

fn command_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "string", "format": "argument" },
        "minItems": 1,
        "maxItems": 1_000,
    })
}
