//! What a turn was worth. The rules are one pure function; around it, what has to be looked at in the workspace.

use super::Ralph;
use super::turn::UnderWay;
use super::verify::Checked;
use crate::agent::{Outcome, TurnEnd};
use crate::engine::ground::Kept;
use crate::model::delegation::Spawn;
use crate::model::failure::{FailureClass, Reaction};
use crate::model::iteration::Verdict;
use crate::model::promise;
use crate::model::request::PromiseMatch;
use crate::model::session::Control;
use crate::workspace::fingerprint::hash_of;
use crate::workspace::letters::{self, Handoff};
use anyhow::Result;
use serde_json::Value as Json;

/// So many turns without words in a row, and they count from then on.
const EMPTY_TURNS_BEFORE_COUNTING: u32 = 3;

/// Everything that is recorded of a turn.
pub(super) struct Judged {
    pub verdict: Verdict,
    pub counted: bool,
    pub outcome: Outcome,
    pub handoff: Option<Json>,
    pub handoff_problem: Option<String>,
    pub question: Option<Json>,
    pub spawn: Option<Spawn>,
    pub checked: Option<Checked>,
    pub kept: Kept,
    pub fingerprint: Option<String>,
    pub progressed: Option<bool>,
}

/// The promise as it was to be said.
struct Terms<'a> {
    promise: &'a str,
    rule: PromiseMatch,
    prompt: &'a str,
}

impl Ralph {
    /// Judges a turn; nothing when its verification was ended on purpose, so that the next claimant judges it again.
    pub(super) async fn judge(
        &mut self,
        turn: &UnderWay,
        outcome: Outcome,
    ) -> Result<Option<Judged>> {
        let terms = Terms {
            promise: &self.work.mission.promise,
            rule: self.work.mission.promise_match,
            prompt: &turn.prompt,
        };
        let (verdict, counted) = verdict_of(&outcome, &terms, self.empty_streak());
        // Before the check, whose own traces are not the agent's work.
        let (kept, tree) = self.keep(turn, &outcome).await?;
        let checked = match verdict {
            Verdict::Promised => self.verify(turn).await?,
            _ => None,
        };
        if matches!(checked, Some(Checked::Stopped)) {
            self.look().await?;
            let cancelled = self.work.session.control == Some(Control::Cancel);
            return Ok(cancelled.then(|| cancelled_turn(outcome)));
        }
        letters::mask(&self.work.workspace, &self.work.house.secrets.mask());
        let (handoff, handoff_problem) = match letters::read_handoff(&self.work.workspace) {
            Handoff::None => (None, None),
            Handoff::Good(handoff) => (Some(handoff), None),
            Handoff::Broken(problem) => (None, Some(problem)),
        };
        let asked = asked_in(verdict);
        let spawn = asked
            .then(|| letters::read_spawn(&self.work.workspace))
            .flatten();
        let (verdict, counted) = match (&spawn, verdict) {
            // It said by its letter what there was to say.
            (Some(_), Verdict::Empty) => (Verdict::Unfinished, true),
            _ => (verdict, counted),
        };
        let (fingerprint, mut progressed) = match counted {
            true => self.progress(&outcome, &handoff, &checked, &tree),
            false => (None, None),
        };
        if let Some(Spawn::Errand(errand)) = &spawn
            && self.why_not(errand).is_none()
        {
            progressed = Some(true);
        }
        Ok(Some(Judged {
            verdict,
            counted,
            question: asked
                .then(|| letters::read_question(&self.work.workspace))
                .flatten(),
            spawn,
            outcome,
            handoff,
            handoff_problem,
            checked,
            kept,
            fingerprint,
            progressed,
        }))
    }

    /// What the state of affairs looks like now, and whether any of it differs from the last counted iteration.
    fn progress(
        &self,
        outcome: &Outcome,
        handoff: &Option<Json>,
        checked: &Option<Checked>,
        tree: &str,
    ) -> (Option<String>, Option<bool>) {
        let result = match checked {
            Some(Checked::Ran { passed, exit, .. }) => format!("{passed} {exit:?}"),
            _ => String::new(),
        };
        let handoff = handoff.as_ref().map(Json::to_string);
        let fingerprint = format!(
            "{tree}.{:016x}.{:016x}.{:016x}",
            hash_of(&handoff),
            hash_of(&result),
            hash_of(outcome.final_text.trim())
        );
        let before = self
            .history
            .iter()
            .rev()
            .find_map(|iteration| iteration.fingerprint.as_ref());
        let progressed = before != Some(&fingerprint);
        (Some(fingerprint), Some(progressed))
    }
}

