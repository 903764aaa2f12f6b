//! A gate stops its session and nothing else; a yes lets it go on, a no pauses it, and after a no it is asked anew.

use super::bench::{Bench, for_all};
use super::happenings::{Deed, Wish, plans_of};
use super::world::{LEASE_MS, World};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use ralphd::model::session::SessionState;
use ralphd::model::task::TaskState;
use ralphd::store::humans::{self, HumanKind, HumanStatus};
use ralphd::store::tasks::Claim;
use ralphd::store::{events, sessions, tasks};

impl World<'_> {
    fn stands(&self, claim: &Claim) -> (SessionState, TaskState) {
        let claim = claim.clone();
        self.bench.read(move |sql| {
            let session = sessions::expect(sql, &claim.session_id)?.status;
            Ok((session, tasks::expect(sql, &claim.task_id)?.task.status))
        })
    }

    fn is_claimable(&self) -> bool {
        let ready =
            "SELECT count(*) FROM tasks WHERE session_id = ?1 AND status = 'pending' AND held = 0";
        self.bench.number(ready, &self.root) > 0
    }
}

/// The queue gives out another session's task, and nothing of the one that waits.
fn only_others_are_claimed(bench: &Bench, world: &World<'_>) -> TestCaseResult {
    let other = World::new(bench, None);
    let at_ms = bench.tick();
    let all = move |sql: &mut dyn ralphd::store::driver::Sql| {
        let mut claims = Vec::new();
        while let Some(claim) = tasks::claim(sql, "w", at_ms + LEASE_MS, at_ms)? {
            claims.push(claim.session_id);
        }
        Ok(claims)
    };
    let claimed = bench.write(all).unwrap();
    prop_assert_eq!(claimed, vec![other.root.clone()]);
    prop_assert_eq!(world.claim(), None);
    other.clear_away();
    Ok(())
}

fn suspended(bench: &Bench, world: &World<'_>, at_gate: &Claim, seq: i64) -> TestCaseResult {
    prop_assert_eq!(
        world.stands(at_gate),
        (SessionState::AwaitingHuman, TaskState::HumanRequired)
    );
    let root = world.root.clone();
    let (session, told) = bench.read(move |sql| {
        Ok((
            sessions::expect(sql, &root)?,
            events::after(sql, Some(&root), seq, 100)?,
        ))
    });
    let context = session.human_context.unwrap();
    prop_assert_eq!(context["task"].as_str(), Some(&at_gate.task_id[..]));
    prop_assert_eq!(context["question"].as_str(), Some("Which?"));
    for kind in ["human.asked", "session.awaiting_human"] {
        prop_assert_eq!(
            told.iter().filter(|event| event.kind == kind).count(),
            1,
            "{}",
            kind
        );
    }
    Ok(())
}

fn approved(world: &World<'_>, at_gate: &Claim) -> TestCaseResult {
    world.wish(&world.root, Wish::Approve).unwrap();
    prop_assert_eq!(
        world.stands(at_gate),
        (SessionState::Executing, TaskState::Pending)
    );
    let mut claimed = std::iter::from_fn(|| world.claim());
    prop_assert!(
        claimed.any(|claim| claim.task_id == at_gate.task_id),
        "it may run"
    );
    Ok(())
}

fn rejected(bench: &Bench, world: &World<'_>, at_gate: &Claim, reason: &str) -> TestCaseResult {
    let (root, at_ms, why) = (world.root.clone(), bench.tick(), reason.to_owned());
    let seq = bench.read(events::last);
    bench
        .write(move |sql| humans::reject(sql, &root, Some(&why), at_ms))
        .unwrap();
    prop_assert_eq!(
        world.stands(at_gate),
        (SessionState::Paused, TaskState::HumanRequired)
    );
    prop_assert!(!world.is_claimable());
    let root = world.root.clone();
    let (session, told) = bench.read(move |sql| {
        Ok((
            sessions::expect(sql, &root)?,
            events::after(sql, Some(&root), seq, 100)?,
        ))
    });
    let context = session.human_context.unwrap();
    prop_assert_eq!(context["rejected"].as_str(), Some(reason));
    let no = told
        .iter()
        .find(|event| event.kind == "human.rejected")
        .unwrap();
    prop_assert_eq!(
        (no.data["rejected"].as_str(), no.at_ms),
        (Some(reason), at_ms)
    );
    Ok(())
}

/// Resumed, the task is back in the queue as one that was not approved.
fn asked_anew(bench: &Bench, world: &World<'_>, at_gate: &Claim) -> TestCaseResult {
    world.wish(&world.root, Wish::Resume).unwrap();
    prop_assert_eq!(
        world.stands(at_gate),
        (SessionState::Executing, TaskState::Pending)
    );
    let claim = at_gate.clone();
    let asked = bench.read(move |sql| humans::of_task(sql, &claim.session_id, &claim.task_id));
    prop_assert!(
        asked
            .iter()
            .all(|asked| asked.status == HumanStatus::Rejected)
    );
    let mut claimed = std::iter::from_fn(|| world.claim());
    let again = claimed
        .find(|claim| claim.task_id == at_gate.task_id)
        .unwrap();
    world.deed(&again, Deed::Ask(HumanKind::Gate)).unwrap();
    prop_assert_eq!(world.stands(at_gate).1, TaskState::HumanRequired);
    Ok(())
}

// Feature: agent-harnesses, Property 11: Human-in-loop gate suspend behavior
#[test]
fn property_11_a_gate_suspends_a_yes_resumes_a_no_pauses() {
    let cases = (
        plans_of(6),
        0..4usize,
        any::<Index>(),
        proptest::collection::vec(any::<bool>(), 1..4),
        "\\PC{0,40}",
    );
    for_all(cases, |bench, (plan, done, which, answers, reason)| {
        let world = World::planned(bench, &plan);
        for _ in 0..done.min(plan.tasks.len() - 1) {
            let claim = world.claim().unwrap();
            world.deed(&claim, Deed::GoOn).unwrap();
        }
        let claims: Vec<Claim> = std::iter::from_fn(|| world.claim()).collect();
        let mut at_gate = claims[which.index(claims.len())].clone();
        for other in claims.iter().filter(|other| **other != at_gate) {
            world.deed(other, Deed::Release).unwrap();
        }
        for (turn, yes) in answers.into_iter().enumerate() {
            let seq = bench.read(events::last);
            if turn == 0 {
                world.deed(&at_gate, Deed::Ask(HumanKind::Gate)).unwrap();
                suspended(bench, &world, &at_gate, seq)?;
                only_others_are_claimed(bench, &world)?;
            }
            if yes {
                approved(&world, &at_gate)?;
                break;
            }
            rejected(bench, &world, &at_gate, &reason)?;
            asked_anew(bench, &world, &at_gate)?;
            at_gate.number += 1;
            for other in world.claims() {
                world.deed(&other, Deed::Release).unwrap();
            }
        }
        world.clear_away();
        Ok(())
    });
}
