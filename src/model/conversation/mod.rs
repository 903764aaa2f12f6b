//! A conversation of the built-in agent with a model, in the words of neither dialect: the objective, then step after step.
//! A step holds a reply together with the results of all its tool calls, so that nothing can part them.
//! It must not know how a provider writes any of it.

pub mod compaction;
pub mod doom;
pub mod permit;

use serde::{Deserialize, Serialize};

/// The tools that an agent may be permitted, by name.
pub const TOOLS: &[&str] = &[
    "read",
    "write",
    "edit",
    "bash",
    "glob",
    "grep",
    "git_status",
    "git_diff",
    "git_log",
    "ask_human",
    "spawn_agent",
];

/// What was said so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The prompt of the iteration: never dropped, never shortened.
    pub objective: String,
    /// What the steps that were let go had come to.
    pub summary: Option<String>,
    pub steps: Vec<Step>,
}

/// One exchange: what the model said, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub reply: Reply,
    /// One for each call of the reply, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<CallResult>,
    /// What the loop itself tells the model after the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    #[serde(default)]
    pub stop: ReplyStop,
    #[serde(default)]
    pub usage: StepUsage,
    /// The model that answered, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Reply {
    /// Whether these are final words: whole, and with nothing to be done after them.
    pub fn is_final(&self) -> bool {
        self.calls.is_empty() && self.stop == ReplyStop::Finished
    }
}

/// Why a model stopped talking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStop {
    /// It has said what it wanted to say, or wants its calls answered.
    #[default]
    Finished,
    /// The reply was longer than it may be.
    MaxTokens,
    /// It, or its safeguards, declined.
    Refusal,
}

/// A tool call as the model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// JSON if all is well; models have been seen to write other things.
    pub arguments: String,
}

/// What came of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub call_id: String,
    pub text: String,
    pub ok: bool,
    #[serde(default)]
    pub duration_ms: u64,
    #[serde(default)]
    pub retries: u32,
}

/// Tokens of one reply. `input` counts all that went in, with what was read from and written to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepUsage {
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub cache_written_tokens: u64,
    pub output_tokens: u64,
}
