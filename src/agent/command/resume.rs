//! Turns of built-in agents can go on: their conversation is in a journal, and a process that was killed is followed by another
//! that reads it. For programs of others nothing here does anything.

use super::Command;
use crate::agent::Turn;
use crate::agent::builtin::journal;
use crate::agent::builtin::settings::Assignment;
use crate::process::{self, Cause, Exit};
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::PathBuf;

impl Command {
    /// Writes down what a built-in agent has to do, unless that was done before.
    pub(super) fn begin_journal(&self, turn: &Turn) -> Result<()> {
        let Some(settings) = &self.profile.builtin else {
            return Ok(());
        };
        let assignment = Assignment {
            settings: settings.clone(),
            session_id: turn.commission.session_id.clone(),
            task_id: turn.commission.task_id.clone(),
            iteration: turn.commission.iteration,
            workspace: turn.commission.workspace.clone(),
            prompt_file: turn.prompt_file.clone(),
            temporary: temporary(turn),
            answer_schema: turn.answer_schema.clone(),
        };
        journal::begin(&journal::path_for(&turn.output_file), &assignment)
    }

    /// Whether a turn that has come to an end was only killed and can go on; everything of it is gone then.
    pub(super) async fn can_go_on(&self, turn: &Turn, outcome: &process::Outcome) -> Result<bool> {
        let killed = match outcome {
            process::Outcome::Lost => true,
            process::Outcome::Ended(ended) => {
                ended.cause == Cause::Finished && matches!(ended.exit, Exit::Signal(_))
            }
        };
        if self.profile.builtin.is_none() || !killed || *turn.stop.borrow() {
            return Ok(false);
        }
        let swept = process::sweep_aside(turn.id.clone()).await;
        tracing::warn!(
            iteration = turn.id,
            swept,
            "a conversation was killed; it goes on where it stopped"
        );
        // Its successor writes another: who reads that must not begin with this one, nor stand in the middle of it.
        match std::fs::remove_file(&turn.output_file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let file = turn.output_file.display();
                return Err(error).with_context(|| format!("cannot remove {file}"));
            }
            _ => {}
        }
        process::forget(&turn.turn_record)?;
        Ok(true)
    }

    /// The stream of an ended turn says everything that its journal does.
    pub(super) fn end_journal(&self, turn: &Turn) {
        if self.profile.builtin.is_none() {
            return;
        }
        let path = journal::path_for(&turn.output_file);
        if let Err(error) = std::fs::remove_file(&path) {
            tracing::debug!("the journal {} stays: {error}", path.display());
        }
        // Only a process that was killed has left it.
        let _ = std::fs::remove_dir_all(temporary(turn));
    }
}

fn temporary(turn: &Turn) -> PathBuf {
    turn.output_file.with_extension("tmp")
}
