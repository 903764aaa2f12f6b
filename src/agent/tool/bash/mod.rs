//! `bash`: a command in the workspace, behind the fence, for a time. It must leave nothing running.

mod look;
mod standing;
mod words;

use super::room::{Den, External};
use super::{Fault, Tool, ToolCard, arguments, show};
use crate::agent::Pending;
use crate::process::{Captured, Errand, Exit, Surroundings, capture};
use look::{Trespass, View, look};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const MAX_SECONDS: u64 = 600;
const MAX_OUTPUT_BYTES: usize = 30 * 1024;
const MAX_COMMAND_BYTES: usize = 100 * 1024;
/// Programs that would wait for a person must not.
const QUIET: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command, as for bash -c. Each call starts anew in the workspace.
    command: String,
    /// Seconds until it is ended; 120 unless told, at most 600.
    timeout_s: Option<u64>,
}

pub struct Bash(pub Arc<Den>);

impl Tool for Bash {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "bash",
            description: "Runs a shell command in the workspace and shows what it prints and its exit code. It gets no input. It may write only beneath the workspace and in $TMPDIR. Whatever it leaves running is ended with the call.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        false
    }

    fn has_own_deadline(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        Box::pin(async move {
            let wanted: Arguments = arguments::take("bash", sent)?;
            run(&self.0, &wanted).await
        })
    }
}

async fn run(den: &Den, wanted: &Arguments) -> Result<String, Fault> {
    check(&wanted.command)?;
    if den.external == External::Deny {
        let known = |name: &str| known(den, name);
        let view = View {
            workspace: den.workspace(),
            known: &known,
            standing: &|path| standing::of(den, path),
        };
        look(&wanted.command, &view).map_err(|trespass| refused(&trespass))?;
    }
    let deadline = match wanted.timeout_s {
        None | Some(0) => den.bash_timeout,
        Some(seconds) => Duration::from_secs(seconds.min(MAX_SECONDS)),
    };
    let mut environment = den.environment.clone();
    for (name, value) in QUIET {
        if den.variable(name).is_none() {
            environment.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    let argv = [shell(den), "-c", &wanted.command].map(str::to_owned);
    let errand = Errand {
        environment: Surroundings::Whole(environment),
        cwd: Some(den.workspace().to_owned()),
        together: true,
        fence: den.fence()?,
        ..Errand::new(argv.to_vec(), deadline, MAX_OUTPUT_BYTES)
    };
    let said = capture(&errand)
        .await
        .map_err(|error| Fault::Passing(format!("The command was not run: {error:#}.")))?;
    told(&said, deadline, den.external)
}

fn check(command: &str) -> Result<(), Fault> {
    let wrong = match command {
        command if command.trim().is_empty() => "The command is empty.".to_owned(),
        command if command.contains('\0') => "The command holds a NUL byte.".to_owned(),
        command if command.len() > MAX_COMMAND_BYTES => format!(
            "The command has {} bytes; the limit is {MAX_COMMAND_BYTES}. Write it to a file with write and run that.",
            command.len()
        ),
        _ => return Ok(()),
    };
    Err(Fault::Wrong(wrong))
}

/// The variables that name places.
fn known(den: &Den, name: &str) -> Option<String> {
    match name {
        "PWD" => Some(den.workspace().display().to_string()),
        "HOME" | "TMPDIR" => den.variable(name).map(str::to_owned),
        _ => None,
    }
}

fn shell(den: &Den) -> &'static str {
    let path = den.variable("PATH").unwrap_or("/usr/bin:/bin");
    let has_bash = path
        .split(':')
        .any(|directory| Path::new(directory).join("bash").is_file());
    if has_bash { "bash" } else { "sh" }
}

fn refused(trespass: &Trespass) -> Fault {
    let word = show::line(&trespass.word, 200);
    let place = match trespass.place.to_str() {
        Some(place) if place != word => format!(" ({place})"),
        _ => String::new(),
    };
    let what = if trespass.written {
        "writes to"
    } else {
        "names"
    };
    Fault::Wrong(format!(
        "The command was not run: it {what} {word}{place}, which lies outside the workspace. Commands work beneath the workspace, with paths relative to it; temporary files go to $TMPDIR. Programs of the system may be run by name."
    ))
}

fn told(said: &Captured, deadline: Duration, external: External) -> Result<String, Fault> {
    let mut text = String::from_utf8_lossy(&said.stdout).replace('\0', "\u{fffd}");
    if text.is_empty() {
        text.push_str("[no output]");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if said.timed_out {
        text.push_str(&format!(
            "[ended after {} s with all it had started: it took too long. Give timeout_s (at most {MAX_SECONDS}), or do less at once]",
            deadline.as_secs_f32()
        ));
        return Err(Fault::Wrong(text));
    }
    if said.leftovers_killed > 0 {
        text.push_str(&format!(
            "[{} it had left running ended with the call: nothing runs on in the background]\n",
            match said.leftovers_killed {
                1 => "1 process that".to_owned(),
                many => format!("{many} processes that"),
            }
        ));
    }
    if text.contains("Permission denied") && external == External::Deny {
        text.push_str("[outside the workspace and $TMPDIR nothing can be written, and only the system's files can be read; who must fetch packages gives the tool a place of its own, like CARGO_HOME=$TMPDIR/cargo]\n");
    }
    match &said.exit {
        Exit::Code(code) => text.push_str(&format!("[exit code {code}]")),
        Exit::Signal(signal) => text.push_str(&format!("[killed by signal {signal}]")),
        Exit::NotStarted(why) => {
            return Err(Fault::Wrong(format!("The command was not run: {why}.")));
        }
    }
    Ok(text)
}
