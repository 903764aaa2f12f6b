//! How a claimed task is begun: what people want of its session comes first, then its gate, then whether there is room.

use super::Work;
use super::leftover::end_what_runs;
use crate::clock::{new_id, now_ms};
use crate::config::Config;
use crate::engine::mission::Mission;
use crate::engine::{House, Signals};
use crate::model::delegation::{Way, way};
use crate::model::gate;
use crate::model::plan::PlanTask;
use crate::model::session::Control;
use crate::model::task::{TaskKind, TaskStep};
use crate::store::driver::Sql;
use crate::store::humans::{self, HumanKind, HumanStatus, NewQuestion};
use crate::store::plans;
use crate::store::sessions::{self, Session};
use crate::store::tasks::{self, Assignment, Claim, Parking, Settlement, Task};
use crate::store::workspaces::{self, Acquired};
use anyhow::Result;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What stands at the door of a claimed task.
pub enum Door {
    Open(Box<Opened>),
    /// The task was put aside: somebody or something comes first.
    Shut,
    /// Nobody wants it any more, but an earlier claimant may have left something under way.
    Unwanted,
}

/// A task that can be worked on.
pub struct Opened {
    session: Session,
    mission: Mission,
    assignment: Assignment,
}

/// The doors of the tasks that are claimed in one transaction; several of them may be of one session.
pub struct Doors {
    config: Arc<Config>,
    known: HashMap<String, (Session, Mission)>,
}

impl Doors {
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            known: HashMap::new(),
        }
    }

    /// Knocks at the door of a task, in the transaction that claims it. A knock that fails may have done half of what it was to do: the
    /// transaction must be undone.
    pub fn knock(&mut self, sql: &mut dyn Sql, claim: &Claim, at_ms: i64) -> Result<Door> {
        self.knock_again(sql, claim, at_ms, Left::Perhaps)
    }

    fn knock_again(
        &mut self,
        sql: &mut dyn Sql,
        claim: &Claim,
        at_ms: i64,
        left: Left,
    ) -> Result<Door> {
        let (session, mission) = self.found(sql, claim)?;
        let door = knock(sql, claim, (session, mission), left, at_ms)?;
        if !matches!(door, Door::Open(_)) {
            // What was done at it may have changed the session.
            self.known.remove(&claim.session_id);
        }
        Ok(door)
    }

    fn found(&mut self, sql: &mut dyn Sql, claim: &Claim) -> Result<(Session, Mission)> {
        if let Some(known) = self.known.get(&claim.session_id) {
            return Ok(known.clone());
        }
        let session = sessions::expect(sql, &claim.session_id)?;
        let mission = Mission::of(&session, &self.config)?;
        let found = (session, mission);
        self.known.insert(claim.session_id.clone(), found.clone());
        Ok(found)
    }
}

impl Work {
    /// Begins a claimed task, at whose door somebody has knocked already or not; nothing when it was put aside instead.
    pub async fn begin(
        house: Arc<House>,
        claim: Claim,
        mut door: Option<Door>,
        signals: Signals,
    ) -> Result<Option<Work>> {
        let mut left = Left::Perhaps;
        loop {
            let found = match door.take() {
                Some(door) => door,
                None => knock_alone(&house, &claim, left).await?,
            };
            let opened = match found {
                Door::Shut => return Ok(None),
                Door::Unwanted => {
                    Box::pin(end_what_runs(&house, &claim)).await?;
                    left = Left::Nothing;
                    continue;
                }
                Door::Open(opened) => *opened,
            };
            let workspace = PathBuf::from(&opened.session.workspace);
            let quick = is_quick(&opened.assignment);
            let work = Work {
                house,
                claim,
                signals,
                session: opened.session,
                mission: opened.mission,
                task: opened.assignment.task,
                step: opened.assignment.step,
                last_result: opened.assignment.result,
                workspace,
                start: None,
            };
            return match quick {
                true => Ok(Some(work)),
                false => work.on_ready_ground().await,
            };
        }
    }
}

/// A task of a plan that changes nothing in the workspace; the one that planned it has made that ready.
fn is_quick(assignment: &Assignment) -> bool {
    let touches = matches!(
        assignment.task.task_type,
        TaskKind::Agent | TaskKind::Shell | TaskKind::Merge
    );
    assignment.step.is_some() && !touches
}

/// What an earlier claimant may have left under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Perhaps,
    Nothing,
}

async fn knock_alone(house: &House, claim: &Claim, left: Left) -> Result<Door> {
    let (taken, config) = (claim.clone(), house.config.clone());
    house
        .store
        .write(move |sql| Doors::new(config.clone()).knock_again(sql, &taken, now_ms(), left))
        .await
}

fn knock(
    sql: &mut dyn Sql,
    claim: &Claim,
    (session, mission): (Session, Mission),
    left: Left,
    at_ms: i64,
) -> Result<Door> {
    let assignment = tasks::expect(sql, &claim.task_id)?;
    let (task, step) = (&assignment.task, &assignment.step);
    let planned = step.is_some();
    if (planned || task.task_type == TaskKind::Plan)
        && let Some(door) = obey(sql, claim, (&session, task), left, at_ms)?
    {
        // It may have been woken to take a room that it has no use for now.
        make_room(sql, &session.id)?;
        return Ok(door);
    }
    if let Some(step) = step
        && ask_at_gate(sql, claim, step, &mission, at_ms)?
    {
        make_room(sql, &session.id)?;
        return Ok(Door::Shut);
    }
    if let Some(parking) = why_no_room(sql, &session, &assignment, &mission, at_ms)? {
        tasks::park(sql, claim, &parking, at_ms)?;
        return Ok(Door::Shut);
    }
    Ok(Door::Open(Box::new(Opened {
        session,
        mission,
        assignment,
    })))
}

