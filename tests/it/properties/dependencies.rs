//! The rows of a plan follow the pure rule: what an end readies, what it blocks, and when the session's own task goes on.

use super::bench::{Bench, for_all};
use super::happenings::{Deed, plans_of};
use super::world::World;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use ralphd::model::plan::{Plan, Progress, Standing};
use ralphd::model::session::{EndReason, SessionState};
use ralphd::model::task::{TaskState, TaskStep};
use ralphd::store::tasks::Claim;
use ralphd::store::{plans, sessions, tasks};

/// How far the rows are and how far they should be.
fn agree(bench: &Bench, world: &World<'_>, plan: &Plan, progress: &Progress) -> TestCaseResult {
    let root = world.root.clone();
    let (session, rows, stands) = bench.read(move |sql| {
        Ok((
            sessions::expect(sql, &root)?,
            tasks::of_session(sql, &root)?,
            plans::stands(sql, &root)?,
        ))
    });
    let (own, rows) = rows.split_first().unwrap();
    let unmet: Vec<i64> = bench.column(
        "SELECT unmet_dependency_count FROM tasks WHERE session_id = ?1 ORDER BY task_order",
        &world.root,
    );
    for (row, unmet) in rows.iter().zip(&unmet[1..]) {
        let order = row.task_order as u32;
        prop_assert_eq!(Some(row.status), progress.state(order), "task {}", order);
        prop_assert_eq!(
            Some(*unmet as usize),
            progress.unmet(order),
            "task {}",
            order
        );
    }
    for state in TaskState::ALL {
        prop_assert_eq!(
            stands.get(state).copied().unwrap_or(0) as usize,
            progress.count(*state)
        );
    }
    prop_assert_eq!(session.task_count as usize, plan.tasks.len());
    prop_assert_eq!(
        session.completed_task_count as usize,
        progress.count(TaskState::Completed)
    );
    prop_assert_eq!(
        session.failed_task_count as usize,
        progress.count(TaskState::Failed)
    );
    let expected = match progress.standing() {
        Standing::Open => TaskState::WaitingDependency,
        _ => TaskState::Pending,
    };
    prop_assert_eq!(own.status, expected, "the session's own task");
    prop_assert_eq!(session.status, SessionState::Executing);
    Ok(())
}

fn order_of(bench: &Bench, claim: &Claim) -> u32 {
    bench.number("SELECT task_order FROM tasks WHERE id = ?1", &claim.task_id) as u32
}

// Feature: agent-harnesses, Property 13: Dependency resolution correctness
#[test]
fn property_13_the_rows_follow_the_rule() {
    let fates = prop_oneof![
        6 => Just((Deed::GoOn, TaskStep::Complete)),
        1 => Just((Deed::Skip, TaskStep::Skip)),
        1 => Just((Deed::Fail, TaskStep::Fail)),
    ];
    let cases = (
        plans_of(10),
        proptest::collection::vec((any::<Index>(), fates, 0..3usize), 1..40),
    );
    for_all(cases, |bench, (plan, picks)| {
        let world = World::planned(bench, &plan);
        let mut progress = Progress::of(&plan);
        agree(bench, &world, &plan, &progress)?;
        let mut claims: Vec<Claim> = Vec::new();
        for (pick, (deed, step), more) in picks {
            while progress.standing() == Standing::Open && claims.len() <= more {
                let Some(claim) = world.claim() else { break };
                progress
                    .apply(order_of(bench, &claim), TaskStep::Claim)
                    .unwrap();
                claims.push(claim);
            }
            if claims.is_empty() {
                break;
            }
            let claim = claims.swap_remove(pick.index(claims.len()));
            world.deed(&claim, deed).unwrap();
            progress.apply(order_of(bench, &claim), step).unwrap();
            agree(bench, &world, &plan, &progress)?;
        }
        world.clear_away();
        Ok(())
    });
}

// Feature: agent-harnesses, Property 14: Plan completion triggers harness completion
#[test]
fn property_14_a_session_completes_when_its_plan_has() {
    let cases = (plans_of(8), proptest::option::of(any::<Index>()));
    for_all(cases, |bench, (plan, failing)| {
        let world = World::planned(bench, &plan);
        let failing = failing.map(|index| plan.tasks[index.index(plan.tasks.len())].order);
        let mut done = 0;
        let own = loop {
            let claim = world.claim().unwrap();
            match order_of(bench, &claim) {
                0 => break claim,
                order if failing == Some(order) => world.deed(&claim, Deed::Fail).unwrap(),
                _ => {
                    world.deed(&claim, Deed::GoOn).unwrap();
                    done += 1;
                }
            }
        };
        prop_assert_eq!(world.claim(), None, "the session's own task comes last");
        prop_assert_eq!(done == plan.tasks.len(), failing.is_none());
        if failing.is_none() {
            world.deed(&own, Deed::GoOn).unwrap();
            world.deed(&own, Deed::GoOn).unwrap();
            let root = world.root.clone();
            let session = bench.read(move |sql| sessions::expect(sql, &root));
            prop_assert_eq!(
                (session.status, session.end_reason),
                (SessionState::Completed, Some(EndReason::Completed))
            );
            prop_assert_eq!(
                (session.completed_task_count, session.task_count),
                (done as i64, done as i64)
            );
        }
        world.clear_away();
        Ok(())
    });
}
