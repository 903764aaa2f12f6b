//! Sub-agents in trees of any shape: known to their parents, paid by all above them, moved with them, and their end heard.

use super::bench::{Bench, for_all};
use super::happenings::{Deed, Wish};
use super::world::World;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use ralphd::clock::new_id;
use ralphd::model::plan::{Plan, PlanTask};
use ralphd::model::session::{Control, EndReason, SessionState, SessionStep, Trigger};
use ralphd::model::task::{TaskKind, TaskState, TaskStep};
use ralphd::model::usage::Usage;
use ralphd::store::iterations::{self, NewIteration};
use ralphd::store::sessions::{self, Ending, Session};
use ralphd::store::tasks::{self, Claim, Settlement};
use ralphd::store::{events, ledger, plans};
use serde_json::json;
use std::collections::BTreeMap;

const STEPS: u32 = 2;
const MAX_DEPTH: i64 = 3;

fn plan() -> Plan {
    let tasks =
        (1..=STEPS).map(|order| PlanTask::new(order, TaskKind::Agent, format!("Do {order}")));
    Plan {
        plan_summary: String::new(),
        complexity: None,
        tasks: tasks.collect(),
    }
}

fn session_of(bench: &Bench, id: &str) -> Session {
    let id = id.to_owned();
    bench.read(move |sql| sessions::expect(sql, &id))
}

fn state_of(bench: &Bench, task: &str) -> TaskState {
    let id = task.to_owned();
    bench.read(move |sql| tasks::expect(sql, &id)).task.status
}

/// Claims all there is, and has planned what is to be planned; the steps that could be given away.
fn steps_at_work(world: &World<'_>) -> Vec<Claim> {
    while let Some(claim) = world.claim() {
        let id = claim.task_id.clone();
        let kind = world
            .bench
            .read(move |sql| tasks::expect(sql, &id))
            .task
            .task_type;
        if kind == TaskKind::Plan {
            world.deed(&claim, Deed::GoOn).unwrap();
            world.deed(&claim, Deed::GoOn).unwrap();
        }
    }
    let mut claims = world.claims();
    claims.retain(|claim| session_of(world.bench, &claim.session_id).depth < MAX_DEPTH);
    claims
}

/// Who works for whom: each child with the claim that gave it its work.
fn grow(world: &World<'_>, picks: &[Index]) -> Vec<(String, Claim)> {
    let mut grown = Vec::new();
    for pick in picks {
        let steps = steps_at_work(world);
        let claim = steps[pick.index(steps.len())].clone();
        world.deed(&claim, Deed::Delegate).unwrap();
        grown.push((world.tree().pop().unwrap(), claim));
    }
    grown
}

fn is_tracked(world: &World<'_>, child: &str, by: &Claim) -> TestCaseResult {
    let bench = world.bench;
    let (parent, session) = (session_of(bench, &by.session_id), session_of(bench, child));
    prop_assert_eq!(session.parent_session_id.as_ref(), Some(&by.session_id));
    prop_assert_eq!(session.parent_task_id.as_ref(), Some(&by.task_id));
    prop_assert_eq!(
        (session.depth, session.trigger),
        (parent.depth + 1, Trigger::SubAgent)
    );
    prop_assert!(session.depth <= MAX_DEPTH);
    prop_assert_eq!(&session.workspace, &parent.workspace);
    let (whose, id) = (by.clone(), child.to_owned());
    let (listed, root, told) = bench.read(move |sql| {
        let listed = sessions::of_task(sql, &whose.session_id, &whose.task_id)?;
        Ok((
            listed,
            sessions::root(sql, &id)?,
            events::after(sql, Some(&whose.session_id), 0, 1000)?,
        ))
    });
    prop_assert_eq!(listed, vec![session]);
    prop_assert_eq!(&root, &world.root);
    let spawned: Vec<_> = told
        .iter()
        .filter(|event| event.kind == "sub_agent.spawned" && event.data["session"] == *child)
        .collect();
    prop_assert_eq!(spawned.len(), 1);
    prop_assert_eq!(spawned[0].task_id.as_ref(), Some(&by.task_id));
    prop_assert_eq!(state_of(bench, &by.task_id), TaskState::WaitingDependency);
    Ok(())
}

