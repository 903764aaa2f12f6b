//! From an objective to tasks: by a planner, or from a workflow that was written by hand.

use crate::clock::new_id;
use crate::engine::exec::earlier;
use crate::engine::mission::AUTO;
use crate::engine::prompt::{Material, PlannerPrompt};
use crate::engine::work::{Consulted, Question, Work};
use crate::model::plan::{self, Plan, PlanTask, Rules};
use crate::model::policy::ErrorClass;
use crate::model::role::{Role, json_in, plan_schema};
use crate::model::session::EndReason;
use crate::model::task::TaskState;
use crate::store::driver::Sql;
use crate::store::plans::{self, NewPlan, Piece};
use crate::store::restore_points;
use crate::store::sessions::{self, Fork};
use crate::store::tasks::{self, Assignment};
use anyhow::Result;
use serde_json::{Value as Json, json};

/// Has the session planned, or what is left of it planned anew.
pub async fn run(work: Work) -> Result<()> {
    let session = work.session.id.clone();
    let behind = work
        .house
        .store
        .read(move |sql| plans::pieces(sql, &session))
        .await?;
    if let (Some(fork), None) = (&work.session.fork, &work.session.plan) {
        let fork = serde_json::from_value(fork.clone())?;
        return from_fork(work, fork).await;
    }
    // What a workflow did not foresee is for a planner.
    match work.mission.plan.clone() {
        Some(name) if name != AUTO && behind.is_empty() => from_workflow(work, &name).await,
        _ => by_planner(work, behind).await,
    }
}

async fn from_workflow(work: Work, name: &str) -> Result<()> {
    let agents = work.house.roster.names();
    match work
        .house
        .workflows
        .fill(name, &work.mission.inputs, &agents)
    {
        Ok(filled) => {
            let inputs = json!(filled.inputs);
            work.save(filled.plan, inputs).await
        }
        Err(problem) => {
            work.fail_session(EndReason::PlanInvalid, format!("{problem:#}"))
                .await
        }
    }
}

/// The plan of the session that this one is a fork of: what was completed by then stays completed, the rest is still to be done.
async fn from_fork(work: Work, fork: Fork) -> Result<()> {
    let (from, number) = (fork.session.clone(), fork.number);
    let read = move |sql: &mut dyn Sql| {
        let point = restore_points::get(sql, &from, number)?;
        Ok((
            sessions::expect(sql, &from)?,
            tasks::planned(sql, &from)?,
            point,
        ))
    };
    let (original, tasks, point) = work.house.store.read(read).await?;
    let states = point.and_then(|point| point.plan).unwrap_or_default();
    let was_completed = |task: &Assignment| {
        states[task.task.task_order.to_string()] == TaskState::Completed.as_str()
    };
    let (done, left): (Vec<Assignment>, Vec<Assignment>) =
        tasks.into_iter().partition(was_completed);
    let left: Vec<PlanTask> = left.into_iter().filter_map(|task| task.step).collect();
    if left.is_empty() {
        let detail = "nothing of the plan was left at that point; fork an earlier one".to_owned();
        return work.fail_session(EndReason::PlanInvalid, detail).await;
    }
    let copies: Vec<(String, Assignment)> = done.into_iter().map(|task| (new_id(), task)).collect();
    let id = work.session.id.clone();
    let copy = move |sql: &mut dyn Sql| plans::copy(sql, &id, &copies);
    work.house.store.write(copy).await?;
    let shape = original.plan.unwrap_or_default();
    let plan = Plan {
        plan_summary: shape["plan_summary"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        complexity: None,
        tasks: left,
    };
    work.save(plan, shape["inputs"].clone()).await
}

async fn by_planner(mut work: Work, behind: Vec<Piece>) -> Result<()> {
    let agents = work.house.roster.names();
    let kept: Vec<u32> = of_state(&behind, TaskState::Completed)
        .map(|piece| piece.order)
        .collect();
    let first_order = behind
        .iter()
        .map(|piece| piece.order + 1)
        .max()
        .unwrap_or(1);
    let rules = Rules {
        agents: &agents,
        max_tasks: work.house.config.planner.max_tasks as usize,
        kept: &kept,
    };
    let prompt = work.planner_prompt(&behind, first_order).await?;
    let house = work.house.clone();
    let question = Question {
        role: Role::Planner,
        in_workspace: true,
        schema: Some(plan_schema()),
        prompt: &|problem| {
            let material = prompt.material.clone().after(problem);
            let prompt = prompt.clone();
            house.prompts.planner(&PlannerPrompt { material, ..prompt })
        },
        read: &|text| read(text, &rules, first_order),
    };
    match work.consult(&question).await? {
        Consulted::Answer(plan) => {
            let inputs = work
                .session
                .plan
                .as_ref()
                .map(|plan| plan["inputs"].clone());
            work.save(plan, inputs.unwrap_or(Json::Null)).await
        }
        Consulted::Later(parking) => work.park(parking).await,
        Consulted::Stopped => work.stop().await,
        Consulted::Spent(reason, detail) => work.fail_session(reason, detail).await,
        Consulted::Failed(trouble) => {
            let reason = match trouble.class {
                ErrorClass::Format => EndReason::PlanInvalid,
                _ => EndReason::AgentFailed,
            };
            work.fail_session(reason, trouble.message).await
        }
    }
}

/// The plan in a planner's words, or what is wrong with it.
pub(in crate::engine) fn read(
    text: &str,
    rules: &Rules<'_>,
    first_order: u32,
) -> Result<Plan, String> {
    let plan = plan::from_value(json_in(text)?, rules).map_err(|problems| problems.to_string())?;
    let taken = plan.tasks.iter().find(|task| task.order < first_order);
    match taken {
        Some(task) => Err(format!(
            "order {} is taken by an earlier task; number the new ones from {first_order}",
            task.order
        )),
        None => Ok(plan),
    }
}

fn of_state(pieces: &[Piece], state: TaskState) -> impl Iterator<Item = &Piece> {
    pieces.iter().filter(move |piece| piece.status == state)
}

impl Work {
    async fn planner_prompt(&self, behind: &[Piece], first_order: u32) -> Result<PlannerPrompt> {
        let done: Vec<Piece> = of_state(behind, TaskState::Completed).cloned().collect();
        let failed: Vec<Piece> = behind
            .iter()
            .filter(|piece| matches!(piece.status, TaskState::Failed | TaskState::Skipped))
            .cloned()
            .collect();
        let material = Material {
            dependencies: earlier(&done),
            ..self.material().await?.for_answer_of(&plan_schema())
        };
        Ok(PlannerPrompt {
            material,
            agents: self.house.roster.names(),
            own_agent: self.session.agent.clone(),
            max_tasks: self.house.config.planner.max_tasks,
            first_order,
            merge: self.mission.is_parallel(),
            failures: earlier(&failed),
        })
    }

    async fn save(self, plan: Plan, inputs: Json) -> Result<()> {
        let plan = match self.mission.is_parallel() {
            true => plan::with_merge(plan),
            false => plan,
        };
        let new = NewPlan {
            ids: plan.tasks.iter().map(|_| new_id()).collect(),
            plan,
            inputs,
            priority: self.task.priority,
            queued_since_ms: self.session.created_at_ms,
            agent: self.session.agent.clone(),
        };
        self.leave(move |sql, claim, at_ms| plans::save(sql, claim, &new, at_ms))
            .await
    }
}
