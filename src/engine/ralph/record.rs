//! A judged turn becomes a row; the files of its supervision may go then.

use super::Ralph;
use super::judge::Judged;
use super::turn::UnderWay;
use super::verify::Checked;
use crate::clock::now_ms;
use crate::engine::verify_turn;
use crate::files;
use crate::model::event::EventType;
use crate::store::events::{self, About};
use crate::store::iterations::{self, EndedIteration, Iteration};
use crate::workspace::letters;
use anyhow::Result;
use serde_json::{Value as Json, json};

/// The final words as they are stored: their end, where they are long.
const MAX_STORED_TEXT_BYTES: usize = 64 * 1024;

impl Ralph {
    /// Writes down how the turn ended, and looks in the same commit at how things stand then.
    pub(super) async fn record(&mut self, turn: &UnderWay, judged: Judged) -> Result<()> {
        let unpriced = self.first_unpriced(&judged);
        let not_kept = judged.kept.problem.clone();
        let ended = self.as_row(turn, judged);
        let (claim, lease) = (self.work.claim.clone(), self.work.house.lease_until_ms());
        let view = self.view();
        let seen = self
            .work
            .house
            .store
            .write_for_watchers(move |sql| {
                iterations::end(sql, &claim, &ended, lease)?;
                if let Some(facts) = &unpriced {
                    let about = About::task(&claim.session_id, &claim.task_id);
                    events::add(sql, about, EventType::CostUnknown, now_ms(), facts)?;
                }
                if let Some(problem) = &not_kept {
                    let about = About::task(&claim.session_id, &claim.task_id);
                    let facts = json!({"iteration": ended.id, "problem": problem});
                    events::add(sql, about, EventType::WorkspaceNotKept, now_ms(), &facts)?;
                }
                view.see(sql)
            })
            .await?;
        self.take_in(seen);
        // Not before they are in a row: whoever adopts the turn of a killed daemon reads them again.
        letters::clear_requests(&self.work.workspace);
        let names = [verify_turn(&turn.id), turn.id.clone()];
        self.recorded_turns.extend(names);
        Ok(())
    }

    /// Removes the files of recorded turns. Not after each of them: file systems are slow to make files where some were just
    /// removed, and the next iteration makes its own. What a crash leaves behind is removed at the next start.
    pub(super) fn clear_away(&mut self) {
        for turn in std::mem::take(&mut self.recorded_turns) {
            self.work.house.forget_turn(&turn);
        }
    }

    /// Tokens without a price: said once in a session, not at each of its iterations.
    fn first_unpriced(&self, judged: &Judged) -> Option<Json> {
        let counted_only =
            |cost: Option<f64>, tokens: Option<i64>| cost.is_none() && tokens.is_some();
        let told = |earlier: &Iteration| counted_only(earlier.cost_usd, earlier.input_tokens);
        let usage = &judged.outcome.usage;
        let first =
            counted_only(usage.cost_usd, usage.input_tokens) && !self.history.iter().any(told);
        first.then(|| json!({"agent": self.agent, "model": judged.outcome.model}))
    }

    fn as_row(&self, turn: &UnderWay, judged: Judged) -> EndedIteration {
        let (verify_passed, verify_tail, tampered) = match judged.checked {
            Some(Checked::Ran {
                passed,
                tail,
                tampered,
                ..
            }) => (Some(passed), Some(tail), Some(tampered)),
            _ => (None, None, None),
        };
        EndedIteration {
            id: turn.id.clone(),
            number: turn.number,
            verdict: judged.verdict,
            counted: judged.counted,
            exit_code: judged.outcome.exit_code,
            exit_signal: judged.outcome.exit_signal,
            failure: judged.outcome.failure,
            final_text: Some(
                files::tail_of(&judged.outcome.final_text, MAX_STORED_TEXT_BYTES).to_owned(),
            )
            .filter(|text| !text.is_empty()),
            handoff: judged.handoff,
            handoff_problem: judged.handoff_problem,
            verify_passed,
            verify_tail,
            tampered: tampered.filter(|files| !files.is_empty()),
            question: judged.question,
            spawn: judged.spawn,
            fingerprint: judged.fingerprint,
            progressed: judged.progressed,
            point: judged.kept.point,
            usage: judged.outcome.usage,
            warnings: judged.outcome.warnings,
            ended_at_ms: now_ms(),
        }
    }
}