/// A pause, a resumption and a cancellation reach everybody below, at once where nobody works.
fn moves_as_one(world: &World<'_>) -> TestCaseResult {
    let bench = world.bench;
    let at_work: Vec<String> = world
        .claims()
        .into_iter()
        .map(|claim| claim.session_id)
        .collect();
    let before: BTreeMap<String, SessionState> = world
        .tree()
        .into_iter()
        .map(|id| (id.clone(), session_of(bench, &id).status))
        .collect();
    for (wish, now, noted) in [
        (
            Wish::Pause,
            Some(SessionState::Paused),
            Some(Control::Pause),
        ),
        (Wish::Resume, None, None),
        (
            Wish::Cancel,
            Some(SessionState::Cancelled),
            Some(Control::Cancel),
        ),
    ] {
        world.wish(&world.root, wish).unwrap();
        for id in world.tree() {
            let session = session_of(bench, &id);
            // Who has a sub-agent at work can be paused, but is cancelled only after it.
            let below = bench.tree(&id);
            let busy = match wish {
                Wish::Cancel => below.iter().any(|id| at_work.contains(id)),
                _ => at_work.contains(&id),
            };
            let expected = match busy {
                true => (before[&id], noted),
                false => (now.unwrap_or(before[&id]), None),
            };
            prop_assert_eq!((session.status, session.control), expected, "{:?}", wish);
        }
    }
    for claim in world.claims() {
        // Cancelled with the one above it, or obeying now.
        let _ = world.deed(&claim, Deed::Release);
    }
    for id in world.tree() {
        prop_assert_eq!(session_of(bench, &id).status, SessionState::Cancelled);
    }
    Ok(())
}

// Feature: agent-harnesses, Property 15: Sub-agent spawning and tracking
#[test]
fn property_15_sub_agents_are_tracked_and_moved_with_their_parents() {
    let cases = (
        proptest::collection::vec(any::<Index>(), 1..4),
        any::<bool>(),
    );
    for_all(cases, |bench, (picks, all_at_work)| {
        let world = World::new(bench, Some(&plan()));
        let grown = grow(&world, &picks);
        for (child, by) in &grown {
            is_tracked(&world, child, by)?;
        }
        if !all_at_work {
            world
                .claims()
                .iter()
                .step_by(2)
                .for_each(|claim| world.deed(claim, Deed::Release).unwrap());
        }
        moves_as_one(&world)
    });
}

/// Work that costs something, in any session of the tree.
fn spend(bench: &Bench, claim: &Claim, quarters: u32) {
    let (claim, at_ms) = (claim.clone(), bench.tick());
    let usage = Usage {
        cost_usd: Some(f64::from(quarters) * 0.25),
        input_tokens: Some(i64::from(quarters) * 10),
        output_tokens: Some(i64::from(quarters)),
        tool_calls: 1,
    };
    let new = NewIteration {
        id: new_id(),
        agent: "own".to_owned(),
        prompt_file: "p".to_owned(),
        output_file: "o".to_owned(),
        guidance_ids: Vec::new(),
        // Corrected by what it really cost.
        reserve_usd: Some(4.0),
        start: None,
        started_at_ms: at_ms,
    };
    bench
        .write(move |sql| {
            iterations::begin(sql, &claim, &new, i64::MAX)?;
            ledger::correct(sql, &claim.session_id, &new.id, &usage)?;
            iterations::abandon(
                sql,
                &claim.session_id,
                &claim.task_id,
                ralphd::model::iteration::Verdict::Lost,
                at_ms,
            )
        })
        .unwrap();
}

