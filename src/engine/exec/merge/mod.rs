//! `merge`: the branches of parallel tasks come together on the working branch, in the order of the tasks. What merges cleanly is merged; a
//! conflict is seen to in `conflict`. Nothing is called merged that is not.

mod conflict;

use crate::engine::work::{Trouble, Work};
use crate::model::event::EventType;
use crate::model::git::branch_of_task;
use crate::model::policy::ErrorClass;
use crate::model::task::TaskState;
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::plans;
use crate::workspace::git::{self, Merged, Repository};
use anyhow::Result;
use conflict::Conflict;
use serde_json::json;

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
    let Some(work) = work.await_merger().await? else {
        return Ok(());
    };
    let working = work.working_branch(&main).await?;
    let behind = git::catch_up(&main).await?;
    if !behind.is_empty() {
        let what = format!("the workspace cannot follow {working}");
        return work.blocked(&what, &behind).await;
    }
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
            Tried::Blocked(paths) => return work.blocked(&no_merge(branch), &paths).await,
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
                self.blocked(&no_merge(branch), &paths).await?;
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
    async fn blocked(self, what: &str, paths: &[String]) -> Result<()> {
        let message = format!(
            "{what}: {}. Commit or undo that in {} and answer retry",
            blocked_by(paths),
            self.session.workspace
        );
        self.setback(Trouble::new(ErrorClass::Ambiguous, message))
            .await
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

fn no_merge(branch: &str) -> String {
    format!("{branch} cannot be merged")
}

fn blocked_by(paths: &[String]) -> String {
    let paths = paths.join(", ");
    format!("the workspace has changes of its own that are not committed ({paths})")
}
