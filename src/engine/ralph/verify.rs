//! The promise checked against reality: the user's `verify` command, run in the workspace under the same supervision as the agent.

use super::Ralph;
use super::turn::UnderWay;
use crate::engine::verify_turn;
use crate::files;
use crate::process::{self, Cause, Exit, Limits, Outcome, Program, Sighting};
use crate::workspace::protect;
use anyhow::Result;

/// What of the check's output goes into the next prompt.
const MAX_TAIL_LINES: usize = 100;
const MAX_TAIL_BYTES: u64 = 32 * 1024;
/// Runs of a check whose supervisor dies.
const MAX_TRIES: usize = 3;

/// What came of the check.
pub(super) enum Checked {
    Ran {
        passed: bool,
        exit: Exit,
        tail: String,
        /// Protected files that are no longer as the user gave them.
        tampered: Vec<String>,
    },
    /// Ended on purpose before it could say anything.
    Stopped,
}

impl Ralph {
    /// Runs the check; nothing where the request has none.
    pub(super) async fn verify(&self, turn: &UnderWay) -> Result<Option<Checked>> {
        let Some(command) = &self.mission.verify else {
            return Ok(None);
        };
        let tampered = match &self.session.protected {
            Some(before) => protect::changed_since(&self.workspace, &self.mission.protect, before)?,
            None => Vec::new(),
        };
        let program = self.verify_program(turn, command);
        let Outcome::Ended(ended) = self.run_check(turn, &program).await? else {
            let reason =
                "the verification vanished: its supervisor was killed each time".to_owned();
            return Ok(Some(Checked::Ran {
                passed: false,
                exit: Exit::NotStarted(reason.clone()),
                tail: reason,
                tampered,
            }));
        };
        if ended.cause == Cause::Stopped {
            return Ok(Some(Checked::Stopped));
        }
        let mut tail =
            last_lines(&files::read_tail(&program.stdout, MAX_TAIL_BYTES).unwrap_or_default());
        if ended.cause == Cause::TimedOut {
            let limit = self.house.config.defaults.verify_timeout;
            tail.push_str(&format!(
                "\n[ended after {limit}: the verification took too long]"
            ));
        }
        if let Exit::NotStarted(reason) = &ended.exit {
            tail.push_str(reason);
        }
        let passed = ended.cause == Cause::Finished && ended.exit == Exit::Code(0);
        Ok(Some(Checked::Ran {
            passed,
            exit: ended.exit,
            tail,
            tampered,
        }))
    }

    /// Unlike an agent's turn, a check may simply be run again, once nothing of the first is left. But not for ever.
    async fn run_check(&self, turn: &UnderWay, program: &Program) -> Result<Outcome> {
        let mark = verify_turn(&turn.id);
        let directory = self.house.turn_record(&mark);
        let mut environment = process::allowed_environment(&self.environment_names());
        environment.extend(crate::agent::commission_environment(&self.commission()));
        if was_stopped(&directory)? {
            process::forget(&directory)?;
        }
        for _ in 0..MAX_TRIES {
            if process::look(&directory)? == Sighting::Lost {
                process::sweep_aside(mark.clone()).await;
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
        process::sweep_aside(mark).await;
        Ok(Outcome::Lost)
    }

    fn verify_program(&self, turn: &UnderWay, command: &str) -> Program {
        let supervision = self.house.roster.supervision();
        let log = turn.output_file.with_extension("verify.log");
        Program {
            // Both streams in one file, in the order in which a person would see them.
            argv: vec![
                "/bin/sh".to_owned(),
                "-c".to_owned(),
                format!("exec 2>&1\n{command}"),
            ],
            cwd: self.workspace.clone(),
            stdin: None,
            stderr: crate::agent::error_file(&log),
            stdout: log,
            output_cap_bytes: supervision.output_cap_bytes,
            deadline_ms: self.house.config.defaults.verify_timeout.as_millis() as u64,
            silence_ms: None,
            kill_grace_ms: supervision.kill_grace_ms,
            limits: Limits::default(),
            secret_names: supervision.secret_names.clone(),
            // The check is given no key, but may come upon one in what an agent wrote.
            secrets: self.house.secrets.values(),
        }
    }

    fn environment_names(&self) -> Vec<String> {
        let mut names = self.house.roster.supervision().environment.clone();
        names.extend(self.mission.environment.iter().cloned());
        names
    }
}

fn was_stopped(directory: &std::path::Path) -> Result<bool> {
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
