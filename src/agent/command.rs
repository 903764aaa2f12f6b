//! Agents that are programs: started under a shim, told the prompt, their output read when they are done.
//! It must not start programs itself (`process/` does) nor decide what the words mean.

use super::{Agent, Commission, Outcome, Pending, Turn, TurnEnd};
use crate::config;
use crate::config::agent::PromptDelivery;
use crate::files;
use crate::model::iteration::FailureClass;
use crate::model::usage::Usage;
use crate::process::{self, Cause, Ended, Exit, Program, Supervisor};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The final words are looked for in this much of the output's end.
const MAX_FINAL_TEXT_BYTES: u64 = 256 * 1024;
/// The kernel takes no longer argument.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;
/// What of the error output goes into a failure's description.
const MAX_ERROR_TAIL_BYTES: u64 = 2 * 1024;
/// Stands in a command for the prompt, or for the path of the file that holds it.
const PLACEHOLDER: &str = "{prompt}";

/// Settings that all programs share.
#[derive(Clone, Debug)]
pub struct Supervision {
    pub supervisor: Supervisor,
    pub kill_grace_ms: u64,
    pub output_cap_bytes: u64,
    /// Names added to the environment's allow-list.
    pub environment: Vec<String>,
    /// Names whose values are masked in the output.
    pub secret_names: Vec<String>,
}

/// A configured program.
pub struct Command {
    pub name: String,
    pub config: config::Agent,
    pub supervision: Arc<Supervision>,
}

impl Agent for Command {
    fn run(&self, turn: Turn) -> Pending<'_, Result<Outcome>> {
        Box::pin(self.take_turn(turn))
    }
}

impl Command {
    async fn take_turn(&self, turn: Turn) -> Result<Outcome> {
        let program = match self.program(&turn) {
            Ok(program) => program,
            Err(error) => return Ok(cannot_start(error.to_string())),
        };
        let environment = self.environment(&turn);
        let outcome = self
            .supervision
            .supervisor
            .run(
                &turn.turn_directory,
                &program,
                &environment,
                turn.stop.clone(),
            )
            .await?;
        match outcome {
            process::Outcome::Lost => {
                // The next turn comes into the same workspace: what this one left must not be there any more.
                let killed = process::sweep_aside(turn.id.clone()).await;
                tracing::warn!(iteration = turn.id, killed, "a turn vanished with its shim");
                Ok(lost())
            }
            process::Outcome::Ended(ended) => self.read_outcome(&turn, &program, &ended),
        }
    }

    fn program(&self, turn: &Turn) -> Result<Program> {
        let (argv, stdin) = self.command_line(&turn.prompt_file)?;
        let silence = turn.silence.map(|silence| silence.as_millis() as u64);
        Ok(Program {
            argv,
            cwd: turn.commission.workspace.clone(),
            stdin,
            stdout: turn.output_file.clone(),
            stderr: error_file(&turn.output_file),
            output_cap_bytes: self.supervision.output_cap_bytes,
            deadline_ms: turn.timeout.as_millis() as u64,
            silence_ms: silence,
            kill_grace_ms: self.supervision.kill_grace_ms,
            limits: limits_of(&self.config.limits),
            secret_names: self.supervision.secret_names.clone(),
        })
    }

    fn command_line(&self, prompt_file: &Path) -> Result<(Vec<String>, Option<PathBuf>)> {
        let prompt = match self.config.prompt {
            PromptDelivery::Stdin => {
                return Ok((self.config.command.clone(), Some(prompt_file.to_owned())));
            }
            PromptDelivery::File => prompt_file.to_string_lossy().into_owned(),
            PromptDelivery::Arg => std::fs::read_to_string(prompt_file)
                .with_context(|| format!("cannot read the prompt {}", prompt_file.display()))?,
        };
        if prompt.len() > MAX_ARGUMENT_BYTES {
            bail!(
                "the prompt has {} bytes, too many for an argument: set prompt = \"stdin\" for agent '{}'",
                prompt.len(),
                self.name
            );
        }
        let mut argv: Vec<String> = self
            .config
            .command
            .iter()
            .map(|word| word.replace(PLACEHOLDER, &prompt))
            .collect();
        if !self
            .config
            .command
            .iter()
            .any(|word| word.contains(PLACEHOLDER))
        {
            argv.push(prompt);
        }
        Ok((argv, None))
    }

