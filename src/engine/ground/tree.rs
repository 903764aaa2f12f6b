//! The trees of a parallel plan: each task that changes files works on a branch of its own, beside the others, from where the tasks it depends
//! on have left off.

use super::tidy::LastState;
use crate::clock::now_ms;
use crate::engine::work::Work;
use crate::model::git::branch_of_task;
use crate::model::task::TaskKind;
use crate::store::driver::Sql;
use crate::store::plans;
use crate::store::workspaces::{self, NewTree};
use crate::workspace::git::{self, Ground, Repository, Unprepared};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Whether a task works in a tree of its own.
pub(in crate::engine) fn works_in_a_tree(work: &Work) -> bool {
    let changes_files = matches!(work.task.task_type, TaskKind::Agent | TaskKind::Shell);
    work.step.is_some() && work.mission.is_parallel() && changes_files
}

impl Work {
    /// The repository of the session's own workspace, where it has one.
    pub(in crate::engine) async fn main_repository(&self) -> Result<Option<Repository>> {
        self.house
            .repository(Path::new(&self.session.workspace))
            .await
    }

    /// The branch that a session's work comes together on.
    pub(in crate::engine) async fn working_branch(&self, main: &Repository) -> Result<String> {
        let path = self.session.workspace.clone();
        let known = move |sql: &mut dyn Sql| workspaces::get(sql, &path);
        let known = self.house.store.read(known).await?;
        if let Some(branch) = known.and_then(|workspace| workspace.branch) {
            return Ok(branch);
        }
        let branch = main.branch().await?;
        branch.context("the workspace is on no branch, and nothing can be merged into none")
    }

    /// Goes over into the task's own tree.
    pub(in crate::engine) async fn enter_tree(&mut self) -> Result<()> {
        let Some(main) = self.main_repository().await? else {
            bail!(Unprepared(
                "parallel work needs a git repository, and there is none in the workspace"
                    .to_owned()
            ));
        };
        let working = self.working_branch(&main).await?;
        let order = self.task.task_order;
        let branch = branch_of_task(&working, order);
        let place = self
            .house
            .trees_of(&self.session.id)
            .join(order.to_string());
        self.announce_tree(&place, &branch).await?;
        let from = self.start_of_tree(&main, &working).await?;
        git::add_tree(&main, &place, &branch, &from).await?;
        crate::workspace::prepare(&place)?;
        self.workspace = place;
        Ok(())
    }

    /// A tree is about to be made: in the rows first, so that it is never forgotten.
    pub(in crate::engine) async fn announce_tree(&self, place: &Path, branch: &str) -> Result<()> {
        let tree = NewTree {
            path: place.to_string_lossy().into_owned(),
            main_path: self.session.workspace.clone(),
            task_id: self.task.id.clone(),
            session_id: self.session.id.clone(),
            branch: branch.to_owned(),
        };
        let remember = move |sql: &mut dyn Sql| workspaces::add_tree(sql, &tree, now_ms());
        self.house.store.write(remember).await
    }

    /// Where the tree of a task begins: on the working branch, with what the tasks it depends on have left on theirs.
    async fn start_of_tree(&self, main: &Repository, working: &str) -> Result<String> {
        let task = self.task.id.clone();
        let dependencies = move |sql: &mut dyn Sql| plans::dependencies(sql, &task);
        let dependencies = self.house.store.read(dependencies).await?;
        let mut branches = vec![working.to_owned()];
        for piece in dependencies {
            let branch = branch_of_task(working, i64::from(piece.order));
            let exists = main.commit_of(&format!("refs/heads/{branch}")).await?;
            if exists.is_some() && !git::is_merged(main, &branch, working).await? {
                branches.push(branch);
            }
        }
        match git::combined_start(main, &branches, self.session.created_at_ms).await? {
            Ok(commit) => Ok(commit),
            Err(why) => bail!(Unprepared(why)),
        }
    }

    /// What a task without iterations did in its tree goes to its branch before it counts as done.
    pub(in crate::engine) async fn commit_tree(&self) -> Result<()> {
        if !works_in_a_tree(self) {
            return Ok(());
        }
        let Some(tree) = self.tree().await? else {
            return Ok(());
        };
        let state = LastState {
            session: &self.session.id,
            task: Some(&self.task.id),
            order: self.task.task_order,
            at_ms: self.session.created_at_ms,
            subject: &self.task.description,
        };
        state.commit(&self.house, &Ground::Own(tree)).await
    }

    /// The linked tree that is worked in, where it is one: the task's own, or that of the session it is done for.
    pub(in crate::engine) async fn tree(&self) -> Result<Option<Repository>> {
        let path = self.workspace.to_string_lossy().into_owned();
        let known = move |sql: &mut dyn Sql| workspaces::get(sql, &path);
        let known = self.house.store.read(known).await?;
        let Some(main_path) = known.and_then(|workspace| workspace.main_path) else {
            return Ok(None);
        };
        let main = self.house.repository(Path::new(&main_path)).await?;
        let main = main.with_context(|| format!("{main_path} has lost its repository"))?;
        git::tree_at(&main, &self.workspace).await
    }
}
