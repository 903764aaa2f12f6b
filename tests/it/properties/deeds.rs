//! What the engine writes when a claimant goes on, gives up, asks or hands its task on.

use super::happenings::Deed;
use ralphd::clock::new_id;
use ralphd::model::plan::Plan;
use ralphd::model::session::{EndReason, SessionState, SessionStep, Trigger};
use ralphd::model::task::{TaskKind, TaskState, TaskStep};
use ralphd::store::driver::Sql;
use ralphd::store::humans::{self, HumanKind, NewQuestion};
use ralphd::store::plans::{self, CallBack, NewPlan};
use ralphd::store::sessions::{self, Ending, NewSession, Parent, Tally};
use ralphd::store::tasks::{self, Claim, HandOver, Parking, Settlement};
use serde_json::Value as Json;

pub const HUMAN_TIMEOUT_MS: i64 = 3_600_000;
const PARK_MS: i64 = 5_000;
const MAX_DEPTH: u32 = 3;

pub fn room(session: &str) -> String {
    format!("room:{session}")
}

pub fn question(kind: HumanKind, at_ms: i64) -> NewQuestion {
    NewQuestion {
        id: new_id(),
        kind,
        question: "Which?".to_owned(),
        options: vec!["this one".to_owned()],
        error: None,
        error_type: None,
        result: None,
        expires_at_ms: at_ms + HUMAN_TIMEOUT_MS,
    }
}

/// What the engine would write for this deed.
pub fn apply(
    sql: &mut dyn Sql,
    claim: &Claim,
    deed: Deed,
    (plan, child): (&Plan, &NewSession),
    company: bool,
    at_ms: i64,
) -> anyhow::Result<()> {
    let nothing = Settlement::default();
    match deed {
        Deed::Ask(kind) => return humans::ask(sql, claim, &question(kind, at_ms), at_ms),
        Deed::Rescue => {
            return tasks::rescue(sql, claim, TaskStep::Rescue, false, "gone", at_ms).map(drop);
        }
        Deed::HandOver => return hand_over(sql, claim, at_ms),
        Deed::Release | Deed::ParkPaused | Deed::ParkUntil | Deed::ParkForRoom => {
            return tasks::park(sql, claim, &parking(claim, deed, company, at_ms), at_ms);
        }
        _ => {}
    }
    let found = tasks::expect(sql, &claim.task_id)?;
    if found.task.task_type == TaskKind::Plan {
        return conduct(sql, claim, deed, plan, at_ms);
    }
    if found.step.is_none() {
        return end_plain(sql, claim, deed, at_ms);
    }
    match deed {
        Deed::Fail => plans::finish(sql, claim, TaskStep::Fail, &nothing, at_ms),
        Deed::Skip => plans::finish(sql, claim, TaskStep::Skip, &nothing, at_ms),
        Deed::Retry => plans::retry(sql, claim, &nothing, at_ms),
        Deed::Delegate => delegate(sql, claim, child, at_ms),
        Deed::CallBack(anew) => {
            let call = if anew {
                CallBack::Replan
            } else {
                CallBack::End(EndReason::TaskFailed)
            };
            plans::finish(sql, claim, TaskStep::Fail, &nothing, at_ms)?;
            plans::call_back(sql, &claim.session_id, &call, "so", at_ms)
        }
        _ => plans::finish(sql, claim, TaskStep::Complete, &nothing, at_ms),
    }
}

fn parking(claim: &Claim, deed: Deed, company: bool, at_ms: i64) -> Parking {
    match deed {
        Deed::ParkPaused => Parking::Paused,
        Deed::ParkUntil => Parking::Until {
            at_ms: at_ms + PARK_MS,
            reason: "a limit".to_owned(),
        },
        Deed::ParkForRoom if company => Parking::NoRoom {
            key: room(&claim.session_id),
            reason: "max_parallel".to_owned(),
        },
        _ => Parking::Released,
    }
}

fn hand_over(sql: &mut dyn Sql, claim: &Claim, at_ms: i64) -> anyhow::Result<()> {
    let over = HandOver {
        from: "own".to_owned(),
        to: "other".to_owned(),
        reason: None,
        until_ms: None,
        queued_since_ms: at_ms,
    };
    tasks::hand_over(sql, claim, &over, at_ms)
}

