//! `merge`: the branches of parallel tasks come together on the working branch, in the order of the tasks. What merges cleanly is merged; a
//! conflict is laid out for the merger, checked, and put to a person where that does not help. Nothing is called merged that is not.

use crate::engine::command_turn;
use crate::engine::prompt::MergerPrompt;
use crate::engine::work::{Command, CommandEnd, Consulted, Question, Trouble, Work};
use crate::files;
use crate::model::event::EventType;
use crate::model::git::branch_of_task;
use crate::model::policy::ErrorClass;
use crate::model::role::Role;
use crate::model::task::TaskState;
use crate::process;
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::plans;
use crate::workspace::git::{self, Concluded, Merged, Repository};
use anyhow::Result;
use serde_json::json;
use std::path::Path;

/// How often the merger is asked for one conflict.
const MAX_TRIES: usize = 2;

/// What came of one branch.
enum Came {
    Together(Box<Work>, String),
    /// The task was left: put aside, or to a person.
    Apart,
}

/// What came of the first try.
enum Tried {
    Merged(String),
    Conflict,
    /// By files of the workspace itself.
    Blocked(Vec<String>),
}

/// A branch with a conflict.
struct Conflict<'a> {
    main: &'a Repository,
    branch: &'a str,
    working: &'a str,
    message: String,
    /// Whether all else is merged and done.
    is_last: bool,
}

pub async fn run(work: Work) -> Result<()> {
    let Some(main) = work
        .main_repository()
        .await?
        .filter(|_| work.mission.is_parallel())
    else {
        let words = "nothing to merge: the tasks share one workspace";
        let result = json!({"merged": [], "message": words});
        return work.complete(result, words).await;
    };
    let working = work.working_branch(&main).await?;
    let branches = work.branches(&main, &working).await?;
    let question = format!("May {} be merged into {working}?", branches.join(", "));
    let last = branches.last().map(String::as_str);
    let mut work = match branches.is_empty() {
        true => work,
        false => match work.with_approval(&question, &main, last).await? {
            Some(work) => work,
            None => return Ok(()),
        },
    };
    let mut merged = Vec::new();
    let mut conflicts = Vec::new();
    for branch in &branches {
        match work.merge_cleanly(&main, branch, &working).await? {
            Tried::Merged(commit) => merged.push(json!({"branch": branch, "commit": commit})),
            Tried::Conflict => conflicts.push(branch),
            Tried::Blocked(paths) => return work.blocked(branch, &paths).await,
        }
    }
    // After the others, so that whoever resolves them sees all there is.
    while let Some(branch) = conflicts.first().copied() {
        conflicts.remove(0);
        let is_last = conflicts.is_empty();
        match work
            .bring_together(&main, branch, &working, is_last)
            .await?
        {
            Came::Together(on, commit) => {
                merged.push(json!({"branch": branch, "commit": commit}));
                work = *on;
            }
            Came::Apart => return Ok(()),
        }
    }
    let words = match merged.len() {
        0 => format!("nothing to merge into {working}"),
        count => format!("{count} merged into {working}"),
    };
    let result = json!({"working": working, "merged": merged, "message": words});
    work.complete(result, &words).await
}

impl Work {
    /// The branches that are not merged yet, in the order of their tasks: those it depends on, or all where it depends on none of them.
    async fn branches(&self, main: &Repository, working: &str) -> Result<Vec<String>> {
        let (session, task) = (self.session.id.clone(), self.task.id.clone());
        let read = move |sql: &mut dyn Sql| {
            Ok((
                plans::dependencies(sql, &task)?,
                plans::pieces(sql, &session)?,
            ))
        };
        let (dependencies, all) = self.house.store.read(read).await?;
        for pieces in [dependencies, all] {
            let mut orders: Vec<u32> = pieces
                .iter()
                .filter(|piece| piece.status == TaskState::Completed)
                .map(|piece| piece.order)
                .collect();
            orders.sort_unstable();
            let mut known = false;
            let mut branches = Vec::new();
            for order in orders {
                let branch = branch_of_task(working, i64::from(order));
                if main
                    .commit_of(&format!("refs/heads/{branch}"))
                    .await?
                    .is_none()
                {
                    continue;
                }
                known = true;
                if !git::is_merged(main, &branch, working).await? {
                    branches.push(branch);
                }
            }
            if known {
                return Ok(branches);
            }
        }
        Ok(Vec::new())
    }

    async fn merge_cleanly(&self, main: &Repository, branch: &str, working: &str) -> Result<Tried> {
        let message = self.message(branch, working);
        let commit = match git::merge(main, branch, &message, self.session.created_at_ms).await? {
            Merged::Clean { commit } => commit,
            Merged::Already => main.head().await?.unwrap_or_default(),
            Merged::Blocked { paths } => return Ok(Tried::Blocked(paths)),
            Merged::Conflict { .. } => return Ok(Tried::Conflict),
        };
        let facts = json!({"branch": branch, "into": working, "commit": commit});
        self.tell(EventType::WorkspaceMerged, facts).await?;
        Ok(Tried::Merged(commit))
    }

