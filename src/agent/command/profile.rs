//! How one program is run and what it can tell: its configuration over its preset over the plain default.
//! Words only; nothing is started here.

use crate::agent::key::Key;
use crate::config::{self, agent::PromptDelivery};
use crate::model::preset::{Format, Preset, Prompt};
use std::time::Duration;

/// What an agent can tell of what it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Reports {
    pub cost: bool,
    pub tokens: bool,
    pub tool_calls: bool,
}

/// A program, ready to be run.
#[derive(Clone, Debug)]
pub struct Profile {
    pub preset: Option<&'static str>,
    pub command: Vec<String>,
    pub prompt: Prompt,
    pub format: Format,
    /// Variables it is given.
    pub set_environment: Vec<(String, String)>,
    /// Names of variables that are passed on to it.
    pub pass_environment: Vec<String>,
    pub key: Option<Key>,
    pub reports: Reports,
    pub silence: Option<Duration>,
    pub cost_per_iteration: Option<f64>,
    pub limits: config::agent::Limits,
}

impl Profile {
    /// A program that reads the prompt from stdin and prints its answer.
    pub fn of_text(command: &[&str]) -> Self {
        Self {
            preset: None,
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            prompt: Prompt::Stdin,
            format: Format::Text,
            set_environment: Vec::new(),
            pass_environment: Vec::new(),
            key: None,
            reports: Reports::default(),
            silence: None,
            cost_per_iteration: None,
            limits: config::agent::Limits::default(),
        }
    }

    /// A known tool.
    pub fn of_preset(preset: &'static Preset) -> Self {
        Self {
            preset: Some(preset.name),
            prompt: preset.prompt,
            format: preset.format,
            set_environment: set_environment(preset),
            pass_environment: preset
                .pass_environment
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            reports: Reports {
                cost: preset.reports_cost,
                tokens: preset.reports_tokens,
                tool_calls: preset.reports_tool_calls,
            },
            silence: preset.silence_timeout_ms.map(Duration::from_millis),
            ..Self::of_text(&preset.command_line())
        }
    }

    /// A configured agent; what it does not say comes from its preset.
    pub fn of_config(agent: &config::Agent) -> Self {
        let preset = agent.preset.as_deref().and_then(Preset::named);
        let mut profile = preset.map_or_else(|| Self::of_text(&[]), Self::of_preset);
        if !agent.command.is_empty() {
            profile.command = agent.command.clone();
        }
        if let Some(delivery) = agent.prompt {
            profile.prompt = match delivery {
                PromptDelivery::Stdin => Prompt::Stdin,
                PromptDelivery::Arg => Prompt::Arg,
                PromptDelivery::File => Prompt::File,
            };
        }
        if let Some(format) = agent.output.as_deref().and_then(|name| name.parse().ok()) {
            profile.format = format;
            profile.reports = reports_of(format);
        }
        profile.pass_environment.extend(agent.env.iter().cloned());
        profile.key = agent.key_variable().map(|variable| Key {
            variable: variable.to_owned(),
            file: agent.api_key_file.clone(),
        });
        let own_variable = profile.key.iter().filter(|key| key.file.is_none());
        let own_variable = own_variable.map(|key| key.variable.clone());
        profile.pass_environment.extend(own_variable);
        profile.cost_per_iteration = agent.cost_per_iteration;
        profile.limits = agent.limits.clone();
        profile
    }

    /// Whether a limit in USD can be kept with this agent.
    pub fn knows_its_cost(&self) -> bool {
        self.reports.cost || self.cost_per_iteration.is_some()
    }
}

/// What the stream of a format tells, by the tool that speaks it.
fn reports_of(format: Format) -> Reports {
    let spoken_by = crate::model::preset::PRESETS
        .iter()
        .find(|preset| preset.format == format);
    spoken_by.map_or_else(Reports::default, |preset| Reports {
        cost: preset.reports_cost,
        tokens: preset.reports_tokens,
        tool_calls: preset.reports_tool_calls,
    })
}

fn set_environment(preset: &Preset) -> Vec<(String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut variables: Vec<(String, String)> = preset.set_environment.iter().map(own).collect();
    // Claude Code refuses unattended work for root unless it is told that the machine is given over to it; whoever
    // lets ralphd run agents as root has done just that.
    if preset.format == Format::Claude && rustix::process::geteuid().is_root() {
        variables.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> config::Agent {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn configuration_wins_over_preset_over_default() {
        let plain = Profile::of_config(&agent("command = [\"x\"]"));
        assert_eq!((plain.format, plain.prompt), (Format::Text, Prompt::Stdin));
        assert!(!plain.knows_its_cost());
        let claude = Profile::of_config(&agent("preset = \"claude\""));
        assert_eq!(claude.command[0], "claude");
        assert!(
            claude.reports.cost
                && claude
                    .pass_environment
                    .contains(&"ANTHROPIC_API_KEY".to_owned())
        );
        let own = Profile::of_config(&agent(
            "preset = \"claude\"\ncommand = [\"/opt/claude\", \"-p\"]\nenv = [\"MINE\"]\nprompt = \"arg\"",
        ));
        assert_eq!(own.command, ["/opt/claude", "-p"]);
        assert_eq!((own.format, own.prompt), (Format::Claude, Prompt::Arg));
        assert!(own.pass_environment.contains(&"MINE".to_owned()));
        let spoken = Profile::of_config(&agent(
            "command = [\"mine\"]\noutput = \"codex\"\ncost_per_iteration = 0.5",
        ));
        assert!(spoken.reports.tokens && spoken.knows_its_cost());
    }
}
