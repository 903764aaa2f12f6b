//! How one program is run and what it can tell: its configuration over its preset over the plain default.
//! Words only; nothing is started here.

use crate::agent::builtin::settings::Settings;
use crate::agent::key::Key;
use crate::config::{self, agent::PromptDelivery};
use crate::model::preset::{Format, Preset, Prompt};
use crate::model::price::{CostSource, Prices, Quote};
use crate::model::request::Budget;
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
    /// The model it is known to work with before it says so.
    pub model: Option<String>,
    /// The price of that model.
    pub quote: Option<Quote>,
    pub cost_per_iteration: Option<f64>,
    pub limits: config::agent::Limits,
    /// How ralphd's own loop works, where that is the program.
    pub builtin: Option<Settings>,
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
            model: None,
            quote: None,
            cost_per_iteration: None,
            limits: config::agent::Limits::default(),
            builtin: None,
        }
    }

    /// ralphd's own loop over a model; `program` is this very binary.
    pub fn of_builtin(program: &str, settings: Settings, prices: &Prices) -> Self {
        let model = Some(&settings.model).filter(|model| !model.is_empty());
        Self {
            format: Format::Ralphd,
            reports: Reports {
                cost: false,
                tokens: true,
                tool_calls: true,
            },
            quote: model.and_then(|model| prices.quote(model)),
            model: model.cloned(),
            key: settings.key_variable.clone().map(|variable| Key {
                variable,
                file: None,
            }),
            pass_environment: settings.key_variable.iter().cloned().collect(),
            // No tokens are bought from a cassette.
            cost_per_iteration: settings.source.is_recorded().then_some(0.0),
            builtin: Some(settings),
            ..Self::of_text(&[program, "converse"])
        }
    }

    /// A known tool, with a model or with its own choice of one.
    pub fn of_preset(preset: &'static Preset, model: Option<&str>) -> Self {
        Self {
            preset: Some(preset.name),
            prompt: preset.prompt,
            format: preset.format,
            set_environment: set_environment(preset, rustix::process::geteuid().is_root()),
            pass_environment: preset
                .passed_names(|name| std::env::var_os(name).is_some())
                .into_iter()
                .map(str::to_owned)
                .collect(),
            reports: Reports {
                cost: preset.reports_cost,
                tokens: preset.reports_tokens,
                tool_calls: preset.reports_tool_calls,
            },
            silence: preset.silence_timeout_ms.map(Duration::from_millis),
            ..Self::of_text(&preset.command_line(model))
        }
    }

    /// A configured agent; what it does not say comes from its preset.
    pub fn of_config(agent: &config::Agent, prices: &Prices) -> Self {
        let model = agent.model.as_deref();
        let preset = agent.preset.as_deref().and_then(Preset::named);
        let of_preset = |preset| Self::of_preset(preset, model);
        let profile = preset.map_or_else(|| Self::of_text(&[]), of_preset);
        profile.set(agent, prices)
    }

    /// What an agent's configuration says, over what is there.
    pub fn set(self, agent: &config::Agent, prices: &Prices) -> Self {
        let mut profile = self;
        let model = agent.model.as_deref();
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
        profile.model = agent.model.clone();
        profile.quote = model.and_then(|model| prices.quote(model));
        profile.key = Key::of_config(agent);
        let own_variable = profile.key.iter().filter(|key| key.file.is_none());
        let own_variable = own_variable.map(|key| key.variable.clone());
        profile.pass_environment.extend(own_variable);
        profile.cost_per_iteration = agent.cost_per_iteration.or(profile.cost_per_iteration);
        profile.limits = agent.limits.clone();
        profile
    }

    /// How it is known what this agent costs. What is set for it wins over the price of its model.
    pub fn cost_source(&self) -> CostSource {
        match (self.cost_per_iteration, &self.quote) {
            _ if self.reports.cost => CostSource::Reported,
            (Some(usd), _) => CostSource::PerIteration(usd),
            (None, Some(quote)) if self.reports.tokens => CostSource::Priced(quote.clone()),
            _ => CostSource::Unknown,
        }
    }

    /// Whether a limit in USD can be kept with this agent.
    pub fn knows_its_cost(&self) -> bool {
        self.cost_source() != CostSource::Unknown
    }

    /// The limits of a budget that could never be noticed with this agent.
    pub fn unkeepable(&self, budget: &Budget) -> Vec<&'static str> {
        let kept = [
            ("budget.usd", budget.usd.is_some(), self.knows_its_cost()),
            (
                "budget.tokens",
                budget.tokens.is_some(),
                self.reports.tokens,
            ),
            (
                "budget.tool_calls",
                budget.tool_calls.is_some(),
                self.reports.tool_calls,
            ),
        ];
        let broken = kept.into_iter().filter(|(_, asked, told)| *asked && !told);
        broken.map(|(key, ..)| key).collect()
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

