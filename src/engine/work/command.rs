//! A shell command in the workspace under the same supervision as an agent: it outlives the daemon, and the next one finds it or its end.

use super::Work;
use crate::files;
use crate::process::{self, Cause, Exit, Limits, Outcome, Program, Sighting};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is kept of a command's output for people and prompts.
const MAX_TAIL_LINES: usize = 100;
const MAX_TAIL_BYTES: u64 = 32 * 1024;
/// Runs of a command whose supervisor dies.
const MAX_TRIES: usize = 3;

/// A command to run.
pub struct Command<'a> {
    /// Under which the turn is found again.
    pub turn: String,
    pub text: &'a str,
    /// Both streams in one file, in the order in which a person would see them.
    pub log: PathBuf,
    /// What it reads.
    pub stdin: Option<PathBuf>,
    pub time: Duration,
    /// Variables beside the allowed ones.
    pub environment: Vec<(String, String)>,
}

/// How a command ended.
pub enum CommandEnd {
    Ended {
        exit: Exit,
        timed_out: bool,
        /// Its last lines, with a remark where it did not end by itself.
        tail: String,
    },
    /// Ended on purpose before it could say anything.
    Stopped,
}

impl CommandEnd {
    /// Whether it came to its end with success.
    pub fn passed(&self) -> bool {
        matches!(
            self,
            CommandEnd::Ended {
                exit: Exit::Code(0),
                timed_out: false,
                ..
            }
        )
    }
}

impl Work {
    /// Runs a command, or waits for the one that runs.
    pub async fn run_command(&self, command: Command<'_>) -> Result<CommandEnd> {
        let program = self.program(&command);
        let Outcome::Ended(ended) = self.supervise(&command, &program).await? else {
            let reason = "it vanished: its supervisor was killed each time".to_owned();
            return Ok(CommandEnd::Ended {
                exit: Exit::NotStarted(reason.clone()),
                timed_out: false,
                tail: reason,
            });
        };
        if ended.cause == Cause::Stopped {
            return Ok(CommandEnd::Stopped);
        }
        let mut tail =
            last_lines(&files::read_tail(&program.stdout, MAX_TAIL_BYTES).unwrap_or_default());
        let timed_out = ended.cause == Cause::TimedOut;
        if timed_out {
            let seconds = command.time.as_secs();
            tail.push_str(&format!("\n[ended after {seconds} s: it took too long]"));
        }
        if let Exit::NotStarted(reason) = &ended.exit {
            tail.push_str(reason);
        }
        Ok(CommandEnd::Ended {
            exit: ended.exit,
            timed_out,
            tail,
        })
    }

    /// Unlike an agent's turn, a command may simply be run again, once nothing of the first is left. But not for ever.
    async fn supervise(&self, command: &Command<'_>, program: &Program) -> Result<Outcome> {
        let directory = self.house.turn_record(&command.turn);
        let mut environment = process::allowed_environment(&self.environment_names());
        environment.extend(crate::agent::commission_environment(&self.commission()));
        environment.extend(command.environment.iter().cloned());
        if was_stopped(&directory)? {
            process::forget(&directory)?;
        }
        for _ in 0..MAX_TRIES {
            if process::look(&directory)? == Sighting::Lost {
                process::sweep_aside(command.turn.clone()).await;
                process::forget(&directory)?;
            }
            let supervisor = &self.house.roster.supervision().supervisor;
            let stop = self.signals.stop.clone();
            let outcome = supervisor
                .run(&directory, program, &environment, stop)
                .await?;
            if matches!(outcome, Outcome::Ended(_)) {
                return Ok(outcome);
            }
        }
        process::sweep_aside(command.turn.clone()).await;
        Ok(Outcome::Lost)
    }

    fn program(&self, command: &Command<'_>) -> Program {
        let supervision = self.house.roster.supervision();
        Program {
            argv: vec![
                "/bin/sh".to_owned(),
                "-c".to_owned(),
                format!("exec 2>&1\n{}", command.text),
            ],
            cwd: self.workspace.clone(),
            stdin: command.stdin.clone(),
            stderr: crate::agent::error_file(&command.log),
            stdout: command.log.clone(),
            output_cap_bytes: supervision.output_cap_bytes,
            deadline_ms: command.time.as_millis() as u64,
            silence_ms: None,
            kill_grace_ms: supervision.kill_grace_ms,
            limits: Limits::default(),
            secret_names: supervision.secret_names.clone(),
            // It is given no key, but may come upon one in what an agent wrote.
            secrets: self.house.secrets.values(),
        }
    }

    fn environment_names(&self) -> Vec<String> {
        let mut names = self.house.roster.supervision().environment.clone();
        names.extend(self.mission.environment.iter().cloned());
        names
    }
}

fn was_stopped(directory: &Path) -> Result<bool> {
    Ok(matches!(process::look(directory)?, Sighting::Ended(ended) if ended.cause == Cause::Stopped))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.len().saturating_sub(MAX_TAIL_LINES);
    lines[start..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_last_hundred_lines() {
        let text: String = (1..=150).map(|number| format!("{number}\n")).collect();
        let tail = last_lines(&text);
        assert_eq!(tail.lines().count(), 100);
        assert!(tail.starts_with("51\n") && tail.ends_with("\n150"));
    }
}
