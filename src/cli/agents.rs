//! `ralphd agents`: who can work here. It asks each program for its version, and nothing else.

use super::desk::Desk;
use super::exit::Exit;
use super::output::{self, Look, Style};
use super::table::{Cell, Table};
use crate::agent::roster::{Member, Roster, Source};
use crate::model::price::CostSource;
use crate::process::{self, Captured, Errand, Supervisor, Surroundings, capture};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinSet;

/// Many tools are slow to start, and all are started at once.
const VERSION_DEADLINE: Duration = Duration::from_secs(15);
const VERSION_CAP_BYTES: usize = 4096;
/// A proxy that nobody is: the port of the discard service.
const NOWHERE: &str = "http://127.0.0.1:9";
const TITLES: &[&str] = &["NAME", "DEFAULT", "SOURCE", "COST", "VERSION", "COMMAND"];

/// One agent as it is listed.
#[derive(serde::Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    member: &'a Member,
    default: bool,
    version: Option<&'a str>,
    problem: Option<&'a str>,
    /// How its cost is known.
    cost: &'static str,
    model: Option<&'a str>,
    /// Of when the price of its model is.
    prices: Option<String>,
    #[serde(skip)]
    source: CostSource,
}

/// Why a program named no version.
#[derive(Debug, PartialEq, Eq)]
pub struct NoVersion {
    pub reason: String,
    /// It cannot be started at all; otherwise it only does not know the question.
    pub missing: bool,
}

impl NoVersion {
    fn new(reason: impl Into<String>, missing: bool) -> Self {
        Self {
            reason: reason.into(),
            missing,
        }
    }
}

/// What each agent's program said of its version, by the agent's name.
pub type Versions = BTreeMap<String, Result<String, NoVersion>>;

/// Prints the agents.
pub fn agents(desk: Desk) -> Result<Exit> {
    let roster = roster(&desk)?;
    let versions = desk.block_on(versions(&roster))?;
    let listed: Vec<Listed<'_>> = roster
        .members()
        .map(|member| listed(member, &roster, &versions))
        .collect();
    match desk.global.json {
        true => output::print_json(&listed)?,
        false => output::print_lines(&table(&listed).lines(&Look::of_stdout()))?,
    }
    Ok(Exit::Done)
}

/// The agents of the configuration and of this machine.
pub fn roster(desk: &Desk) -> Result<Roster> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Roster::new(
        &desk.config,
        Supervisor::default(),
        program,
        desk.secrets.clone(),
    )
}

/// What each agent's program answers to `--version`, or why it does not; all are asked at once.
pub async fn versions(roster: &Roster) -> Result<Versions> {
    let mut asked = JoinSet::new();
    for member in roster.members() {
        let (name, program) = (member.name.clone(), member.command.first().cloned());
        let builtin = member.profile.builtin.is_some();
        let environment = member.profile.set_environment.clone();
        asked.spawn(async move {
            let version = match (builtin, program) {
                (true, _) => Ok(format!("ralphd {}", env!("CARGO_PKG_VERSION"))),
                (false, Some(program)) => version_of(program, environment).await,
                (false, None) => Err(NoVersion::new("it has no command", true)),
            };
            (name, version)
        });
    }
    let answers = asked.join_all().await;
    Ok(answers.into_iter().collect())
}

/// The first line that a program prints for `--version`. It gets no key, and no way out to look for a newer one.
async fn version_of(
    program: String,
    mut environment: Vec<(String, String)>,
) -> Result<String, NoVersion> {
    let argv = vec![program, "--version".to_owned()];
    let nowhere = |name: &str| (name.to_owned(), NOWHERE.to_owned());
    environment.extend(["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(nowhere));
    let captured = capture(&Errand {
        environment: Surroundings::Allowed(environment),
        ..Errand::new(argv, VERSION_DEADLINE, VERSION_CAP_BYTES)
    })
    .await;
    answer_of(captured.map_err(|error| NoVersion::new(format!("{error:#}"), true))?)
}

fn answer_of(captured: Captured) -> Result<String, NoVersion> {
    let line = output::first_line(&String::from_utf8_lossy(&captured.stdout));
    let reason = match captured.exit {
        _ if captured.timed_out => {
            format!("no answer to --version in {} s", VERSION_DEADLINE.as_secs())
        }
        process::Exit::NotStarted(reason) => {
            return Err(NoVersion::new(output::first_line(&reason), true));
        }
        process::Exit::Code(0) if !line.is_empty() => return Ok(line),
        process::Exit::Code(0) => "it names no version".to_owned(),
        process::Exit::Code(code) => format!("--version ends with exit code {code}"),
        process::Exit::Signal(signal) => format!("--version ends with signal {signal}"),
    };
    Err(NoVersion::new(reason, false))
}

fn listed<'a>(member: &'a Member, roster: &Roster, versions: &'a Versions) -> Listed<'a> {
    let answer = versions.get(&member.name).map(Result::as_ref);
    let source = member.profile.cost_source();
    Listed {
        member,
        default: member.name == roster.default_name(),
        version: answer.and_then(Result::ok).map(String::as_str),
        problem: answer
            .and_then(Result::err)
            .map(|none| none.reason.as_str()),
        cost: source.as_str(),
        model: member.profile.model.as_deref(),
        prices: match &source {
            CostSource::Priced(quote) => Some(quote.date()),
            _ => None,
        },
        source,
    }
}

fn table(listed: &[Listed<'_>]) -> Table {
    let mut table = Table::new(TITLES, TITLES.len() - 1);
    for agent in listed {
        let source = match agent.member.source {
            Source::Configured => "configured",
            Source::Found => "found",
            Source::Builtin => "built in",
        };
        let version: Cell = match (agent.version, agent.problem) {
            (Some(version), _) => version.into(),
            (None, problem) => (problem.unwrap_or_default().to_owned(), Style::Notice).into(),
        };
        table.row(vec![
            (agent.member.name.clone(), Style::Bold).into(),
            if agent.default { "default" } else { "" }.into(),
            source.into(),
            agent.source.to_string().into(),
            version,
            match &agent.member.profile.builtin {
                Some(settings) => settings.source.in_words(&settings.model),
                None => agent.member.command.join(" "),
            }
            .into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_version() {
        let captured = |exit, stdout: &str, timed_out| Captured {
            exit,
            timed_out,
            stdout: stdout.as_bytes().to_vec(),
            stderr: Vec::new(),
            truncated: false,
            leftovers_killed: 0,
        };
        for (exit, stdout, timed_out, expected) in [
            (
                process::Exit::Code(0),
                "\n1.2.3 (x)\nmore",
                false,
                Ok("1.2.3 (x)"),
            ),
            (
                process::Exit::Code(0),
                "",
                false,
                Err(("it names no version", false)),
            ),
            (
                process::Exit::Code(2),
                "usage",
                false,
                Err(("--version ends with exit code 2", false)),
            ),
            (
                process::Exit::Signal(9),
                "",
                true,
                Err(("no answer to --version in 15 s", false)),
            ),
            (
                process::Exit::NotStarted("no such program".to_owned()),
                "",
                false,
                Err(("no such program", true)),
            ),
        ] {
            let answer = answer_of(captured(exit, stdout, timed_out));
            let answer = answer
                .as_deref()
                .map_err(|none| (none.reason.as_str(), none.missing));
            assert_eq!(answer, expected);
        }
    }
}