    async fn bring_together(
        self,
        main: &Repository,
        branch: &str,
        working: &str,
        is_last: bool,
    ) -> Result<Came> {
        let conflict = Conflict {
            main,
            branch,
            working,
            message: self.message(branch, working),
            is_last: is_last && self.ends_the_plan().await?,
        };
        let at_ms = self.session.created_at_ms;
        match git::merge(main, branch, &conflict.message, at_ms).await? {
            Merged::Clean { commit } => Ok(Came::Together(Box::new(self), commit)),
            Merged::Already => {
                let head = main.head().await?.unwrap_or_default();
                Ok(Came::Together(Box::new(self), head))
            }
            Merged::Blocked { paths } => {
                self.blocked(branch, &paths).await?;
                Ok(Came::Apart)
            }
            Merged::Conflict { paths } => {
                let facts = json!({"branch": branch, "into": working, "paths": paths});
                self.tell(EventType::WorkspaceConflicted, facts).await?;
                self.resolve(&conflict, paths).await
            }
        }
    }

    /// Whether nothing of the plan is left to be done after this: only then can the request's check be expected to pass.
    async fn ends_the_plan(&self) -> Result<bool> {
        let session = self.session.id.clone();
        let pieces = move |sql: &mut dyn Sql| plans::pieces(sql, &session);
        let pieces = self.house.store.read(pieces).await?;
        let own = self.task.task_order;
        Ok(pieces.iter().all(|piece| {
            i64::from(piece.order) == own
                || matches!(piece.status, TaskState::Completed | TaskState::Skipped)
        }))
    }

    /// Somebody has changed files in the workspace itself, where only merges are made.
    async fn blocked(self, branch: &str, paths: &[String]) -> Result<()> {
        let message = format!(
            "{branch} cannot be merged: {}. Commit or undo that in {} and answer retry",
            blocked_by(paths),
            self.session.workspace
        );
        self.setback(Trouble::new(ErrorClass::Ambiguous, message))
            .await
    }

    /// Lets the merger resolve a conflict in a tree of its own. What a person or an earlier try did there already counts.
    async fn resolve(mut self, conflict: &Conflict<'_>, paths: Vec<String>) -> Result<Came> {
        let order = self.task.task_order;
        let place = self.house.conflict_tree(&self.session.id, order);
        self.announce_tree(&place, conflict.branch).await?;
        let tree = git::lay_out_conflict(conflict.main, &place, conflict.branch).await?;
        let mut problem = match self.conclude(conflict, &tree).await? {
            Ok(commit) => return self.came_together(conflict, &place, commit).await,
            Err(unresolved) => unresolved,
        };
        let own = std::mem::replace(&mut self.workspace, place.clone());
        for _ in 0..MAX_TRIES {
            match self.ask_merger(conflict, &paths, &problem).await? {
                Consulted::Answer(()) => {}
                Consulted::Later(parking) => {
                    self.park(parking).await?;
                    return Ok(Came::Apart);
                }
                Consulted::Stopped => {
                    self.stop().await?;
                    return Ok(Came::Apart);
                }
                Consulted::Spent(reason, detail) => {
                    self.finish_all(reason, detail).await?;
                    return Ok(Came::Apart);
                }
                Consulted::Failed(trouble) => {
                    problem = trouble.message;
                    break;
                }
            }
            problem = match self.verified(conflict).await? {
                None => {
                    self.stop().await?;
                    return Ok(Came::Apart);
                }
                Some(Err(refuted)) => refuted,
                Some(Ok(())) => match self.conclude(conflict, &tree).await? {
                    Ok(commit) => {
                        self.workspace = own;
                        return self.came_together(conflict, &place, commit).await;
                    }
                    Err(unresolved) => unresolved,
                },
            };
        }
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

    /// The merge commit, or what is still wrong.
    async fn conclude(
        &self,
        conflict: &Conflict<'_>,
        tree: &Repository,
    ) -> Result<Result<String, String>> {
        let at_ms = self.session.created_at_ms;
        let Conflict {
            main,
            branch,
            message,
            ..
        } = conflict;
        let concluded = git::conclude_conflict(main, tree, branch, message, at_ms).await?;
        Ok(match concluded {
            Concluded::Merged { commit } => Ok(commit),
            Concluded::Unresolved(problems) => Err(problems.join("; ")),
            Concluded::Blocked(paths) => Err(blocked_by(&paths)),
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

    fn message(&self, branch: &str, working: &str) -> String {
        format!(
            "Merge {branch} into {working}\n\nRalphd-Session: {}\nRalphd-Task: {}",
            self.session.id, self.task.id
        )
    }

    async fn tell(&self, kind: EventType, facts: serde_json::Value) -> Result<()> {
        let (session, task) = (self.session.id.clone(), self.task.id.clone());
        let tell = move |sql: &mut dyn Sql| {
            let about = About::task(&session, &task);
            events::add(sql, about, kind, crate::clock::now_ms(), &facts)
        };
        self.house.store.write(tell).await
    }
}

fn blocked_by(paths: &[String]) -> String {
    let paths = paths.join(", ");
    format!("the workspace has changes of its own that are not committed ({paths})")
}
