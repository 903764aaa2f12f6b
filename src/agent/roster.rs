//! Which agents there are: the configured ones, else those found on this machine, and always `rehearsal`.
//! An unknown name is an error that lists the known ones, never a silent default.

use super::builtin::settings::Settings;
use super::command::Command;
pub use super::command::Supervision;
use super::command::profile::{Profile, Reports};
use super::{Agent, builtin};
use crate::config::agent::{AgentKind, Provider, REHEARSAL};
use crate::config::{Config, Roles};
use crate::model::fallback;
use crate::model::nearest::nearest;
use crate::model::preset::PRESETS;
use crate::model::price::Prices;
use crate::model::role::Role;
use crate::process::Supervisor;
use crate::secrets::Vault;
use anyhow::{Context, Result, bail};
use indexmap::IndexMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is asked with a key alone, where nothing is configured.
const CLAUDE: &str = "claude-sonnet-5";
const GPT: &str = "gpt-5.4";

/// Where an agent comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Configured,
    Found,
    Builtin,
}

/// One agent as `ralphd agents` lists it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Member {
    pub name: String,
    pub source: Source,
    pub command: Vec<String>,
    pub preset: Option<&'static str>,
    pub reports: Reports,
    /// Who goes on while a limit shuts it out.
    pub fallback: Vec<String>,
    #[serde(skip)]
    pub profile: Profile,
}

/// All agents, and which one is taken when a request names none.
pub struct Roster {
    members: IndexMap<String, Member>,
    default: String,
    roles: Roles,
    supervision: Arc<Supervision>,
}

impl Roster {
    /// Takes the configured agents, or looks for known ones on PATH. `program` is this very binary, for `rehearsal`.
    pub fn new(
        config: &Config,
        supervisor: Supervisor,
        program: PathBuf,
        secrets: Vault,
    ) -> Result<Self> {
        let prices = Prices::new(&config.prices);
        let program = program.to_string_lossy().into_owned();
        let mut members: IndexMap<String, Member> = config
            .agents
            .iter()
            .map(|(name, agent)| {
                let profile = match agent.kind {
                    AgentKind::Command => Profile::of_config(agent, &prices),
                    AgentKind::Builtin => {
                        let settings = Settings::of_config(agent, config);
                        Profile::of_builtin(&program, settings, &prices).set(agent, &prices)
                    }
                };
                let configured = Member {
                    fallback: agent.fallback.clone(),
                    ..member(name, Source::Configured, profile)
                };
                (name.clone(), configured)
            })
            .collect();
        let mut preferred = config.agents.keys().next().cloned();
        if members.is_empty() {
            for preset in PRESETS.iter().filter(|preset| on_path(preset.program)) {
                preferred.get_or_insert_with(|| preset.name.to_owned());
                let profile = Profile::of_preset(preset, None);
                members.insert(
                    preset.name.to_owned(),
                    member(preset.name, Source::Found, profile),
                );
            }
            for (name, settings) in with_keys_at_hand(config) {
                preferred.get_or_insert_with(|| name.to_owned());
                let profile = Profile::of_builtin(&program, settings, &prices);
                members.insert(name.to_owned(), member(name, Source::Found, profile));
            }
        }
        let rehearsal = Settings::usual(builtin::settings::Source::Rehearsal, "", config);
        let rehearsal = Profile::of_builtin(&program, rehearsal, &prices);
        members.insert(
            REHEARSAL.to_owned(),
            member(REHEARSAL, Source::Builtin, rehearsal),
        );
        let default = config
            .defaults
            .agent
            .clone()
            .or(preferred)
            .unwrap_or_else(|| REHEARSAL.to_owned());
        let supervision = Arc::new(Supervision {
            supervisor,
            kill_grace_ms: config.process.kill_grace.as_millis() as u64,
            output_cap_bytes: config.process.output_cap_bytes,
            environment: config.process.env.clone(),
            secret_names: config.secret_names(),
            secrets,
            prices,
        });
        let roster = Self {
            members,
            default,
            roles: config.roles.clone(),
            supervision,
        };
        roster.member(&roster.default).context("defaults.agent")?;
        if let Some(summarizer) = &config.defaults.summarizer {
            roster.member(summarizer).context("defaults.summarizer")?;
        }
        for role in Role::ALL {
            if let Some(name) = roster.roles.of(*role) {
                roster
                    .member(name)
                    .with_context(|| format!("roles.{role}"))?;
            }
        }
        Ok(roster)
    }

    /// The agent for requests that name none.
    pub fn default_name(&self) -> &str {
        &self.default
    }

