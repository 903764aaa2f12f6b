//! Agents that are programs: started under a shim, told the prompt, their output read while it grows.
//! It must not start programs itself (`process/` does) nor decide what the words mean.

pub mod profile;
mod resume;
mod tail;
mod usage;

use super::builtin::journal;
use super::stream::{Ending, Format};
use super::{Agent, Commission, Outcome, Pending, Turn, TurnEnd, TurnReport};
use crate::clock::now_ms;
use crate::config;
use crate::files;
use crate::model::failure::{Failure, FailureClass};
use crate::model::preset::Prompt;
use crate::model::price::Prices;
use crate::model::usage::Usage;
use crate::process::{self, Cause, Ended, Exit, Program, Sighting, Supervisor};
use crate::secrets::Vault;
use anyhow::{Context, Result, bail};
use jiff::tz::TimeZone;
use profile::Profile;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tail::Tail;

/// How often a turn whose process was killed goes on where it stopped, before that counts as its end.
const MAX_RESUMPTIONS: u32 = 2;
/// The kernel takes no longer argument.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;
/// What of the error output is looked at for a failure's cause.
const MAX_ERROR_TAIL_BYTES: u64 = 8 * 1024;
/// Stands in a command for the prompt, or for the path of the file that holds it.
const PLACEHOLDER: &str = "{prompt}";
/// How often the output of a running turn is looked at: a limit is noticed within this time of the step that passed it.
const LOOK_EVERY: Duration = Duration::from_millis(200);

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
    /// For tools that tell their tokens and not their cost.
    pub prices: Prices,
    /// Where the keys that are read for a turn are made known.
    pub secrets: Vault,
}

/// A program under a name.
pub struct Command {
    pub name: String,
    pub profile: Profile,
    pub supervision: Arc<Supervision>,
}

impl Agent for Command {
    fn run(&self, turn: Turn) -> Pending<'_, Result<Outcome>> {
        Box::pin(self.take_turn(turn))
    }

    fn used(&self, output: &Path) -> Result<Usage> {
        let mut tail = Tail::new(output.to_owned(), self.profile.format, Usage::default());
        while tail.read_on()? {}
        Ok(self.usage(tail.stream.report(), tail.before))
    }
}

impl Command {
    async fn take_turn(&self, turn: Turn) -> Result<Outcome> {
        // The key is made known here, before the program is told what to mask.
        let environment = match self.environment(&turn) {
            Ok(environment) => environment,
            Err(problem) => return Ok(cannot_start(format!("agent '{}': {problem}", self.name))),
        };
        let program = match self.program(&turn) {
            Ok(program) => program,
            Err(error) => return Ok(cannot_start(error.to_string())),
        };
        let mut resumptions = 0;
        let mut before = Usage::default();
        loop {
            if let Err(error) = self.begin_journal(&turn) {
                return Ok(cannot_start(format!("agent '{}': {error:#}", self.name)));
            }
            let tail = Tail::new(turn.output_file.clone(), self.profile.format, before);
            let (outcome, tail) = self
                .run_program(&turn, &program, &environment, tail)
                .await?;
            // All of it before the turn goes on: its successor writes the output anew.
            let tail = self.read_to_end(&turn, tail).await?;
            if resumptions < MAX_RESUMPTIONS && self.can_go_on(&turn, &outcome).await? {
                resumptions += 1;
                before = self.usage(tail.stream.report(), tail.before);
                continue;
            }
            return self.come_home(&turn, &program, outcome, tail).await;
        }
    }

    /// Runs the program, or waits for it where it runs already, and passes on what it says meanwhile.
    async fn run_program(
        &self,
        turn: &Turn,
        program: &Program,
        environment: &[(String, String)],
        mut tail: Tail,
    ) -> Result<(process::Outcome, Tail)> {
        let supervisor = &self.supervision.supervisor;
        let run = supervisor.run(&turn.turn_record, program, environment, turn.stop.clone());
        tokio::pin!(run);
        let mut more = false;
        let outcome = loop {
            let pause = if more { Duration::ZERO } else { LOOK_EVERY };
            tokio::select! {
                outcome = &mut run => break outcome?,
                // Plain text says nothing of what it costs: it is enough to read its end at the end.
                _ = tokio::time::sleep(pause), if self.profile.format != Format::Text => {
                    (tail, more) = self.read_on(turn, tail).await?;
                }
            }
        };
        Ok((outcome, tail))
    }