/// What was wished while the task waited in the queue. The loop of a plain session sees to that itself.
fn obey(
    sql: &mut dyn Sql,
    claim: &Claim,
    (session, task): (&Session, &Task),
    left: Left,
    at_ms: i64,
) -> Result<Option<Door>> {
    let of_plan = task.task_type != TaskKind::Plan;
    let called_back = of_plan && plans::is_called_back(sql, &session.id)?;
    if session.control == Some(Control::Cancel) || called_back {
        if claim.number > 1 && left == Left::Perhaps {
            return Ok(Some(Door::Unwanted));
        }
        let nothing = Settlement::default();
        plans::finish(sql, claim, TaskStep::Cancel, &nothing, at_ms)?;
        return Ok(Some(Door::Shut));
    }
    if matches!(session.control, Some(Control::Pause | Control::PauseNow)) {
        tasks::park(sql, claim, &Parking::Paused, at_ms)?;
        return Ok(Some(Door::Shut));
    }
    Ok(None)
}

/// Whether a person has to be asked first; then the task waits for that.
fn ask_at_gate(
    sql: &mut dyn Sql,
    claim: &Claim,
    step: &PlanTask,
    mission: &Mission,
    at_ms: i64,
) -> Result<bool> {
    if !gate::is_gated(mission.autonomy, step.critical, false) {
        return Ok(false);
    }
    let asked = humans::of_task(sql, &claim.session_id, &claim.task_id)?;
    let approved = asked
        .iter()
        .any(|asked| asked.kind == HumanKind::Gate && asked.status == HumanStatus::Approved);
    if !gate::is_gated(mission.autonomy, step.critical, approved) {
        return Ok(false);
    }
    let question = NewQuestion {
        id: new_id(),
        kind: HumanKind::Gate,
        question: gate_in_words(step),
        options: vec!["approve".to_owned(), "reject".to_owned()],
        error: None,
        error_type: None,
        result: None,
        expires_at_ms: at_ms + mission.human_timeout_ms,
    };
    humans::ask(sql, claim, &question, at_ms)?;
    Ok(true)
}

/// What is about to happen, so that nobody approves blindly.
fn gate_in_words(step: &PlanTask) -> String {
    let critical = if step.critical { ", critical" } else { "" };
    let mut words = format!(
        "May task {} run ({}{critical})? {}",
        step.order, step.kind, step.description
    );
    let text = [&step.command, &step.sql, &step.filter];
    if let Some(text) = text.into_iter().flatten().next() {
        words.push_str("\n\n");
        words.push_str(text);
    }
    words
}

/// Why the task cannot run beside what runs already.
fn why_no_room(
    sql: &mut dyn Sql,
    session: &Session,
    assignment: &Assignment,
    mission: &Mission,
    at_ms: i64,
) -> Result<Option<Parking>> {
    let task = &assignment.task;
    let planned = assignment.step.is_some();
    if planned
        && let Some(most) = mission.max_parallel
        && tasks::running_beside(sql, &session.id, &task.id)? >= i64::from(most)
    {
        return Ok(Some(Parking::NoRoom {
            key: room_key(&session.id),
            reason: format!("max_parallel is {most}"),
        }));
    }
    // The workspace of a plan was taken by the task that planned it.
    if !planned {
        let holder = match &session.parent_session_id {
            Some(_) => sessions::root(sql, &session.id)?,
            None => session.id.clone(),
        };
        if let Acquired::HeldBy(holder) =
            workspaces::acquire(sql, &session.workspace, &holder, at_ms)?
        {
            let path = session.workspace.clone();
            return Ok(Some(Parking::WorkspaceBusy { path, holder }));
        }
    }
    let parallel = mission.is_parallel();
    if takes_seat(
        session,
        &assignment.task,
        assignment.step.as_ref(),
        parallel,
    ) && !workspaces::sit_down(sql, &session.workspace, &task.id)?
    {
        return Ok(Some(Parking::NoRoom {
            key: seat_key(&session.workspace),
            reason: "another agent works in the workspace".to_owned(),
        }));
    }
    Ok(None)
}

/// Whether an agent works in the workspace for this task beside whom others may want to. A sub-agent has a task of its own for that.
pub(super) fn takes_seat(
    session: &Session,
    task: &Task,
    step: Option<&PlanTask>,
    parallel: bool,
) -> bool {
    let asked_for = step.and_then(|step| step.agent.as_deref());
    let has_company = step.is_some() || session.parent_session_id.is_some();
    if task.task_type == TaskKind::Merge {
        return true;
    }
    let has_own_tree = step.is_some() && parallel;
    has_company && !has_own_tree && way(task.task_type, asked_for, &session.agent) == Way::Loop
}

/// What tasks wait for when as many of their session run as may.
pub(super) fn room_key(session: &str) -> String {
    format!("room:{session}")
}

/// What tasks wait for when an agent works where they are to work.
pub(super) fn seat_key(workspace: &str) -> String {
    format!("seat:{workspace}")
}

/// Lets those go on who waited for what a task of the session took or was to take, where it does not leave it in the usual way.
pub(in crate::engine) fn make_room(sql: &mut dyn Sql, session: &str) -> Result<()> {
    let workspace = sessions::expect(sql, session)?.workspace;
    tasks::free_one(sql, &seat_key(&workspace))?;
    tasks::free_one(sql, &room_key(session))
}
