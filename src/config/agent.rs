//! `[agents.NAME]`: a worker as it is configured. Nothing here looks whether its program exists.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::model::conversation::TOOLS;
use crate::model::period::Period;
use crate::model::preset::{Format, PRESETS, Preset};
use crate::model::request;

/// The built-in agent that plays a recorded conversation; its name cannot be taken.
pub const REHEARSAL: &str = "rehearsal";

/// Whether an agent may be used without being configured: the built-in one, and tools that may be found on `PATH`.
pub fn needs_no_configuration(name: &str) -> bool {
    name == REHEARSAL || PRESETS.iter().any(|preset| preset.name == name)
}

/// A configured agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    #[serde(default)]
    pub kind: AgentKind,
    /// A known tool, whose settings are taken where none are given here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "preset_schema")]
    pub preset: Option<String>,
    /// The program and its arguments; not needed with a preset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "command_schema")]
    pub command: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptDelivery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "output_schema")]
    pub output: Option<String>,
    /// The model it works with: named to a preset's tool, and looked up among the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "model", "maxLength" = 200))]
    pub model: Option<String>,
    /// Who goes on while a limit shuts this agent out: another agent, or several in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fallback_schema")]
    pub fallback: Vec<String>,
    /// How many turns of it may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub max_parallel: Option<u32>,
    /// Names of environment variables that this agent gets beside the usual ones.
    #[serde(default)]
    #[schemars(schema_with = "request::env_names")]
    pub env: Vec<String>,
    /// The variable in which the agent looks for its key; its preset knows the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "env-name"))]
    pub api_key_env: Option<String>,
    /// The file that holds the key; a relative path is one of systemd's credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "key-file"))]
    pub api_key_file: Option<PathBuf>,
    /// US dollars that one iteration is taken to cost, where the agent cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub cost_per_iteration: Option<f64>,
    #[serde(default)]
    pub limits: Limits,
    /// Who answers a built-in agent; this and all below are for those alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// Where the model is asked, if not at the provider's own place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "http-url"))]
    pub base_url: Option<String>,
    /// The recorded conversation that is played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub cassette: Option<PathBuf>,
    /// The tools it may use; all of them where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "tools_schema")]
    pub tools: Option<Vec<String>>,
    /// Whether its tools may go beyond the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_directory: Option<ExternalDirectory>,
    /// Directories beyond the workspace that its commands may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "paths_schema")]
    pub readable: Vec<PathBuf>,
    /// Directories beyond the workspace that its commands may write to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "paths_schema")]
    pub writable: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_steps: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub max_tool_calls: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub tool_timeout: Option<Period>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub bash_timeout: Option<Period>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1_000))]
    pub doom_loop_threshold: Option<u32>,
    /// Tokens that fit into the model's context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 100_000_000))]
    pub context_window: Option<u64>,
    /// Tokens that one reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 10_000_000))]
    pub max_output_tokens: Option<u64>,
    /// The part of the context window at which older history is summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.1, "maximum" = 0.95))]
    pub compact_at: Option<f64>,
    /// Tokens of the newest history that are kept as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000_000))]
    pub protect_tokens: Option<u64>,
    /// How long one reply of the model may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub reply_timeout: Option<Period>,
    /// A command that is asked before every tool call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "command_schema")]
    pub pre_tool: Vec<String>,
    /// A command that is told of every tool call afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "command_schema")]
    pub post_tool: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub hook_timeout: Option<Period>,
}

impl Agent {
    /// The variable of the agent's key: as configured, else the usual one of its provider, or of its preset where a file holds the key.
    pub fn key_variable(&self) -> Option<&str> {
        if let Some(provider) = self.provider {
            // Servers of one's own mostly want no key, and must not get that of another.
            let usual = provider.key_variable();
            let wanted = self.base_url.is_none() || self.api_key_file.is_some();
            return self.api_key_env.as_deref().or(usual.filter(|_| wanted));
        }
        let preset = self.preset.as_deref().and_then(Preset::named);
        let usual = preset.and_then(|preset| preset.key_variables.first().copied());
        self.api_key_env
            .as_deref()
            .or_else(|| usual.filter(|_| self.api_key_file.is_some()))
    }
}

/// What an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// A program that is started for each turn.
    #[default]
    Command,
    /// ralphd's own loop over a model.
    Builtin,
}

/// Who answers a built-in agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// The Messages API of Anthropic.
    Anthropic,
    /// Chat completions, as OpenAI and most local servers speak them.
    Openai,
    /// A recorded conversation.
    Recorded,
}

impl Provider {
    /// Where its users keep the key.
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai => Some("OPENAI_API_KEY"),
            Self::Recorded => None,
        }
    }
}

/// Whether tools may go beyond the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExternalDirectory {
    #[default]
    Deny,
    Allow,
}

/// How the prompt reaches the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptDelivery {
    Stdin,
    Arg,
    File,
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

pub(super) fn command_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "string", "format": "argument" },
        "maxItems": 1_000,
    })
}

fn tools_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"],
        "items": { "type": "string", "enum": TOOLS },
        "maxItems": 100,
    })
}

fn paths_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "string", "format": "path" },
        "maxItems": 100,
    })
}

fn fallback_schema(_: &mut SchemaGenerator) -> Schema {
    let name = json_schema!({ "type": "string", "format": "name" });
    json_schema!({ "anyOf": [{ "type": "array", "items": name, "maxItems": 100 }, name] })
}

fn preset_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

fn output_schema(_: &mut SchemaGenerator) -> Schema {
    let spoken = Format::ALL
        .iter()
        .filter(|format| **format != Format::Ralphd);
    let names: Vec<&str> = spoken.map(|format| format.as_str()).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}