    async fn come_home(
        &self,
        turn: &Turn,
        program: &Program,
        outcome: process::Outcome,
        tail: Tail,
    ) -> Result<Outcome> {
        match outcome {
            process::Outcome::Lost => {
                // The next turn comes into the same workspace: what this one left must not be there any more.
                let killed = process::sweep_aside(turn.id.clone()).await;
                tracing::warn!(iteration = turn.id, killed, "a turn vanished with its shim");
                // What it told of its cost was spent all the same.
                let usage = self.usage(tail.stream.report(), tail.before);
                Ok(Outcome {
                    usage,
                    ..without_words(TurnEnd::Lost, None)
                })
            }
            process::Outcome::Ended(ended) => {
                self.end_journal(turn);
                Ok(self.conclude(tail, program, &ended))
            }
        }
    }

    fn program(&self, turn: &Turn) -> Result<Program> {
        let (argv, stdin) = self.command_line(turn)?;
        let silence = turn.silence.or(self.profile.silence);
        Ok(Program {
            argv,
            cwd: turn.commission.workspace.clone(),
            stdin,
            stdout: turn.output_file.clone(),
            stderr: error_file(&turn.output_file),
            output_cap_bytes: self.supervision.output_cap_bytes,
            deadline_ms: turn.timeout.as_millis() as u64,
            silence_ms: silence.map(|silence| silence.as_millis() as u64),
            kill_grace_ms: self.supervision.kill_grace_ms,
            limits: limits_of(&self.profile.limits),
            secret_names: self.supervision.secret_names.clone(),
            secrets: self.supervision.secrets.values(),
        })
    }

    fn command_line(&self, turn: &Turn) -> Result<(Vec<String>, Option<PathBuf>)> {
        let command = &self.profile.command;
        let prompt_file = &turn.prompt_file;
        if self.profile.builtin.is_some() {
            let journal = journal::path_for(&turn.output_file);
            let journal = journal.to_string_lossy().into_owned();
            return Ok(([&command[..], &[journal]].concat(), None));
        }
        let prompt = match self.profile.prompt {
            Prompt::Stdin => return Ok((command.clone(), Some(prompt_file.to_owned()))),
            Prompt::File => prompt_file.to_string_lossy().into_owned(),
            Prompt::Arg => self.as_argument(prompt_file)?,
        };
        let mut argv: Vec<String> = command
            .iter()
            .map(|word| word.replace(PLACEHOLDER, &prompt))
            .collect();
        if !command.iter().any(|word| word.contains(PLACEHOLDER)) {
            argv.push(prompt);
        }
        Ok((argv, None))
    }

    fn as_argument(&self, prompt_file: &Path) -> Result<String> {
        let prompt = std::fs::read_to_string(prompt_file)
            .with_context(|| format!("cannot read the prompt {}", prompt_file.display()))?;
        if prompt.len() > MAX_ARGUMENT_BYTES {
            bail!(
                "the prompt has {} bytes, too many for an argument: set prompt = \"stdin\" for agent '{}'",
                prompt.len(),
                self.name
            );
        }
        // A prompt that starts with a dash would be taken for an option.
        Ok(match prompt.starts_with('-') {
            true => format!("\n{prompt}"),
            false => prompt,
        })
    }

    fn environment(&self, turn: &Turn) -> Result<Vec<(String, String)>, String> {
        let mut names = self.supervision.environment.clone();
        names.extend(self.profile.pass_environment.iter().cloned());
        names.extend(turn.environment.iter().cloned());
        let mut environment = process::allowed_environment(&names);
        environment.extend(self.profile.set_environment.iter().cloned());
        environment.extend(commission_environment(&turn.commission));
        environment.extend(self.key(turn)?);
        Ok(environment)
    }

    /// The key for this turn, made known to the mask before anybody else sees it. A turn that was started before has its
    /// key already: it is not given up for a file that is gone since.
    fn key(&self, turn: &Turn) -> Result<Option<(String, String)>, String> {
        let Some(key) = &self.profile.key else {
            return Ok(None);
        };
        if let Some(used) = process::variable_of_turn(&turn.turn_record, &key.variable) {
            // The file may hold another one by now.
            self.supervision.secrets.learn(&used);
            tracing::debug!(turn = turn.id, "the key of a running turn is masked");
        }
        match key.read() {
            Ok(read) => Ok(read.map(|read| {
                self.supervision.secrets.learn(&read.value);
                (key.variable.clone(), read.value)
            })),
            Err(problem) => match process::look(&turn.turn_record) {
                Ok(Sighting::NeverStarted) => Err(problem),
                _ => Ok(None),
            },
        }
    }

