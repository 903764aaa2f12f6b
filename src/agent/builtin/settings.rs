//! What a built-in agent is told for one turn: its configuration with all defaults filled in, and the circumstances.
//! The daemon writes it down once, at the head of the turn's journal; nothing secret is in it.

use crate::config;
use crate::config::agent::{ExternalDirectory, Provider};
use crate::model::conversation::compaction::SUMMARISE;
use crate::model::period::Period;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const SYSTEM: &str = include_str!("../../../config/prompts/builtin.md");
const MAX_STEPS: u32 = 50;
const MAX_TOOL_CALLS: u32 = 100;
const TOOL_TIMEOUT: Period = Period::from_secs(30);
const BASH_TIMEOUT: Period = Period::from_secs(120);
const DOOM_LOOP_THRESHOLD: u32 = 3;
const COMPACT_AT: f64 = 0.85;
const PROTECT_TOKENS: u64 = 40_000;
const MAX_OUTPUT_TOKENS: u64 = 16_384;
const REPLY_TIMEOUT: Period = Period::from_mins(10);
const HOOK_TIMEOUT: Period = Period::from_secs(10);
const CLAUDE_WINDOW_TOKENS: u64 = 200_000;
const USUAL_WINDOW_TOKENS: u64 = 128_000;

/// How a built-in agent works, whatever the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub source: Source,
    pub model: String,
    /// The variable of the environment that holds the key.
    pub key_variable: Option<String>,
    /// Names of variables whose values nobody may see.
    pub secret_names: Vec<String>,
    /// The tools it may use; nothing means all.
    pub tools: Option<Vec<String>>,
    pub external_directory: ExternalDirectory,
    pub readable: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    pub max_steps: u32,
    pub max_tool_calls: u32,
    pub tool_timeout: Period,
    pub bash_timeout: Period,
    pub doom_loop_threshold: u32,
    pub context_window: u64,
    pub max_output_tokens: u64,
    pub compact_at: f64,
    pub protect_tokens: u64,
    pub reply_timeout: Period,
    pub retries: u32,
    pub backoff: Period,
    pub pre_tool: Vec<String>,
    pub post_tool: Vec<String>,
    pub hook_timeout: Period,
    /// A directory with texts that replace the built-in ones.
    pub prompts: Option<PathBuf>,
    /// The cassette that this conversation is written to.
    pub record: Option<PathBuf>,
}

/// What the model is told beside the task.
pub struct Words {
    pub system: String,
    pub compaction: String,
}

impl Words {
    /// The built-in texts, or those of the same name in a directory of the user's.
    pub fn load(own: Option<&Path>) -> Result<Self> {
        let read = |name: &str, built_in: &str| {
            let path = own.map(|directory| directory.join(name));
            match path.filter(|path| path.exists()) {
                None => Ok(built_in.to_owned()),
                Some(path) => std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read the prompt {}", path.display())),
            }
        };
        Ok(Self {
            system: read("builtin.md", SYSTEM)?,
            compaction: read("compaction.md", SUMMARISE)?,
        })
    }
}

/// Where the replies come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Anthropic {
        base_url: Option<String>,
    },
    Openai {
        base_url: Option<String>,
    },
    Cassette {
        file: PathBuf,
    },
    /// The cassette that comes with the program.
    Rehearsal,
}

impl Source {
    /// Who answers, in a few words.
    pub fn in_words(&self, model: &str) -> String {
        let at = |name: &str, base_url: &Option<String>| match base_url {
            Some(url) => format!("{model} by {name} at {url}"),
            None => format!("{model} by {name}"),
        };
        match self {
            Self::Anthropic { base_url } => at("anthropic", base_url),
            Self::Openai { base_url } => at("openai", base_url),
            Self::Cassette { file } => format!("the cassette {}", file.display()),
            Self::Rehearsal => "a recorded conversation".to_owned(),
        }
    }

    /// Whether nobody is asked, and nothing is paid.
    pub fn is_recorded(&self) -> bool {
        matches!(self, Self::Cassette { .. } | Self::Rehearsal)
    }
}

/// One turn of a built-in agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub settings: Settings,
    pub session_id: String,
    pub task_id: String,
    pub iteration: i64,
    pub workspace: PathBuf,
    pub prompt_file: PathBuf,
    /// For the temporary files of its tools; gone with the turn.
    pub temporary: PathBuf,
    /// The final words shall be JSON of this schema.
    pub answer_schema: Option<Json>,
}