    fn environment(&self, turn: &Turn) -> Vec<(String, String)> {
        let mut names = self.supervision.environment.clone();
        names.extend(self.config.env.iter().cloned());
        names.extend(turn.environment.iter().cloned());
        let mut environment = process::allowed_environment(&names);
        environment.extend(commission_environment(&turn.commission));
        environment
    }

    fn read_outcome(&self, turn: &Turn, program: &Program, ended: &Ended) -> Result<Outcome> {
        let final_text = match ended.exit {
            Exit::NotStarted(_) => String::new(),
            _ => files::read_tail(&turn.output_file, MAX_FINAL_TEXT_BYTES)?,
        };
        let (exit_code, exit_signal) = match ended.exit {
            Exit::Code(code) => (Some(i64::from(code)), None),
            Exit::Signal(signal) => (None, Some(i64::from(signal))),
            Exit::NotStarted(_) => (None, None),
        };
        Ok(Outcome {
            end: match ended.cause {
                Cause::Finished => TurnEnd::Finished,
                Cause::TimedOut | Cause::Silent => TurnEnd::TimedOut,
                Cause::Stopped => TurnEnd::Stopped,
            },
            final_text,
            failure: self.failure(program, ended),
            exit_code,
            exit_signal,
            usage: Usage {
                cost_usd: self.config.cost_per_iteration,
                ..Usage::default()
            },
        })
    }

    /// A program that ended by itself, but not well. What was killed on purpose did not fail.
    fn failure(&self, program: &Program, ended: &Ended) -> Option<(FailureClass, String)> {
        if let Exit::NotStarted(reason) = &ended.exit {
            return Some((
                FailureClass::Permanent,
                format!("agent '{}' cannot be started: {reason}", self.name),
            ));
        }
        if ended.cause != Cause::Finished {
            return None;
        }
        let (class, what) = match ended.exit {
            Exit::Code(0) => return None,
            // What a shell says of a program that is not there or may not be run.
            Exit::Code(code @ (126 | 127)) => {
                (FailureClass::Permanent, format!("exit code {code}"))
            }
            Exit::Code(code) => (FailureClass::Transient, format!("exit code {code}")),
            Exit::Signal(signal) => (
                FailureClass::Transient,
                format!("killed by signal {signal}"),
            ),
            Exit::NotStarted(_) => return None,
        };
        let mut detail = format!("agent '{}' failed: {what}", self.name);
        if let Some(last) = last_error_line(&program.stderr) {
            detail.push_str(": ");
            detail.push_str(&last);
        }
        Some((class, detail))
    }
}

fn limits_of(configured: &config::agent::Limits) -> process::Limits {
    process::Limits {
        open_files: configured.open_files,
        processes: configured.processes,
        file_size_bytes: configured.file_size_bytes,
        memory_bytes: configured.memory_bytes,
        cpu_seconds: configured.cpu_seconds,
    }
}

/// The variables by which a program knows for whom it works.
pub fn commission_environment(commission: &Commission) -> Vec<(String, String)> {
    let text = |value: &Path| value.to_string_lossy().into_owned();
    vec![
        (
            "RALPHD_SESSION_ID".to_owned(),
            commission.session_id.clone(),
        ),
        ("RALPHD_TASK_ID".to_owned(), commission.task_id.clone()),
        (
            "RALPHD_ITERATION".to_owned(),
            commission.iteration.to_string(),
        ),
        ("RALPHD_WORKSPACE".to_owned(), text(&commission.workspace)),
        // The output goes to a file: colours would only get in the way of reading it.
        ("NO_COLOR".to_owned(), "1".to_owned()),
    ]
}

/// The error output lies beside the output.
pub fn error_file(output_file: &Path) -> PathBuf {
    output_file.with_extension("stderr.log")
}

fn last_error_line(path: &Path) -> Option<String> {
    let tail = files::read_tail(path, MAX_ERROR_TAIL_BYTES).ok()?;
    let line = tail.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

fn lost() -> Outcome {
    let reason = "the turn vanished together with its shim".to_owned();
    without_words(TurnEnd::Lost, FailureClass::Transient, reason)
}

fn cannot_start(reason: String) -> Outcome {
    without_words(TurnEnd::Finished, FailureClass::Permanent, reason)
}

fn without_words(end: TurnEnd, class: FailureClass, reason: String) -> Outcome {
    Outcome {
        end,
        final_text: String::new(),
        failure: Some((class, reason)),
        exit_code: None,
        exit_signal: None,
        usage: Usage::default(),
    }
}