    /// Reads a stretch of the output and passes it on; tells whether there may be more.
    async fn read_on(&self, turn: &Turn, mut tail: Tail) -> Result<(Tail, bool)> {
        let read = tokio::task::spawn_blocking(move || {
            let more = tail.read_on()?;
            anyhow::Ok((tail, more))
        });
        let (mut tail, more) = read.await??;
        self.tell(turn, &mut tail).await;
        Ok((tail, more))
    }

    /// Reads what is left of the output of an ended turn.
    async fn read_to_end(&self, turn: &Turn, mut tail: Tail) -> Result<Tail> {
        let mut more = true;
        while more {
            (tail, more) = self.read_on(turn, tail).await?;
        }
        Ok(tail)
    }

    /// Passes on what the stream has told so far.
    async fn tell(&self, turn: &Turn, tail: &mut Tail) {
        let usage = self.usage(tail.stream.report(), tail.before);
        let steps = tail.stream.take_steps().into_iter();
        let report = TurnReport {
            usage,
            tool_calls: tail.stream.take_tool_calls(),
            steps: steps.map(|step| self.with_cost(step)).collect(),
        };
        // Nobody listens any more when the loop is gone; the next claimant reads the file again.
        let _ = turn.reports.send(report).await;
    }

    fn conclude(&self, tail: Tail, program: &Program, ended: &Ended) -> Outcome {
        if let Exit::NotStarted(reason) = &ended.exit {
            let detail = format!("agent '{}' cannot be started: {reason}", self.name);
            return Outcome {
                usage: tail.before,
                ..match ended.cause {
                    Cause::Stopped => without_words(TurnEnd::Stopped, None),
                    _ => cannot_start(detail),
                }
            };
        }
        let before = tail.before;
        let (exit_code, signal) = match ended.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
            Exit::NotStarted(_) => (None, None),
        };
        let report = tail.stream.finish(&Ending {
            exit_code,
            signal,
            timed_out: ended.cause == Cause::TimedOut,
            silent: ended.cause == Cause::Silent,
            stderr_tail: &files::read_tail(&program.stderr, MAX_ERROR_TAIL_BYTES)
                .unwrap_or_default(),
            now_ms: now_ms(),
            time_zone: &TimeZone::system(),
        });
        Outcome {
            end: match ended.cause {
                Cause::Finished if report.doom_loop => TurnEnd::DoomLoop,
                Cause::Finished => TurnEnd::Finished,
                Cause::TimedOut | Cause::Silent => TurnEnd::TimedOut,
                Cause::Stopped => TurnEnd::Stopped,
            },
            usage: self.usage(&report, before),
            failure: report
                .failure
                .map(|failure| self.named(failure, ended))
                .filter(|_| ended.cause != Cause::Stopped),
            final_text: report.final_text,
            unfinished: report.unfinished,
            warnings: report.warnings,
            model: report.model.or_else(|| self.profile.model.clone()),
            exit_code: exit_code.map(i64::from),
            exit_signal: signal.map(i64::from),
        }
    }

    fn named(&self, failure: Failure, ended: &Ended) -> Failure {
        let hint = match failure.class {
            FailureClass::Crash if ended.truncated => {
                "; a part of its output was not kept: see process.output_cap_bytes and the room on the disk"
            }
            _ => "",
        };
        Failure {
            detail: format!("agent '{}' failed: {}{hint}", self.name, failure.detail),
            ..failure
        }
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

fn cannot_start(detail: String) -> Outcome {
    let failure = Failure {
        class: FailureClass::Configuration,
        detail,
        reset_at_ms: None,
    };
    without_words(TurnEnd::Finished, Some(failure))
}

fn without_words(end: TurnEnd, failure: Option<Failure>) -> Outcome {
    Outcome {
        end,
        final_text: String::new(),
        failure,
        exit_code: None,
        exit_signal: None,
        usage: Usage::default(),
        unfinished: false,
        model: None,
        warnings: Vec::new(),
    }
}
