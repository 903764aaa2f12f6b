//! Makes the workspace of a session ready, once, before anything runs in it: cloned or fetched, on its branch, or made from the point of
//! another session. That it is done is the session's point 0; until then everything here may be done again.

use super::keep::Occasion;
use crate::clock::now_ms;
use crate::engine::work::Work;
use crate::model::event::EventType;
use crate::model::git::{Source, branch_of};
use crate::model::session::EndReason;
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::iterations;
use crate::store::restore_points::{self, NewPoint, RestorePoint};
use crate::store::sessions::{self, Fork};
use crate::store::tasks::Parking;
use crate::store::workspaces;
use crate::workspace::git::{self, Prepared, Recall, Unprepared, Wanted};
use crate::workspace::letters;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::Path;

/// With too little room on the disk it is looked again after this long.
const LOOK_AGAIN_MS: i64 = 5 * 60 * 1000;

/// Why a workspace is not ready.
enum NotReady {
    /// It cannot be made ready as it was wanted.
    Refused(String),
    Later(Parking),
    /// Told to stop from outside.
    Stopped,
}

impl Work {
    /// The work on ready ground; nothing when it was put aside, or its session ended over it.
    pub(in crate::engine) async fn on_ready_ground(mut self) -> Result<Option<Work>> {
        match self.make_ready().await? {
            Ok(()) => Ok(Some(self)),
            Err(NotReady::Later(parking)) => self.park(parking).await.map(|()| None),
            Err(NotReady::Stopped) => self.stop().await.map(|()| None),
            Err(NotReady::Refused(why)) => {
                let detail = format!("the workspace cannot be made ready: {why}");
                self.give_up_ground(detail).await.map(|()| None)
            }
        }
    }

    /// Where a task cannot even begin, its whole session cannot: all of its tasks are to work there.
    async fn give_up_ground(self, detail: String) -> Result<()> {
        match self.step.is_some() {
            true => self.finish_all(EndReason::TaskFailed, detail).await,
            false => self.fail_session(EndReason::TaskFailed, detail).await,
        }
    }

    async fn make_ready(&mut self) -> Result<Result<(), NotReady>> {
        // A turn that an earlier claimant left is at work, or has ended: it is no new one.
        if !self.has_left_turn().await?
            && let Some(parking) = self.too_little_room()?
        {
            return Ok(Err(NotReady::Later(parking)));
        }
        let id = self.session.id.clone();
        let begun = self
            .house
            .store
            .read(move |sql| restore_points::get(sql, &id, 0))
            .await?;
        if begun.is_none() && self.is_fresh() {
            crate::workspace::prepare(&self.workspace)?;
            self.start = self.empty_start();
        } else if begun.is_none() {
            self.announce_in_place().await?;
            let mut stop = self.signals.stop.clone();
            let prepared = tokio::select! {
                prepared = self.prepare() => prepared,
                // What is half done is done again by whoever comes next.
                _ = stop.wait_for(|stopped| *stopped) => return Ok(Err(NotReady::Stopped)),
            };
            let prepared = match prepared {
                Ok(prepared) => prepared,
                Err(error) => return refusal(error),
            };
            crate::workspace::prepare(&self.workspace)?;
            self.remember(prepared).await?;
        }
        // The agent before may have removed its own floor.
        crate::workspace::prepare(&self.workspace)?;
        if self.claim.number > 1
            && let Some(main) = self.main_repository().await?
        {
            git::open_left_locks(&main).await;
        }
        match super::works_in_a_tree(self) {
            true => match self.enter_tree().await {
                Ok(()) => Ok(Ok(())),
                Err(error) => refusal(error),
            },
            false => Ok(Ok(())),
        }
    }

    /// A lock is about to be put into a user's checkout: in the rows first, so that it is opened again whatever happens.
    async fn announce_in_place(&self) -> Result<()> {
        let is_child = self.session.parent_session_id.is_some();
        if self.mission.workspace.in_place != Some(true) || is_child {
            return Ok(());
        }
        let (id, path) = (self.session.id.clone(), self.session.workspace.clone());
        let note = move |sql: &mut dyn Sql| workspaces::set_untidy(sql, &path, Some(&id));
        self.house.store.write(note).await
    }

