//! What can be seen of each agent without asking a model: does it start, has it a key, is it set up to work unattended.
//! Nothing here costs a token or touches the network.

use super::super::agents::{self, Versions};
use super::super::desk::Desk;
use super::{Check, Level, check};
use crate::agent::builtin::settings::{Settings, Source};
use crate::agent::profile::Profile;
use crate::agent::roster::{self, Member, Roster};
use crate::config::agent::ExternalDirectory;
use crate::model::preset::{Format, Preset};
use crate::process::{Fence, Ground};
use serde_json::Value as Json;
use std::path::PathBuf;

const GEMINI_SETTINGS: &str = ".gemini/settings.json";
const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// What an agent would find around it, if the daemon had this process's user and environment.
pub(super) struct Surroundings {
    pub root: bool,
    pub home: Option<PathBuf>,
    /// Names of the variables that are set and not empty.
    pub variables: Vec<String>,
}

impl Surroundings {
    pub(super) fn of_process() -> Self {
        let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
        Self {
            root: rustix::process::geteuid().is_root(),
            home: std::env::var_os("HOME").map(PathBuf::from),
            variables: set
                .filter_map(|(name, _)| name.into_string().ok())
                .collect(),
        }
    }

    fn has(&self, variable: &str) -> bool {
        self.variables.iter().any(|known| known == variable)
    }

    fn has_file(&self, below_home: &str) -> bool {
        let path = self.home.as_ref().map(|home| home.join(below_home));
        !below_home.is_empty() && path.is_some_and(|path| path.is_file())
    }
}

/// The checks of all agents.
pub(super) async fn programs(roster: &Roster) -> (Vec<Check>, Versions) {
    let versions = agents::versions(roster).await.unwrap_or_default();
    let around = Surroundings::of_process();
    let mut checks: Vec<Check> = Vec::new();
    for member in roster.members() {
        checks.extend(version(member, roster, &versions));
        if member.source != roster::Source::Builtin {
            let found = [
                key(&member.profile, &around),
                setup(&member.profile, &around),
                member.profile.builtin.as_ref().and_then(builtin),
            ];
            let named = |(level, detail)| check(&format!("agent {}", member.name), level, detail);
            checks.extend(found.into_iter().flatten().map(named));
        }
    }
    if roster.members().count() == 1 {
        let detail =
            "only the built-in rehearsal; install a coding agent or configure one in [agents]";
        checks.push(check("agents", Level::Warn, detail));
    }
    (checks, versions)
}

/// The roster, or why there is none.
pub(super) fn roster(desk: &Desk) -> Result<Roster, Check> {
    agents::roster(desk).map_err(|error| check("agents", Level::Fail, format!("{error:#}")))
}

fn version(member: &Member, roster: &Roster, versions: &Versions) -> Option<Check> {
    let default = match member.name == roster.default_name() {
        true => ", the default",
        false => "",
    };
    let (level, said) = match versions.get(&member.name)? {
        Ok(version) => (Level::Ok, version),
        Err(none) if none.missing => (Level::Fail, &none.reason),
        Err(none) => (Level::Warn, &none.reason),
    };
    let name = format!("agent {}", member.name);
    Some(check(&name, level, format!("{said}{default}")))
}

/// Where its key comes from; nothing where that is the tool's own business.
fn key(profile: &Profile, around: &Surroundings) -> Option<(Level, String)> {
    let Some(key) = &profile.key else {
        return login(profile.preset.and_then(Preset::named)?, profile, around);
    };
    let variable = &key.variable;
    Some(match key.read() {
        Err(problem) => (Level::Fail, problem),
        Ok(Some(read)) => {
            let place = read.place.display();
            match read.remark {
                None => (Level::Ok, format!("{variable} from {place}")),
                Some(remark) => (Level::Warn, format!("{variable} from {place}: {remark}")),
            }
        }
        Ok(None) if around.has(variable) => (Level::Ok, format!("{variable} is set")),
        Ok(None) => (
            Level::Warn,
            format!(
                "{variable} is not set here; set it for the daemon, or name a file in api_key_file"
            ),
        ),
    })
}

/// The usual ways in: a key in the environment, or a login that the tool remembers.
fn login(preset: &Preset, profile: &Profile, around: &Surroundings) -> Option<(Level, String)> {
    if let Some(variable) = preset.key_variables.iter().find(|name| around.has(name)) {
        return Some((Level::Ok, format!("{variable} is set")));
    }
    if around.has_file(preset.login_file) {
        return Some((Level::Ok, format!("logged in (~/{})", preset.login_file)));
    }
    // Some other way that is not known here, such as a cloud's own credentials.
    let another = profile.pass_environment.iter().any(|name| around.has(name));
    (!preset.login_file.is_empty() && !another).then(|| {
        let detail = format!("neither a key nor a login was found: {}", way_in(preset));
        (Level::Warn, detail)
    })
}

/// What a person does to let a tool in.
pub(super) fn way_in(preset: &Preset) -> String {
    let key = preset.key_variables.first();
    let key = key.map(|key| format!("set {key}, or name a file in api_key_file"));
    let login = (!preset.login.is_empty()).then(|| format!("run '{}'", preset.login));
    let ways: Vec<String> = [key, login].into_iter().flatten().collect();
    match ways.is_empty() {
        true => "give it a key or a login".to_owned(),
        false => ways.join(", or "),
    }
}

