//! `git_status`, `git_diff`, `git_log`: git, asked for what it sees, behind the same fence as bash.
//! It must run nothing that the repository's settings name (hooks, filters of diffs, monitors, pagers), and ask nobody.

use super::room::Den;
use super::{Fault, Tool, ToolCard, arguments};
use crate::agent::Pending;
use crate::process::{Captured, Errand, Exit, Surroundings, capture};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::sync::Arc;

const MAX_OUTPUT_BYTES: usize = 30 * 1024;
const DEFAULT_COMMITS: u64 = 10;
const MAX_COMMITS: u64 = 200;
const MAX_REF_BYTES: usize = 500;

const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "color.ui=false",
    "log.showSignature=false",
    "safe.directory=*",
    // Or files of the workspace itself, which any tool may write, would be taken for git's own with its settings.
    "safe.bareRepository=explicit",
];
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("LC_ALL", "C"),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiffArguments {
    /// Commit, branch or range (main, HEAD~2, a..b) to compare with; what is not committed yet unless told.
    r#ref: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogArguments {
    /// How many commits to show; 10 unless told.
    count: Option<u64>,
}

pub struct Status(pub Arc<Den>);
pub struct Diff(pub Arc<Den>);
pub struct Log(pub Arc<Den>);

impl Tool for Status {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "git_status",
            description: "Shows the branch and the changed, staged and untracked files of the workspace's git repository.",
            parameters: arguments::schema::<NoArguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        Box::pin(async move {
            let NoArguments {} = arguments::take("git_status", sent)?;
            let words = ["status", "--short", "--branch", "--ignore-submodules=dirty"];
            let shown = ask(&self.0, &words).await?;
            Ok(match shown.lines().count() {
                0 | 1 => format!("{shown}Nothing is changed."),
                _ => shown,
            })
        })
    }
}

impl Tool for Diff {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "git_diff",
            description: "Shows the changes in the workspace that are not committed yet, or those against another commit. Untracked files are not among them.",
            parameters: arguments::schema::<DiffArguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        Box::pin(async move {
            let wanted: DiffArguments = arguments::take("git_diff", sent)?;
            let against = wanted
                .r#ref
                .filter(|reference| !reference.trim().is_empty());
            let shown = diff(&self.0, against.as_deref()).await?;
            Ok(match shown.is_empty() {
                true => "No difference. (Untracked files are not compared; git_status names them.)"
                    .to_owned(),
                false => shown,
            })
        })
    }
}

impl Tool for Log {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "git_log",
            description: "Shows the newest commits of the workspace's git repository, one a line: hash, time, author, subject.",
            parameters: arguments::schema::<LogArguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        Box::pin(async move {
            let wanted: LogArguments = arguments::take("git_log", sent)?;
            if !has_commit(&self.0).await? {
                return Ok("There is no commit yet.".to_owned());
            }
            let count = wanted
                .count
                .unwrap_or(DEFAULT_COMMITS)
                .clamp(1, MAX_COMMITS);
            let count = format!("--max-count={count}");
            let form = "--pretty=format:%h %ad %an%d %s";
            ask(&self.0, &["log", &count, "--date=iso-strict", form, "--"]).await
        })
    }
}

async fn diff(den: &Den, against: Option<&str>) -> Result<String, Fault> {
    let reference = match against {
        Some(reference) => {
            let reference = reference.trim();
            check_reference(den, reference).await?;
            Some(reference)
        }
        None => has_commit(den).await?.then_some("HEAD"),
    };
    let mut words = vec![
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--submodule=short",
        "--ignore-submodules=dirty",
    ];
    words.extend(reference);
    words.push("--");
    ask(den, &words).await
}

/// Before it is used, git must know each end of it as a commit: it can then be no option and no file.
async fn check_reference(den: &Den, reference: &str) -> Result<(), Fault> {
    let unknown = |why: &str| {
        Fault::Wrong(format!(
            "\"{}\" {why}. Give a commit, a branch, a tag or a range of two, like main or HEAD~1..HEAD; git_log shows what there is.",
            super::show::line(&reference.escape_debug().to_string(), 100)
        ))
    };
    let strange = |c: char| c.is_control() || c.is_whitespace();
    if reference.starts_with('-') || reference.contains(strange) || reference.len() > MAX_REF_BYTES
    {
        return Err(unknown("is not the name of a commit"));
    }
    let ends: Vec<&str> = match reference.split_once("...") {
        Some((from, to)) => vec![from, to],
        None => reference.splitn(2, "..").collect(),
    };
    for end in ends.into_iter().filter(|end| !end.is_empty()) {
        let commit = format!("{end}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        if run(den, &words).await?.exit != Exit::Code(0) {
            return Err(unknown("is not known to git"));
        }
    }
    Ok(())
}

async fn has_commit(den: &Den) -> Result<bool, Fault> {
    let said = run(den, &["rev-parse", "--verify", "--quiet", "HEAD"]).await?;
    match said.exit {
        Exit::Code(0) => Ok(true),
        Exit::Code(1) => Ok(false),
        _ => Err(failed(den, &said)),
    }
}

async fn ask(den: &Den, words: &[&str]) -> Result<String, Fault> {
    let said = run(den, words).await?;
    match said.exit {
        Exit::Code(0) if !said.timed_out => Ok(String::from_utf8_lossy(&said.stdout).into_owned()),
        _ => Err(failed(den, &said)),
    }
}

async fn run(den: &Den, words: &[&str]) -> Result<Captured, Fault> {
    let mut argv = vec!["git".to_owned(), "--no-pager".to_owned()];
    for setting in SETTINGS {
        argv.extend(["-c".to_owned(), (*setting).to_owned()]);
    }
    argv.extend(words.iter().map(|word| (*word).to_owned()));
    let mut environment = den.environment.clone();
    environment.retain(|(name, _)| !name.starts_with("GIT_") && name != "LC_ALL");
    let own = VARIABLES
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    environment.extend(own);
    if let (super::External::Deny, Some(above)) = (den.external, den.workspace().parent()) {
        // A repository around the workspace is not the workspace's.
        let ceiling = above.display().to_string();
        environment.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling));
    }
    let errand = Errand {
        environment: Surroundings::Whole(environment),
        cwd: Some(den.workspace().to_owned()),
        fence: den.fence()?,
        ..Errand::new(argv, den.timeout, MAX_OUTPUT_BYTES)
    };
    capture(&errand)
        .await
        .map_err(|error| Fault::Passing(format!("git was not run: {error:#}")))
}

fn failed(den: &Den, said: &Captured) -> Fault {
    let complaint = String::from_utf8_lossy(&said.stderr);
    Fault::Wrong(match &said.exit {
        _ if said.timed_out => format!(
            "git took longer than {} s and was ended.",
            den.timeout.as_secs()
        ),
        Exit::NotStarted(why) => format!("git cannot be used here: {why}."),
        _ if ["not a git repository", "cannot use bare repository"]
            .iter()
            .any(|none| complaint.contains(none)) =>
        {
            "The workspace is not a git repository. If one is wanted, make it with bash: git init."
                .to_owned()
        }
        Exit::Code(code) => format!("git failed (exit code {code}): {}", complaint.trim()),
        Exit::Signal(signal) => format!("git was killed by signal {signal}: {}", complaint.trim()),
    })
}