    /// A plain session in a directory of its own in which nothing is yet, which is most of them: there is nothing to be made ready, and its
    /// agent is not to wait for git.
    fn is_fresh(&self) -> bool {
        let plain = self.step.is_none() && self.mission.plan.is_none();
        let own = self.session.parent_session_id.is_none()
            && self.session.fork.is_none()
            && self.mission.workspace.repo.is_none();
        plain && own && is_empty(&self.workspace)
    }

    fn empty_start(&self) -> Option<NewPoint> {
        let kept = self.house.config.workspaces.restore_points;
        kept.then(|| NewPoint {
            ground: restore_points::Ground::Shadow,
            place: self.workspace.to_string_lossy().into_owned(),
            branch: None,
            commit_id: git::EMPTY_POINT.to_owned(),
            facts: json!({}),
            remarks: Vec::new(),
        })
    }

    async fn prepare(&self) -> Result<Prepared> {
        let house = &self.house;
        if self.session.parent_session_id.is_some() {
            return Ok(Prepared::default());
        }
        if let Some(fork) = &self.session.fork {
            let fork = serde_json::from_value(fork.clone())?;
            return self.prepare_fork(&fork).await;
        }
        git::prepare(&house.git, &self.workspace, &self.wanted()?).await
    }

    /// What the request wants of the workspace.
    fn wanted(&self) -> Result<Wanted<'_>> {
        let (wanted, git) = (&self.mission.workspace, &self.house.config.git);
        let source = wanted.repo.as_deref().map(Source::read).transpose();
        let source = source.map_err(Unprepared)?;
        let branch = (source.is_some() && git.auto_branch).then(|| self.branch());
        Ok(Wanted {
            source,
            reference: wanted.reference.clone(),
            shallow: wanted.shallow == Some(true),
            in_place: wanted.in_place == Some(true),
            branch,
            session: &self.session.id,
            letters: letters::DIRECTORY,
            clone_timeout: git.timeout.into(),
        })
    }

    /// The branch that its work goes to: a workspace's name says more than one session's words.
    fn branch(&self) -> String {
        let about = self.mission.workspace.session.as_deref();
        branch_of(about.unwrap_or(&self.session.objective), &self.session.id)
    }

    /// The files of another session's point, and its handoff.
    async fn prepare_fork(&self, fork: &Fork) -> Result<Prepared> {
        let (session, number) = (fork.session.clone(), fork.number);
        let (point, handoff) = self
            .house
            .store
            .read(move |sql| {
                let point = restore_points::get(sql, &session, number)?;
                let handoff = restore_points::handoff(sql, &session, number)?;
                Ok((point, handoff))
            })
            .await?;
        let point = point
            .with_context(|| format!("there is no point {} of session {}", number, fork.session))?;
        self.empty_for_fork()?;
        let prepared = self.check_out(&point).await?;
        crate::workspace::prepare(&self.workspace)?;
        if let Some(handoff) = handoff {
            letters::put_handoff(&self.workspace, &handoff)?;
        }
        Ok(prepared)
    }

    /// What an earlier try has left half done is taken away; where anybody else may have worked, nothing is.
    fn empty_for_fork(&self) -> Result<()> {
        let name = self.workspace.file_name().unwrap_or_default();
        if name != self.session.id.as_str() {
            let place = self.workspace.display();
            bail!(Unprepared(format!(
                "a fork needs a workspace of its own, and {place} is not; leave workspace.session out"
            )));
        }
        match std::fs::remove_dir_all(&self.workspace) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot empty {}", self.workspace.display()))
            }
            _ => Ok(()),
        }
    }

    async fn check_out(&self, point: &RestorePoint) -> Result<Prepared> {
        let from_session = point.session_id.clone();
        let read = move |sql: &mut dyn Sql| sessions::expect(sql, &from_session);
        let original = self.house.store.read(read).await?;
        let ground = super::of_point(&self.house.git, &self.house.state, &original, point).await?;
        git::check_out(&ground, &point.commit_id, &self.workspace, &self.branch()).await?;
        let prepared = match point.ground {
            restore_points::Ground::Own => {
                git::adopt(&self.house.git, &self.workspace, &self.wanted()?).await?
            }
            restore_points::Ground::Shadow => Prepared::default(),
        };
        Ok(Prepared {
            notes: vec![format!(
                "the files are those of session {} after iteration {}",
                point.session_id, point.number
            )],
            ..prepared
        })
    }

    /// Point 0: from here on it is never made ready again.
    async fn remember(&mut self, prepared: Prepared) -> Result<()> {
        let occasion = Occasion {
            number: 0,
            at_ms: self.session.created_at_ms,
            subject: "The state before the first iteration".to_owned(),
        };
        let kept = self.keep(&occasion, &mut Recall::default()).await?;
        let (id, path) = (self.session.id.clone(), self.session.workspace.clone());
        let is_child = self.session.parent_session_id.is_some();
        self.house
            .store
            .write(move |sql| {
                let at_ms = now_ms();
                if let Some(point) = &kept.point {
                    let mut point = point.clone();
                    point.remarks.extend(prepared.notes.iter().cloned());
                    restore_points::add(sql, (&id, 0), None, &point, at_ms)?;
                }
                if is_child {
                    return Ok(());
                }
                let branch = kept.point.as_ref().and_then(|point| point.branch.as_deref());
                workspaces::set_branch(sql, &path, branch)?;
                let commit = kept.point.as_ref().map(|point| &point.commit_id);
                let facts = json!({
                    "path": path, "branch": branch, "commit": commit, "safety": prepared.safety, "notes": prepared.notes,
                });
                let about = About::session(&id);
                events::add(sql, about, EventType::WorkspacePrepared, at_ms, &facts)
            })
            .await?;
        let id = self.session.id.clone();
        let read = move |sql: &mut dyn Sql| sessions::expect(sql, &id);
        self.session = self.house.store.read(read).await?;
        Ok(())
    }

    async fn has_left_turn(&self) -> Result<bool> {
        if self.claim.number == 1 {
            return Ok(false);
        }
        let (session, task) = (self.claim.session_id.clone(), self.claim.task_id.clone());
        let read = move |sql: &mut dyn Sql| iterations::open_of_task(sql, &session, &task);
        Ok(self.house.store.read(read).await?.is_some())
    }

    /// An agent on a full disk loses work; it waits until there is room.
    fn too_little_room(&self) -> Result<Option<Parking>> {
        let least = self.house.config.workspaces.min_free_bytes;
        let there = self.workspace.ancestors().find(|path| path.exists());
        let there = there.unwrap_or(&self.house.state);
        let facts = rustix::fs::statvfs(there)
            .with_context(|| format!("cannot look at {}", there.display()))?;
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        Ok((free < least).then(|| Parking::Until {
            at_ms: now_ms() + LOOK_AGAIN_MS,
            reason: format!(
                "only {} MB are free where the workspaces are, {} are wanted ([workspaces] min_free_bytes)",
                free / 1_000_000,
                least.div_ceil(1_000_000)
            ),
        }))
    }
}

/// Whether nothing lies there but the letters' own directory, without a letter.
fn is_empty(workspace: &Path) -> bool {
    let has_entries =
        |path: &Path| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let state = workspace.join(letters::DIRECTORY);
    match std::fs::read_dir(workspace) {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(entries) => {
            let only_state = entries
                .flatten()
                .all(|entry| entry.file_name() == letters::DIRECTORY);
            only_state && !has_entries(&state)
        }
    }
}

/// What git or the request is to blame for, in words; anything else is ours.
fn refusal(error: anyhow::Error) -> Result<Result<(), NotReady>> {
    let told =
        error.is::<Unprepared>() || error.is::<git::GitFailed>() || error.is::<git::Foreign>();
    match told {
        true => Ok(Err(NotReady::Refused(format!("{error:#}")))),
        false => Err(error),
    }
}