/// What keeps a tool from working with nobody to ask.
fn setup(profile: &Profile, around: &Surroundings) -> Option<(Level, String)> {
    let gets = |name: &str| {
        let set = profile.set_environment.iter().any(|(set, _)| set == name);
        set || (around.has(name) && profile.pass_environment.iter().any(|passed| passed == name))
    };
    let detail = match profile.format {
        Format::Claude if around.root && skips_permissions(profile) && !gets("IS_SANDBOX") => {
            "as root it refuses to work unattended: use preset = \"claude\", or pass IS_SANDBOX=1 on with env = [\"IS_SANDBOX\"]".to_owned()
        }
        Format::Gemini if !gets("GEMINI_CLI_TRUST_WORKSPACE") => {
            "it refuses folders that it was not told to trust: use preset = \"gemini\", or pass GEMINI_CLI_TRUST_WORKSPACE=true on with env".to_owned()
        }
        Format::Gemini if !names_its_login(around) => format!(
            "~/{GEMINI_SETTINGS} does not say how it logs in: {{\"security\":{{\"auth\":{{\"selectedType\":\"gemini-api-key\"}}}}}}"
        ),
        _ => return None,
    };
    Some((Level::Warn, detail))
}

/// What keeps a built-in agent from its work.
fn builtin(settings: &Settings) -> Option<(Level, String)> {
    match &settings.source {
        Source::Cassette { file } if !file.is_file() => Some((
            Level::Fail,
            format!("there is no cassette {}", file.display()),
        )),
        _ if settings.external_directory == ExternalDirectory::Allow => None,
        _ => Fence::around(&Ground::default()).err().map(|why| {
            let detail = format!(
                "bash and git are refused: {why}; external_directory = \"allow\" runs them open"
            );
            (Level::Warn, detail)
        }),
    }
}

fn skips_permissions(profile: &Profile) -> bool {
    let skips = |word: &String| {
        word == "--dangerously-skip-permissions" || word.ends_with("bypassPermissions")
    };
    profile.command.iter().any(skips)
}

fn names_its_login(around: &Surroundings) -> bool {
    let Some(home) = &around.home else {
        return false;
    };
    let read = crate::files::read_linked(&home.join(GEMINI_SETTINGS), MAX_SETTINGS_BYTES);
    let settings: Option<Json> = read
        .ok()
        .and_then(|(text, _)| serde_json::from_slice(&text).ok());
    settings.is_some_and(|settings| settings["security"]["auth"]["selectedType"].is_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::price::Prices;

    fn profile(text: &str) -> Profile {
        Profile::of_config(&toml::from_str(text).unwrap(), &Prices::default())
    }

    fn around(variables: &[&str], home: Option<PathBuf>) -> Surroundings {
        Surroundings {
            root: true,
            home,
            variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn keys_and_logins() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        let home = home.path().to_owned();
        for (agent, variables, expected) in [
            ("command = ['x']", &[][..], None),
            (
                "command = ['x']\napi_key_env = 'X'",
                &["X"],
                Some((Level::Ok, "X is set")),
            ),
            (
                "command = ['x']\napi_key_env = 'X'",
                &[],
                Some((Level::Warn, "X is not set here")),
            ),
            (
                "preset = 'claude'",
                &["ANTHROPIC_API_KEY"],
                Some((Level::Ok, "ANTHROPIC_API_KEY is set")),
            ),
            ("preset = 'claude'", &["CLAUDE_CODE_USE_BEDROCK"], None),
            (
                "preset = 'claude'",
                &[],
                Some((
                    Level::Warn,
                    "set ANTHROPIC_API_KEY, or name a file in api_key_file, or run 'claude /login'",
                )),
            ),
            (
                "preset = 'codex'",
                &[],
                Some((Level::Ok, "logged in (~/.codex/auth.json)")),
            ),
            ("preset = 'pi'", &[], None),
            (
                "preset = 'claude'\napi_key_file = '/nowhere/key'",
                &[],
                Some((Level::Fail, "/nowhere/key: it is not there")),
            ),
        ] {
            let found = key(&profile(agent), &around(variables, Some(home.clone())));
            match (found, expected) {
                (None, None) => {}
                (Some((level, said)), Some((expected, words))) => {
                    assert!(level == expected && said.contains(words), "{agent}: {said}");
                }
                (found, _) => panic!("{agent}: {:?}", found.map(|found| found.1)),
            }
        }
    }

    #[test]
    fn what_keeps_tools_from_working_alone() {
        let claude = "command = ['claude', '--dangerously-skip-permissions']\noutput = 'claude'";
        let nowhere = || around(&["IS_SANDBOX"], None);
        let said =
            |text: &str, around: &Surroundings| setup(&profile(text), around).map(|(_, said)| said);
        assert!(said(claude, &nowhere()).unwrap().contains("IS_SANDBOX"));
        let passed = format!("{claude}\nenv = ['IS_SANDBOX']");
        assert_eq!(said(&passed, &nowhere()), None);
        let user = Surroundings {
            root: false,
            ..nowhere()
        };
        assert_eq!(said(claude, &user), None);
        assert!(
            said("command = ['gemini']\noutput = 'gemini'", &user)
                .unwrap()
                .contains("trust")
        );
        assert!(
            said("preset = 'gemini'", &user)
                .unwrap()
                .contains("selectedType")
        );
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".gemini")).unwrap();
        let settings = r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#;
        std::fs::write(home.path().join(GEMINI_SETTINGS), settings).unwrap();
        let settled = around(&[], Some(home.path().to_owned()));
        assert_eq!(said("preset = 'gemini'", &settled), None);
    }
}
