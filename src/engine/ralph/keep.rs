//! What an iteration did to its workspace: kept, and told apart from what was there before.

use super::Ralph;
use super::turn::UnderWay;
use crate::agent::{Outcome, TurnEnd};
use crate::engine::ground::{Kept, Occasion};
use crate::engine::work::first_line;
use crate::workspace::fingerprint::Memory;
use crate::workspace::git;
use anyhow::Result;
use std::path::Path;

/// Of a commit's subject.
const MAX_SUBJECT_CHARS: usize = 72;

impl Ralph {
    /// Keeps the workspace as the turn has left it, and says what it looks like now.
    pub(super) async fn keep(
        &mut self,
        turn: &UnderWay,
        outcome: &Outcome,
    ) -> Result<(Kept, String)> {
        // Nobody has worked: what lies there is what lay there.
        if outcome.end == TurnEnd::Lost {
            return Ok((Kept::default(), String::new()));
        }
        if self.work.has_repository() {
            let occasion = self.occasion(turn, outcome);
            let kept = self.work.keep(&occasion, &mut self.recall).await?;
            let mark = match &kept.mark {
                Some(mark) => mark.clone(),
                None => self.look_at_tree(),
            };
            return Ok((kept, mark));
        }
        let mark = self.recall.fingerprint(&self.work.workspace);
        let empty = || Memory::default().fingerprint(Path::new(""));
        let as_before =
            self.kept_mark == Some(mark) || (self.stands_on_nothing() && mark == empty());
        let kept = match as_before {
            true => self.work.keep_unchanged().await?,
            false => {
                let occasion = self.occasion(turn, outcome);
                self.work.keep(&occasion, &mut self.recall).await?
            }
        };
        self.kept_mark = Some(mark);
        Ok((kept, format!("{mark:016x}")))
    }

    /// The last point is that of a directory in which nothing is.
    fn stands_on_nothing(&self) -> bool {
        self.point
            .as_ref()
            .is_some_and(|point| point.commit_id == git::EMPTY_POINT)
    }

    fn look_at_tree(&mut self) -> String {
        format!("{:016x}", self.recall.fingerprint(&self.work.workspace))
    }

    fn occasion(&self, turn: &UnderWay, outcome: &Outcome) -> Occasion {
        let said = first_line(&outcome.final_text);
        let said = match said.trim() {
            "" => first_line(&self.work.mission.objective),
            words => words.to_owned(),
        };
        let words = format!("Iteration {}: {said}", turn.number);
        let mask = self.work.house.secrets.mask();
        Occasion {
            number: turn.number,
            at_ms: turn.started_at_ms,
            subject: mask.text(&words).chars().take(MAX_SUBJECT_CHARS).collect(),
        }
    }
}