fn cancelled_turn(outcome: Outcome) -> Judged {
    Judged {
        verdict: Verdict::Cancelled,
        counted: false,
        outcome,
        handoff: None,
        handoff_problem: None,
        question: None,
        spawn: None,
        checked: None,
        kept: Kept::default(),
        fingerprint: None,
        progressed: None,
    }
}

/// An agent that keeps its promise or failed has not stopped to ask.
fn asked_in(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Unfinished | Verdict::Empty | Verdict::TimedOut
    )
}

/// The verdict on a turn, and whether it counts as an iteration.
fn verdict_of(outcome: &Outcome, terms: &Terms<'_>, empty_streak: u32) -> (Verdict, bool) {
    let kept = || promise::is_kept(&outcome.final_text, terms.promise, terms.rule, terms.prompt);
    match outcome.end {
        TurnEnd::Lost => (Verdict::Lost, false),
        TurnEnd::Stopped => (Verdict::Cancelled, false),
        TurnEnd::DoomLoop => (Verdict::DoomLoop, true),
        // Killed after its final words: they are judged like any others.
        TurnEnd::TimedOut | TurnEnd::Overspent if kept() => (Verdict::Promised, true),
        // It counts: where the limit is that of one iteration, nothing else would ever end the loop.
        TurnEnd::Overspent => (Verdict::Cancelled, true),
        _ => match &outcome.failure {
            Some(failure) => verdict_on_failure(failure.class),
            None if kept() => (Verdict::Promised, true),
            None if outcome.end == TurnEnd::TimedOut => (Verdict::TimedOut, true),
            None if outcome.final_text.trim().is_empty() && !outcome.unfinished => (
                Verdict::Empty,
                empty_streak + 1 >= EMPTY_TURNS_BEFORE_COUNTING,
            ),
            None => (Verdict::Unfinished, true),
        },
    }
}

/// A failure counts as an iteration only where a fresh start may do better.
fn verdict_on_failure(class: FailureClass) -> (Verdict, bool) {
    match class.reaction() {
        Reaction::Park => (Verdict::RateLimited, false),
        Reaction::Retry | Reaction::Stop => (Verdict::Failed, false),
        Reaction::NextIteration => match class {
            FailureClass::Timeout | FailureClass::Silence => (Verdict::TimedOut, true),
            _ => (Verdict::Failed, true),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::failure::Failure;

    fn outcome(end: TurnEnd, text: &str) -> Outcome {
        Outcome {
            end,
            final_text: text.to_owned(),
            failure: None,
            exit_code: Some(0),
            exit_signal: None,
            usage: Default::default(),
            unfinished: false,
            model: None,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn verdicts() {
        use TurnEnd::*;
        let terms = Terms {
            promise: "DONE",
            rule: PromiseMatch::Line,
            prompt: "say DONE",
        };
        for (end, text, empty_streak, expected) in [
            (Finished, "working\nDONE", 0, (Verdict::Promised, true)),
            (
                Finished,
                "I will say DONE later",
                0,
                (Verdict::Unfinished, true),
            ),
            (Finished, " \n", 0, (Verdict::Empty, false)),
            (Finished, "", 1, (Verdict::Empty, false)),
            (Finished, "", 2, (Verdict::Empty, true)),
            (Finished, "", 7, (Verdict::Empty, true)),
            (TimedOut, "DONE", 0, (Verdict::Promised, true)),
            (TimedOut, "not yet", 0, (Verdict::TimedOut, true)),
            (TimedOut, "", 0, (Verdict::TimedOut, true)),
            (Stopped, "DONE", 0, (Verdict::Cancelled, false)),
            (Overspent, "working", 0, (Verdict::Cancelled, true)),
            (Overspent, "working\nDONE", 0, (Verdict::Promised, true)),
            (DoomLoop, "DONE", 0, (Verdict::DoomLoop, true)),
            (Lost, "", 0, (Verdict::Lost, false)),
        ] {
            assert_eq!(
                verdict_of(&outcome(end, text), &terms, empty_streak),
                expected,
                "{end:?} {text:?}"
            );
        }
    }

    #[test]
    fn the_promise_of_a_failed_agent_is_not_believed() {
        let terms = Terms {
            promise: "DONE",
            rule: PromiseMatch::Line,
            prompt: "",
        };
        let failure = Some(Failure {
            class: FailureClass::Other,
            detail: "exit code 1".to_owned(),
            reset_at_ms: None,
        });
        let failed = Outcome {
            failure,
            ..outcome(TurnEnd::Finished, "DONE")
        };
        assert_eq!(verdict_of(&failed, &terms, 0), (Verdict::Failed, false));
    }
}