    /// Who plays a role in a session of this agent: whom the configuration names, else the session's own.
    pub fn of_role<'a>(&'a self, role: Role, session_agent: &'a str) -> &'a str {
        self.roles.of(role).unwrap_or(session_agent)
    }

    /// All agents, by name.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// The names of all agents.
    pub fn names(&self) -> Vec<String> {
        self.members().map(|member| member.name.clone()).collect()
    }

    /// Lets all built-in agents write what their models say to a cassette.
    pub fn record(&mut self, file: &Path) {
        for member in self.members.values_mut() {
            if let Some(settings) = &mut member.profile.builtin {
                settings.record = Some(file.to_owned());
            }
        }
    }

    /// How programs are supervised.
    pub fn supervision(&self) -> &Arc<Supervision> {
        &self.supervision
    }

    /// The agent of this name.
    pub fn member(&self, name: &str) -> Result<&Member> {
        if let Some(member) = self.members.get(name) {
            return Ok(member);
        }
        let known: Vec<&str> = self.members.keys().map(String::as_str).collect();
        match nearest(name, known.iter().copied()) {
            Some(near) => bail!("no agent is called '{name}'; did you mean {near}?"),
            None => bail!("no agent is called '{name}'; known: {}", known.join(", ")),
        }
    }

    /// An agent and those who may stand in for it, in the order in which they are asked.
    pub fn with_fallbacks<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        fallback::order(name, |name| {
            let member = self.members.get(name);
            member.map_or(&[], |member| &member.fallback)
        })
    }

    /// The agent of this name, ready to work.
    pub fn hire(&self, name: &str) -> Result<Arc<dyn Agent>> {
        let member = self.member(name)?;
        Ok(Arc::new(Command {
            name: member.name.clone(),
            profile: member.profile.clone(),
            supervision: self.supervision.clone(),
        }))
    }
}

impl Member {
    /// Whether its program can be found.
    pub fn is_there(&self) -> bool {
        let program = self.command.first().map(String::as_str);
        program.is_some_and(|program| match program.contains('/') {
            // A relative path begins at a workspace that may not be there yet.
            true => !program.starts_with('/') || is_program(Path::new(program)),
            false => on_path(program),
        })
    }
}

fn member(name: &str, source: Source, profile: Profile) -> Member {
    Member {
        name: name.to_owned(),
        source,
        command: profile.command.clone(),
        preset: profile.preset,
        reports: profile.reports,
        fallback: Vec::new(),
        profile,
    }
}

/// Built-in agents for the model keys that lie in the environment.
fn with_keys_at_hand(config: &Config) -> Vec<(&'static str, Settings)> {
    use builtin::settings::Source;
    let base_url = None;
    let known = [
        (
            "anthropic",
            Provider::Anthropic,
            CLAUDE,
            Source::Anthropic { base_url: None },
        ),
        ("openai", Provider::Openai, GPT, Source::Openai { base_url }),
    ];
    let at_hand = known
        .into_iter()
        .filter_map(|(name, provider, model, source)| {
            let variable = provider.key_variable()?;
            std::env::var_os(variable).filter(|key| !key.is_empty())?;
            let settings = Settings {
                key_variable: Some(variable.to_owned()),
                ..Settings::usual(source, model, config)
            };
            Some((name, settings))
        });
    at_hand.collect()
}

fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| is_program(&directory.join(name)))
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    fn roster(text: &str) -> Result<Roster> {
        let config = Config::from_text(text, None, &Environment::default()).unwrap();
        let program = PathBuf::from("/usr/bin/ralphd");
        Roster::new(&config, Supervisor::default(), program, Vault::default())
    }

    #[test]
    fn a_role_is_played_by_whom_it_names_or_by_the_sessions_own_agent() {
        let agents = "[agents.thinker]\ncommand = ['x']\n[agents.writer]\ncommand = ['x']\n";
        let roster = roster(&format!("{agents}[roles]\nplanner = 'thinker'\n")).unwrap();
        assert_eq!(roster.of_role(Role::Planner, "writer"), "thinker");
        for role in Role::ALL.iter().filter(|role| **role != Role::Planner) {
            assert_eq!(roster.of_role(*role, "writer"), "writer", "{role}");
        }
    }

    #[test]
    fn a_role_without_its_agent_is_refused() {
        // Without agents in the file any name may still be found on this machine; this one is not.
        let refusal = roster("[roles]\nmerger = 'rehearsl'\n").err().unwrap();
        assert_eq!(
            format!("{refusal:#}"),
            "roles.merger: no agent is called 'rehearsl'; did you mean rehearsal?"
        );
    }
}