fn sums_are_right(world: &World<'_>) -> TestCaseResult {
    let bench = world.bench;
    for id in world.tree() {
        let mut quarters = 0;
        for below in bench.tree(&id) {
            let spent: Vec<i64> = bench.column(
                "SELECT output_tokens FROM iterations WHERE session_id = ?1",
                &below,
            );
            quarters += spent.iter().sum::<i64>();
        }
        let session = session_of(bench, &id);
        let found = (
            session.cost_usd,
            session.input_tokens,
            session.output_tokens,
        );
        prop_assert_eq!(found, (quarters as f64 * 0.25, quarters * 10, quarters));
    }
    Ok(())
}

/// The child ends; its task is claimed again and can make the child's answer its own.
fn end_is_heard(world: &World<'_>, child: &str, by: &Claim, worked: bool) -> TestCaseResult {
    let bench = world.bench;
    let (step, reason) = match worked {
        true => (SessionStep::Complete, EndReason::Completed),
        false => (SessionStep::Fail, EndReason::AgentFailed),
    };
    let answer = format!("the answer of {child}");
    let ending = Ending {
        answer: Some(answer.clone()),
        ..Ending::new(step, reason, None)
    };
    let (id, at_ms, seq) = (child.to_owned(), bench.tick(), bench.read(events::last));
    bench
        .write(move |sql| sessions::end(sql, &id, &ending, at_ms))
        .unwrap();
    prop_assert_eq!(state_of(bench, &by.task_id), TaskState::Pending);
    let whose = by.session_id.clone();
    let told = bench.read(move |sql| events::after(sql, Some(&whose), seq, 100));
    let kinds: Vec<&str> = told.iter().map(|event| &event.kind[..]).collect();
    prop_assert_eq!(kinds, vec!["sub_agent.ended", "task.pending"]);
    prop_assert_eq!(told[0].data["end_reason"].as_str(), Some(reason.as_str()));
    let again = world.claim().unwrap();
    prop_assert_eq!(&again.task_id, &by.task_id);
    let (claim, at_ms) = (again, bench.tick());
    let result = bench
        .write(move |sql| {
            let children = sessions::of_task(sql, &claim.session_id, &claim.task_id)?;
            let answer = children.last().unwrap().final_answer.clone();
            let settlement = Settlement {
                result: Some(json!({"answer": answer}).to_string()),
                ..Settlement::default()
            };
            plans::finish(sql, &claim, TaskStep::Complete, &settlement, at_ms)?;
            let pieces = plans::pieces(sql, &claim.session_id)?;
            Ok(pieces
                .into_iter()
                .filter_map(|piece| piece.result)
                .collect::<Vec<_>>())
        })
        .unwrap();
    let expected = json!({"answer": answer});
    prop_assert!(result.contains(&expected));
    Ok(())
}

// Feature: agent-harnesses, Property 16: Sub-agent result incorporation
#[test]
fn property_16_the_end_of_a_sub_agent_is_heard_and_its_cost_counted() {
    let spending = proptest::collection::vec((any::<Index>(), 0..20u32), 1..4);
    let cases = (
        proptest::collection::vec((any::<Index>(), any::<bool>()), 1..4),
        spending,
    );
    for_all(cases, |bench, (picks, spending)| {
        let world = World::new(bench, Some(&plan()));
        let (picks, fates): (Vec<Index>, Vec<bool>) = picks.into_iter().unzip();
        let grown = grow(&world, &picks);
        let _ = steps_at_work(&world);
        let claims = world.claims();
        for (who, quarters) in spending {
            spend(bench, &claims[who.index(claims.len())], quarters);
        }
        sums_are_right(&world)?;
        // The last one has nobody working for it.
        for ((child, by), worked) in grown.iter().zip(fates).rev() {
            end_is_heard(&world, child, by, worked)?;
        }
        sums_are_right(&world)?;
        world.clear_away();
        Ok(())
    });
}