impl Settings {
    /// Those of a configured agent.
    pub fn of_config(agent: &config::Agent, config: &config::Config) -> Self {
        let base_url = agent.base_url.clone();
        let source = match agent.provider {
            Some(Provider::Openai) => Source::Openai { base_url },
            Some(Provider::Recorded) => Source::Cassette {
                file: agent.cassette.clone().unwrap_or_default(),
            },
            Some(Provider::Anthropic) | None => Source::Anthropic { base_url },
        };
        let model = agent.model.clone().unwrap_or_default();
        let usual = Self::usual(source, &model, config);
        Self {
            key_variable: agent.key_variable().map(str::to_owned),
            tools: agent.tools.clone(),
            external_directory: agent.external_directory.unwrap_or_default(),
            readable: agent.readable.clone(),
            writable: agent.writable.clone(),
            max_steps: agent.max_steps.unwrap_or(usual.max_steps),
            max_tool_calls: agent.max_tool_calls.unwrap_or(usual.max_tool_calls),
            tool_timeout: agent.tool_timeout.unwrap_or(usual.tool_timeout),
            bash_timeout: agent.bash_timeout.unwrap_or(usual.bash_timeout),
            doom_loop_threshold: agent
                .doom_loop_threshold
                .unwrap_or(usual.doom_loop_threshold),
            context_window: agent.context_window.unwrap_or(usual.context_window),
            max_output_tokens: agent.max_output_tokens.unwrap_or(usual.max_output_tokens),
            compact_at: agent.compact_at.unwrap_or(usual.compact_at),
            protect_tokens: agent.protect_tokens.unwrap_or(usual.protect_tokens),
            reply_timeout: agent.reply_timeout.unwrap_or(usual.reply_timeout),
            pre_tool: agent.pre_tool.clone(),
            post_tool: agent.post_tool.clone(),
            hook_timeout: agent.hook_timeout.unwrap_or(usual.hook_timeout),
            ..usual
        }
    }

    /// Those of an agent of which no more is said than who answers.
    pub fn usual(source: Source, model: &str, config: &config::Config) -> Self {
        Self {
            key_variable: None,
            secret_names: config.secret_names(),
            tools: None,
            external_directory: ExternalDirectory::Deny,
            readable: Vec::new(),
            writable: Vec::new(),
            max_steps: MAX_STEPS,
            max_tool_calls: MAX_TOOL_CALLS,
            tool_timeout: TOOL_TIMEOUT,
            bash_timeout: BASH_TIMEOUT,
            doom_loop_threshold: DOOM_LOOP_THRESHOLD,
            context_window: match model.contains("claude") {
                true => CLAUDE_WINDOW_TOKENS,
                false => USUAL_WINDOW_TOKENS,
            },
            max_output_tokens: MAX_OUTPUT_TOKENS,
            compact_at: COMPACT_AT,
            protect_tokens: PROTECT_TOKENS,
            reply_timeout: REPLY_TIMEOUT,
            retries: config.defaults.transient_retries,
            backoff: config.defaults.transient_backoff,
            pre_tool: Vec::new(),
            post_tool: Vec::new(),
            hook_timeout: HOOK_TIMEOUT,
            prompts: config.prompts.dir.clone(),
            record: None,
            model: model.to_owned(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// The reference shows every key with its default; what differs there is only an example.
    #[test]
    fn the_reference_tells_the_truth_about_the_defaults() {
        let text: String = config::REFERENCE
            .lines()
            .skip_while(|line| *line != "#[agents.thinker]")
            .filter_map(|line| line.strip_prefix('#').filter(|line| !line.starts_with(' ')))
            .filter(|line| !line.starts_with('[') && !line.starts_with("cassette"))
            .map(|line| format!("{line}\n"))
            .collect();
        let agent: config::Agent = toml::from_str(&text).unwrap();
        let shown = Settings::of_config(&agent, &Config::default());
        let usual = Settings::usual(shown.source.clone(), "claude", &Config::default());
        let examples = Settings {
            model: shown.model.clone(),
            key_variable: shown.key_variable.clone(),
            tools: shown.tools.clone(),
            pre_tool: shown.pre_tool.clone(),
            post_tool: shown.post_tool.clone(),
            ..usual
        };
        assert_eq!(shown, examples);
        let all = crate::model::conversation::TOOLS
            .iter()
            .map(|name| (*name).to_owned());
        assert_eq!(shown.tools, Some(all.collect()));
    }
}
