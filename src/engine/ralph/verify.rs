//! The promise checked against reality: the user's `verify` command, run in the workspace under the same supervision as the agent.

use super::Ralph;
use super::turn::UnderWay;
use crate::engine::verify_turn;
use crate::engine::work::{Command, CommandEnd};
use crate::process::Exit;
use crate::workspace::protect;
use anyhow::Result;

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
    /// Runs the check; nothing where the request has none, or where it is for the whole plan to keep.
    pub(super) async fn verify(&self, turn: &UnderWay) -> Result<Option<Checked>> {
        let work = &self.work;
        let Some(command) = work.mission.verify.as_ref().filter(|_| work.step.is_none()) else {
            return Ok(None);
        };
        let tampered = match &work.session.protected {
            Some(before) => protect::changed_since(&work.workspace, &work.mission.protect, before)?,
            None => Vec::new(),
        };
        let check = Command {
            turn: verify_turn(&turn.id),
            text: command,
            log: turn.output_file.with_extension("verify.log"),
            stdin: None,
            time: work.house.config.defaults.verify_timeout.into(),
            environment: Vec::new(),
        };
        let end = work.run_command(check).await?;
        let passed = end.passed();
        Ok(Some(match end {
            CommandEnd::Stopped => Checked::Stopped,
            CommandEnd::Ended { exit, tail, .. } => Checked::Ran {
                passed,
                exit,
                tail,
                tampered,
            },
        }))
    }
}