fn set_environment(preset: &Preset, as_root: bool) -> Vec<(String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut variables: Vec<(String, String)> = preset.set_environment.iter().map(own).collect();
    // Claude Code refuses unattended work for root unless it is told that the machine is given over to it; whoever
    // lets ralphd run agents as root has done just that.
    if preset.format == Format::Claude && as_root {
        variables.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> Profile {
        Profile::of_config(&toml::from_str(text).unwrap(), &Prices::default())
    }

    #[test]
    fn only_claude_is_told_of_a_sandbox_and_only_as_root() {
        for (name, as_root, expected) in [
            ("claude", true, true),
            ("claude", false, false),
            ("codex", true, false),
        ] {
            let variables = set_environment(Preset::named(name).unwrap(), as_root);
            let told = variables.iter().any(|(name, _)| name == "IS_SANDBOX");
            assert_eq!(told, expected, "{name}");
        }
    }

    #[test]
    fn configuration_wins_over_preset_over_default() {
        let plain = profile("command = [\"x\"]");
        assert_eq!((plain.format, plain.prompt), (Format::Text, Prompt::Stdin));
        assert!(!plain.knows_its_cost());
        let claude = profile("preset = \"claude\"");
        assert_eq!(claude.command[0], "claude");
        assert!(
            claude.reports.cost
                && claude
                    .pass_environment
                    .contains(&"ANTHROPIC_API_KEY".to_owned())
        );
        let own = profile(
            "preset = \"claude\"\ncommand = [\"/opt/claude\", \"-p\"]\nenv = [\"MINE\"]\nprompt = \"arg\"",
        );
        assert_eq!(own.command, ["/opt/claude", "-p"]);
        assert_eq!((own.format, own.prompt), (Format::Claude, Prompt::Arg));
        assert!(own.pass_environment.contains(&"MINE".to_owned()));
        let spoken = profile("command = [\"mine\"]\noutput = \"codex\"\ncost_per_iteration = 0.5");
        assert!(spoken.reports.tokens && spoken.knows_its_cost());
    }
    #[test]
    fn how_the_cost_is_known() {
        for (text, expected) in [
            ("preset = \"claude\"", "reported"),
            ("preset = \"claude\"\ncost_per_iteration = 1", "reported"),
            ("preset = \"codex\"", "unknown"),
            ("preset = \"codex\"\nmodel = \"gpt-5\"", "priced"),
            ("preset = \"codex\"\nmodel = \"my-own\"", "unknown"),
            (
                "preset = \"codex\"\nmodel = \"gpt-5\"\ncost_per_iteration = 1",
                "per_iteration",
            ),
            ("command = [\"x\"]\nmodel = \"gpt-5\"", "unknown"),
            ("command = [\"x\"]\ncost_per_iteration = 1", "per_iteration"),
        ] {
            assert_eq!(profile(text).cost_source().as_str(), expected, "{text}");
        }
    }

    #[test]
    fn a_model_is_named_to_a_preset_but_not_in_an_own_command() {
        let preset = profile("preset = \"gemini\"\nmodel = \"gemini-2.5-pro\"");
        assert!(
            preset
                .command
                .ends_with(&["-m".to_owned(), "gemini-2.5-pro".to_owned()])
        );
        let own = profile("preset = \"gemini\"\nmodel = \"gemini-2.5-pro\"\ncommand = [\"g\"]");
        assert_eq!(own.command, ["g"]);
        assert!(own.knows_its_cost());
    }
}
