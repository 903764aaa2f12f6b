//! A conflict of two branches: laid out in a tree of its own for the merger, judged, checked, and put to a person where that does not help.
//! Nothing may be made of such a tree while somebody is at work in it.

use super::{Came, blocked_by};
use crate::engine::command_turn;
use crate::engine::prompt::MergerPrompt;
use crate::engine::work::{Command, CommandEnd, Consulted, Question, Trouble, Work};
use crate::files;
use crate::model::event::EventType;
use crate::model::policy::ErrorClass;
use crate::model::role::Role;
use crate::process;
use crate::workspace::git::{self, Concluded, Repository};
use anyhow::Result;
use serde_json::json;
use std::path::Path;

/// How often the merger is asked for one conflict.
const MAX_TRIES: usize = 2;

/// A branch with a conflict.
pub(super) struct Conflict<'a> {
    pub main: &'a Repository,
    pub branch: &'a str,
    pub working: &'a str,
    pub message: String,
    /// Whether all else is merged and done.
    pub is_last: bool,
}

/// What a laid-out conflict has come to.
enum Judged {
    Merged(String),
    /// Not a merge yet, or not one that passes the check.
    Wanting(String),
    /// Ended on purpose from outside.
    Stopped,
}

impl Work {
    /// Waits for a merger that an earlier claimant left at work.
    pub(super) async fn await_merger(mut self) -> Result<Option<Work>> {
        let tree = self
            .house
            .conflict_tree(&self.session.id, self.task.task_order);
        let own = std::mem::replace(&mut self.workspace, tree);
        let said = self.see_through(Role::Merger).await?;
        self.workspace = own;
        match said {
            Some(said) => Ok(self.heed_merger(said).await?.map(|(work, _)| work)),
            None => Ok(Some(self)),
        }
    }

    /// Lets the merger resolve a conflict in a tree of its own. What a person or an earlier try did there already counts.
    pub(super) async fn resolve(
        mut self,
        conflict: &Conflict<'_>,
        paths: Vec<String>,
    ) -> Result<Came> {
        let order = self.task.task_order;
        let place = self.house.conflict_tree(&self.session.id, order);
        self.announce_tree(&place, conflict.branch).await?;
        let tree = git::lay_out_conflict(conflict.main, &place, conflict.branch).await?;
        let own = std::mem::replace(&mut self.workspace, place.clone());
        let mut tries = 0;
        let problem = loop {
            let problem = match self.judge(conflict, &tree).await? {
                Judged::Merged(commit) => {
                    self.workspace = own;
                    return self.came_together(conflict, &place, commit).await;
                }
                Judged::Stopped => {
                    self.stop().await?;
                    return Ok(Came::Apart);
                }
                Judged::Wanting(problem) => problem,
            };
            if tries == MAX_TRIES {
                break problem;
            }
            tries += 1;
            let said = self.ask_merger(conflict, &paths, &problem).await?;
            let Some((work, failure)) = self.heed_merger(said).await? else {
                return Ok(Came::Apart);
            };
            self = work;
            if let Some(failure) = failure {
                break failure;
            }
        };
        self.workspace = own;
        let Conflict {
            branch, working, ..
        } = conflict;
        let message = format!(
            "{branch} and {working} are in conflict ({}), and the merger could not resolve it: {problem}. Resolve it in {} and answer retry; or skip, and both branches stay as they are",
            paths.join(", "),
            place.display()
        );
        let trouble = Trouble::new(ErrorClass::Ambiguous, message);
        self.setback(trouble).await?;
        Ok(Came::Apart)
    }

    /// Goes on after the merger's turn, with what kept it from helping; or leaves the task.
    async fn heed_merger(self, said: Consulted<()>) -> Result<Option<(Work, Option<String>)>> {
        match said {
            Consulted::Answer(()) => return Ok(Some((self, None))),
            Consulted::Failed(trouble) => return Ok(Some((self, Some(trouble.message)))),
            Consulted::Later(parking) => self.park(parking).await?,
            Consulted::Stopped => self.stop().await?,
            Consulted::Spent(reason, detail) => self.finish_all(reason, detail).await?,
        }
        Ok(None)
    }