/// The session's own task: from phase to phase.
fn conduct(
    sql: &mut dyn Sql,
    claim: &Claim,
    deed: Deed,
    plan: &Plan,
    at_ms: i64,
) -> anyhow::Result<()> {
    let id = &claim.session_id;
    if deed == Deed::Fail {
        return end(
            sql,
            claim,
            (TaskStep::Fail, SessionStep::Fail),
            (EndReason::PlanInvalid, Tally::Neither),
            at_ms,
        );
    }
    match (
        sessions::expect(sql, id)?.status,
        plans::called_back(sql, &claim.task_id)?,
    ) {
        (SessionState::Discovering, _) | (SessionState::Executing, Some((CallBack::Replan, _))) => {
            sessions::step(sql, id, SessionStep::Plan, at_ms).map(drop)
        }
        (SessionState::Planning, _) => save(sql, claim, plan, at_ms),
        (SessionState::Executing, Some((CallBack::End(reason), _))) => end(
            sql,
            claim,
            (TaskStep::Fail, SessionStep::Fail),
            (reason, Tally::Neither),
            at_ms,
        ),
        (SessionState::Executing, None) => {
            sessions::step(sql, id, SessionStep::Summarize, at_ms).map(drop)
        }
        (SessionState::Summarizing, _) => {
            let steps = (TaskStep::Complete, SessionStep::Complete);
            end(
                sql,
                claim,
                steps,
                (EndReason::Completed, Tally::Neither),
                at_ms,
            )
        }
        (other, _) => anyhow::bail!("a session cannot be conducted while {other}"),
    }
}

/// The plan, with its orders after all that are taken.
fn save(sql: &mut dyn Sql, claim: &Claim, plan: &Plan, at_ms: i64) -> anyhow::Result<()> {
    let taken = tasks::of_session(sql, &claim.session_id)?;
    let first = taken.iter().map(|task| task.task_order).max().unwrap_or(0) as u32;
    let kept = taken
        .iter()
        .find(|task| task.status == TaskState::Completed && task.task_order > 0);
    let mut plan = plan.clone();
    for task in &mut plan.tasks {
        task.order += first;
        task.depends_on.iter_mut().for_each(|order| *order += first);
        // A new plan may build on what is done.
        task.depends_on
            .extend(kept.map(|kept| kept.task_order as u32));
    }
    let new = NewPlan {
        ids: plan.tasks.iter().map(|_| new_id()).collect(),
        plan,
        inputs: Json::Null,
        priority: 0,
        queued_since_ms: at_ms,
        agent: "own".to_owned(),
    };
    plans::save(sql, claim, &new, at_ms)
}

fn end_plain(sql: &mut dyn Sql, claim: &Claim, deed: Deed, at_ms: i64) -> anyhow::Result<()> {
    let (steps, reason, tally) = match deed {
        Deed::Fail => (
            (TaskStep::Fail, SessionStep::Fail),
            EndReason::AgentFailed,
            Tally::Failed,
        ),
        _ => (
            (TaskStep::Complete, SessionStep::Complete),
            EndReason::Completed,
            Tally::Completed,
        ),
    };
    end(sql, claim, steps, (reason, tally), at_ms)
}

fn end(
    sql: &mut dyn Sql,
    claim: &Claim,
    (task, session): (TaskStep, SessionStep),
    (reason, tally): (EndReason, Tally),
    at_ms: i64,
) -> anyhow::Result<()> {
    tasks::settle(sql, claim, task, &Settlement::default(), at_ms)?;
    let ending = Ending {
        tally,
        ..Ending::new(session, reason, None)
    };
    sessions::end(sql, &claim.session_id, &ending, at_ms)
}

/// A session of another agent takes the task over; at the greatest depth it is done here instead.
pub fn delegate(
    sql: &mut dyn Sql,
    claim: &Claim,
    child: &NewSession,
    at_ms: i64,
) -> anyhow::Result<()> {
    let parent = sessions::expect(sql, &claim.session_id)?;
    if parent.depth as u32 >= MAX_DEPTH {
        return plans::finish(
            sql,
            claim,
            TaskStep::Complete,
            &Settlement::default(),
            at_ms,
        );
    }
    let child = NewSession {
        trigger: Trigger::SubAgent,
        // Only planned sessions delegate: each level has a plan of its own.
        planned: parent.depth as u32 + 1 < MAX_DEPTH,
        agent: "other".to_owned(),
        parent: Some(Parent {
            session_id: parent.id,
            task_id: claim.task_id.clone(),
            depth: parent.depth as u32 + 1,
        }),
        workspace: parent.workspace,
        created_at_ms: at_ms,
        ..child.clone()
    };
    sessions::create(sql, &child)?;
    tasks::settle(sql, claim, TaskStep::Wait, &Settlement::default(), at_ms)?;
    let wish = sessions::control(sql, &claim.session_id)?;
    sessions::obey(sql, &claim.session_id, wish, at_ms)
}
