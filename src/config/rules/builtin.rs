//! What must hold for agents of either kind: which keys belong to which, and what a built-in one cannot do without.

use super::at;
use crate::config::Config;
use crate::config::agent::{Agent, AgentKind, Provider};
use crate::model::document::{Finding, Node};

/// Keys that only mean something for a program.
const OF_COMMANDS: &[&str] = &["preset", "command", "prompt", "output"];
/// Keys that only mean something for the built-in loop.
const OF_BUILTINS: &[&str] = &[
    "provider",
    "base_url",
    "cassette",
    "tools",
    "external_directory",
    "readable",
    "writable",
    "max_steps",
    "max_tool_calls",
    "tool_timeout",
    "bash_timeout",
    "doom_loop_threshold",
    "context_window",
    "max_output_tokens",
    "compact_at",
    "protect_tokens",
    "reply_timeout",
    "pre_tool",
    "post_tool",
    "hook_timeout",
];

pub(super) fn broken(config: &Config, tree: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, agent) in &config.agents {
        findings.extend(misplaced(name, agent.kind, tree));
        if agent.kind == AgentKind::Builtin {
            findings.extend(missing(agent).map(|(key, message)| {
                let place = tree.place_of(&["agents", name]);
                Finding {
                    place: place.cloned().unwrap_or_default(),
                    key: format!("agents.{name}.{key}"),
                    message: message.to_owned(),
                }
            }));
            findings.extend(contradictions(name, agent, tree));
        }
    }
    findings
}

fn misplaced(name: &str, kind: AgentKind, tree: &Node) -> Vec<Finding> {
    let (keys, message) = match kind {
        AgentKind::Command => (
            OF_BUILTINS,
            "is for built-in agents only; set kind = \"builtin\", or leave it out",
        ),
        AgentKind::Builtin => (
            OF_COMMANDS,
            "is for agents that are programs; a built-in agent needs none of it",
        ),
    };
    let given = keys
        .iter()
        .filter(|key| tree.place_of(&["agents", name, key]).is_some());
    given
        .map(|key| at(tree, &["agents", name, key], message.to_owned()))
        .collect()
}

fn missing(agent: &Agent) -> Option<(&'static str, &'static str)> {
    match agent.provider {
        None => Some((
            "provider",
            "is missing: anthropic, openai (also for local servers, with base_url) or recorded",
        )),
        Some(Provider::Recorded) if agent.cassette.is_none() => Some((
            "cassette",
            "is missing: name the file that 'ralphd run … --record FILE' made",
        )),
        Some(Provider::Anthropic | Provider::Openai) if agent.model.is_none() => {
            Some(("model", "is missing: name the model that shall answer"))
        }
        Some(_) => None,
    }
}

fn contradictions(name: &str, agent: &Agent, tree: &Node) -> Vec<Finding> {
    let recorded = agent.provider == Some(Provider::Recorded);
    let mut findings = Vec::new();
    let mut blame = |key: &str, message: &str| {
        findings.push(at(tree, &["agents", name, key], message.to_owned()))
    };
    if agent.cassette.is_some() && !recorded {
        blame("cassette", "is only played with provider = \"recorded\"");
    }
    if agent.base_url.is_some() && recorded {
        blame("base_url", "is not asked with provider = \"recorded\"");
    }
    if agent
        .base_url
        .as_ref()
        .is_some_and(|url| url.contains(['@', '?']))
    {
        blame(
            "base_url",
            "must not hold a name, a password or a query; give the key by api_key_env or api_key_file",
        );
    }
    for (key, command) in [
        ("pre_tool", &agent.pre_tool),
        ("post_tool", &agent.post_tool),
    ] {
        if command
            .first()
            .is_some_and(|program| program.trim().is_empty())
        {
            blame(key, "must begin with the name of a program, is blank");
        }
    }
    findings
}