    /// Merges what is resolved and passes the check.
    async fn judge(&self, conflict: &Conflict<'_>, tree: &Repository) -> Result<Judged> {
        let left = git::left_of_conflict(conflict.main, tree).await?;
        if !left.is_empty() {
            return Ok(Judged::Wanting(left.join("; ")));
        }
        match self.verified(conflict).await? {
            None => return Ok(Judged::Stopped),
            Some(Err(refuted)) => return Ok(Judged::Wanting(refuted)),
            Some(Ok(())) => {}
        }
        self.conclude(conflict, tree).await
    }

    async fn came_together(
        self,
        conflict: &Conflict<'_>,
        place: &Path,
        commit: String,
    ) -> Result<Came> {
        git::abandon_conflict(conflict.main, place).await?;
        self.house.forget_tree(place, &self.session.id).await?;
        let facts = json!({
            "branch": conflict.branch, "into": conflict.working, "commit": commit, "conflict": true,
        });
        self.tell(EventType::WorkspaceMerged, facts).await?;
        Ok(Came::Together(Box::new(self), commit))
    }

    async fn conclude(&self, conflict: &Conflict<'_>, tree: &Repository) -> Result<Judged> {
        let at_ms = self.session.created_at_ms;
        let Conflict {
            main,
            branch,
            message,
            ..
        } = conflict;
        let concluded = git::conclude_conflict(main, tree, branch, message, at_ms).await?;
        Ok(match concluded {
            Concluded::Merged { commit } => Judged::Merged(commit),
            Concluded::Unresolved(problems) => Judged::Wanting(problems.join("; ")),
            Concluded::Blocked(paths) => Judged::Wanting(blocked_by(&paths)),
        })
    }

    async fn ask_merger(
        &mut self,
        conflict: &Conflict<'_>,
        paths: &[String],
        problem: &str,
    ) -> Result<Consulted<()>> {
        let house = self.house.clone();
        let prompt = MergerPrompt {
            objective: self.mission.objective.clone(),
            branch: conflict.branch.to_owned(),
            working: conflict.working.to_owned(),
            paths: paths.to_vec(),
            problem: problem.to_owned(),
            verify: self.mission.verify.clone().filter(|_| conflict.is_last),
            workspace: self.workspace.to_string_lossy().into_owned(),
        };
        let question = Question {
            role: Role::Merger,
            in_workspace: true,
            schema: None,
            prompt: &|_| house.prompts.merger(&prompt),
            // What it did is in the files; its words are for the log.
            read: &|_| Ok(()),
        };
        self.consult(&question).await
    }

    /// The request's check over the resolved files; nothing when it was ended on purpose.
    async fn verified(&self, conflict: &Conflict<'_>) -> Result<Option<Result<(), String>>> {
        let Some(text) = self.mission.verify.as_ref().filter(|_| conflict.is_last) else {
            return Ok(Some(Ok(())));
        };
        let logs = self.house.log_directory(&self.session.id);
        files::make_private_directory(&logs)?;
        let turn = command_turn(&self.task.id, self.task.failure_count + 1);
        let order = self.task.task_order;
        let end = self
            .run_command(Command {
                turn: turn.clone(),
                text,
                log: logs.join(format!("T{order:03}.merge.verify.log")),
                stdin: None,
                time: self.house.config.defaults.verify_timeout.into(),
                environment: Vec::new(),
            })
            .await?;
        let passed = end.passed();
        let CommandEnd::Ended { tail, .. } = end else {
            return Ok(None);
        };
        process::forget(&self.house.turn_record(&turn))?;
        Ok(Some(match passed {
            true => Ok(()),
            false => Err(format!(
                "with {} merged, the check `{text}` fails:\n{tail}",
                conflict.branch
            )),
        }))
    }
}
