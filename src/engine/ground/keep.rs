//! What an iteration did to its workspace, kept: a commit in the workspace's own repository, or in the one beside a plain directory.
//! That it cannot be kept ends no session; it is said.

use crate::clock::now_ms;
use crate::engine::work::Work;
use crate::store::driver::Sql;
use crate::store::iterations;
use crate::store::restore_points::{self, Ground as Where, NewPoint, RestorePoint};
use crate::store::sessions::Session;
use crate::workspace::git::{self, Ground, Moment, Recall, Tool};
use crate::workspace::places::{self, shadow_of};
use anyhow::Result;
use serde_json::json;
use std::path::Path;

/// What is kept, and when that was.
pub(in crate::engine) struct Occasion {
    /// Of the iteration; 0 before the first.
    pub number: i64,
    /// The date of the commit: whoever does it again after a crash makes the same one.
    pub at_ms: i64,
    pub subject: String,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    pub point: Option<NewPoint>,
    /// By what two states of a repository are told apart; nothing for a plain directory.
    pub mark: Option<String>,
    /// Why it could not be kept.
    pub problem: Option<String>,
}

impl Work {
    /// Keeps the state of the workspace as it is now.
    pub(in crate::engine) async fn keep(
        &self,
        occasion: &Occasion,
        recall: &mut Recall,
    ) -> Result<Kept> {
        let before = self.last_point().await?;
        let kept = self.try_to_keep(occasion, before.as_ref(), recall).await;
        Ok(match kept {
            Ok(kept) => kept,
            Err(error) => {
                let problem = format!("{error:#}");
                tracing::warn!(session = self.session.id, "not kept: {problem}");
                Kept {
                    problem: Some(problem),
                    ..Kept::default()
                }
            }
        })
    }

    /// The point before, which nothing has happened since.
    pub(in crate::engine) async fn keep_unchanged(&self) -> Result<Kept> {
        let before = self.last_point().await?;
        Ok(Kept {
            point: before.map(|point| NewPoint {
                ground: point.ground,
                place: point.place,
                branch: point.branch,
                commit_id: point.commit_id,
                facts: json!({}),
                remarks: Vec::new(),
            }),
            ..Kept::default()
        })
    }

    async fn last_point(&self) -> Result<Option<RestorePoint>> {
        let id = self.session.id.clone();
        let place = self.workspace.to_string_lossy().into_owned();
        let read = move |sql: &mut dyn Sql| restore_points::last(sql, &id, &place);
        self.house.store.read(read).await
    }

    async fn try_to_keep(
        &self,
        occasion: &Occasion,
        before: Option<&RestorePoint>,
        recall: &mut Recall,
    ) -> Result<Kept> {
        let house = &self.house;
        let shadow = shadow_of(&house.state, &self.workspace);
        let own = match self.tree().await? {
            Some(tree) => Some(tree),
            None if self.is_in_place() => {
                places::repository(&house.git, &house.state, &self.workspace).await?
            }
            None => None,
        };
        let ground = match own {
            Some(own) => Ground::Own(own),
            None => git::ground(&house.git, &self.workspace, &shadow).await?,
        };
        let is_own = matches!(ground, Ground::Own(_));
        if !is_own && !house.config.workspaces.restore_points {
            return Ok(Kept::default());
        }
        let kept_in = if is_own { Where::Own } else { Where::Shadow };
        let since = before.filter(|point| point.ground == kept_in);
        let mask = house.secrets.mask();
        let recorded = git::record_with(
            &ground,
            &Moment {
                session: &self.session.id,
                number: occasion.number,
                task: self.step.as_ref().map(|_| self.task.id.as_str()),
                at_ms: occasion.at_ms,
                subject: occasion.subject.clone(),
                // What lay there before the first iteration is not the agent's.
                commits: house.config.git.auto_commit && occasion.number > 0,
                since: since.map(|point| point.commit_id.as_str()),
                mask: &mask,
                large_bytes: house.config.git.large_file_bytes,
            },
            recall,
        )
        .await?;
        let head = recorded.facts.head.clone().unwrap_or_default();
        let mark = recorded
            .commit
            .as_ref()
            .map(|commit| format!("{head}.{commit}"));
        Ok(Kept {
            mark: mark.filter(|_| is_own),
            point: recorded.commit.map(|commit_id| NewPoint {
                ground: kept_in,
                place: self.workspace.to_string_lossy().into_owned(),
                branch: recorded.facts.branch.clone(),
                commit_id,
                facts: json!(recorded.facts),
                remarks: recorded.warnings,
            }),
            problem: None,
        })
    }

    /// What tasks without iterations of their own have left at the end of a plan.
    pub(in crate::engine) async fn keep_the_rest(&self) -> Result<()> {
        let id = self.session.id.clone();
        let number = move |sql: &mut dyn Sql| Ok(iterations::last_number(sql, &id)? + 1);
        let number = self.house.store.read(number).await?;
        let occasion = Occasion {
            number,
            at_ms: self.session.created_at_ms,
            subject: "What the tasks of the plan have left".to_owned(),
        };
        let kept = self.keep(&occasion, &mut Recall::default()).await?;
        let (id, before) = (self.session.id.clone(), self.last_point().await?);
        let Some(point) = kept
            .point
            .filter(|point| before.is_none_or(|before| before.commit_id != point.commit_id))
        else {
            return Ok(());
        };
        let add = move |sql: &mut dyn Sql| {
            restore_points::add(sql, (&id, number), None, &point, now_ms())
        };
        self.house.store.write(add).await
    }

    fn is_in_place(&self) -> bool {
        self.mission.workspace.in_place == Some(true)
    }

    /// Whether the workspace has a repository of its own.
    pub(in crate::engine) fn has_repository(&self) -> bool {
        self.workspace.join(git::DOT_GIT).exists()
    }
}

/// Where the commit of a session's point is. A task's tree shares its repository with the session's workspace, and may be gone.
pub async fn of_point(
    tool: &Tool,
    state: &Path,
    session: &Session,
    point: &RestorePoint,
) -> Result<Ground> {
    let place = match point.ground {
        Where::Own => Path::new(&session.workspace),
        Where::Shadow => Path::new(&point.place),
    };
    if !place.is_dir() {
        let place = place.display();
        anyhow::bail!("the workspace {place} is gone, and its points with it");
    }
    match point.ground {
        Where::Own => places::own_ground(tool, state, place).await,
        Where::Shadow => git::shadow_ground(tool, place, &shadow_of(state, place)).await,
    }
}
