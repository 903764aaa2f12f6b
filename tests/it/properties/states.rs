//! A session takes exactly the steps its table allows, leads where the table says, and refuses all others without a trace.

use super::bench::{differences, for_all};
use super::deeds::{HUMAN_TIMEOUT_MS, question};
use super::happenings::Deed;
use super::plain::{Model, Outcome, Verb, verbs};
use super::world::World;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ralphd::model::session::{EndReason, InvalidStep, SessionState as S, SessionStep, TABLE};
use ralphd::model::task::TaskStep;
use ralphd::store::humans::{self, HumanKind};
use ralphd::store::sessions::{self, Ending};
use ralphd::store::{events, tasks};

fn say(world: &World<'_>, verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Claim => {
            world.claim();
            Ok(())
        }
        Verb::Do(deed) => world
            .claims()
            .first()
            .map_or(Ok(()), |claim| world.deed(claim, deed)),
        Verb::Wish(wish) => world.wish(&world.root, wish),
        Verb::AnswerYes => {
            let (id, at_ms) = (world.root.clone(), world.bench.tick());
            world
                .bench
                .write(move |sql| humans::answer(sql, &id, " Yes", at_ms))
        }
        Verb::Expire => {
            let at_ms = world.bench.pass(HUMAN_TIMEOUT_MS);
            world
                .bench
                .write(move |sql| humans::expire(sql, at_ms))
                .map(drop)
        }
    }
}

fn agrees(world: &World<'_>, model: &mut Model, verb: Verb) -> TestCaseResult {
    let bench = world.bench;
    let (before, seq) = (bench.rows(&world.tree()), bench.read(events::last));
    let said = say(world, verb);
    let changed = differences(&before, &bench.rows(&world.tree()));
    match model.after(verb) {
        Outcome::Now(next) => {
            prop_assert!(
                said.is_ok(),
                "{:?} of {:?}: {:#}",
                verb,
                model,
                said.unwrap_err()
            );
            prop_assert_eq!(
                Model::found(bench, &world.root, next),
                next,
                "{:?} of {:?}",
                verb,
                model
            );
            *model = next;
        }
        Outcome::Nothing => {
            prop_assert!(said.is_ok(), "{:?} of {:?}", verb, model);
            prop_assert_eq!(changed, Vec::<String>::new(), "{:?} of {:?}", verb, model);
        }
        Outcome::Refused(words) => {
            prop_assert_eq!(
                said.map_err(|error| error.to_string()),
                Err(words),
                "{:?} of {:?}",
                verb,
                model
            );
            prop_assert_eq!(changed, Vec::<String>::new(), "{:?} of {:?}", verb, model);
            prop_assert_eq!(bench.read(events::last), seq, "a refusal is no event");
        }
    }
    Ok(())
}

// Feature: agent-harnesses, Property 1: Harness state machine validity
#[test]
fn property_1_verbs_lead_where_they_should_or_change_nothing() {
    for_all(verbs(), |bench, verbs| {
        let world = World::new(bench, None);
        let mut model = Model::NEW;
        let checked = verbs
            .iter()
            .try_for_each(|verb| agrees(&world, &mut model, *verb));
        world.clear_away();
        checked
    });
}

/// Takes a step as the engine does: an end by its own verb.
fn take(world: &World<'_>, step: SessionStep) -> anyhow::Result<()> {
    let (id, at_ms) = (world.root.clone(), world.bench.tick());
    let reason = match step {
        SessionStep::Complete => Some(EndReason::Completed),
        SessionStep::Fail => Some(EndReason::TaskFailed),
        SessionStep::Cancel => Some(EndReason::Cancelled),
        _ => None,
    };
    world.bench.write(move |sql| match reason {
        Some(reason) => sessions::end(sql, &id, &Ending::new(step, reason, None), at_ms),
        None => sessions::step(sql, &id, step, at_ms).map(drop),
    })
}

fn steps() -> impl Strategy<Value = Vec<SessionStep>> {
    let ends = [
        SessionStep::Complete,
        SessionStep::Fail,
        SessionStep::Cancel,
    ];
    let others: Vec<SessionStep> = SessionStep::ALL
        .iter()
        .copied()
        .filter(|step| !ends.contains(step))
        .collect();
    let step = prop_oneof![9 => proptest::sample::select(others), 1 => proptest::sample::select(ends.to_vec())];
    proptest::collection::vec(step, 1..16)
}

// Feature: agent-harnesses, Property 1: Harness state machine validity
#[test]
fn property_1_steps_are_those_of_the_table() {
    for_all(steps(), |bench, steps| {
        let world = World::new(bench, None);
        let (mut state, mut back) = (S::Created, None);
        for step in steps {
            let before = bench.rows(&world.tree());
            let taken = take(&world, step);
            let mut ends = TABLE
                .iter()
                .filter(|(from, by, _)| (*from, *by) == (state, step))
                .map(|(_, _, to)| *to);
            let returns = matches!(step, SessionStep::Answer | SessionStep::Resume);
            let end = ends.find(|to| !returns || Some(*to) == back);
            let id = world.root.clone();
            let found = bench.read(move |sql| sessions::expect(sql, &id)).status;
            match end {
                Some(to) => {
                    prop_assert!(
                        taken.is_ok() && found == to,
                        "{} {}: {:?}",
                        state,
                        step,
                        taken
                    );
                    back = match (state, to) {
                        (S::AwaitingHuman, S::Paused) => back,
                        (_, S::Paused | S::AwaitingHuman) => Some(state),
                        _ => None,
                    };
                    state = to;
                }
                None => {
                    let refusal = InvalidStep {
                        from: state.as_str(),
                        step: step.as_str(),
                    };
                    prop_assert_eq!(
                        taken.unwrap_err().downcast::<InvalidStep>().ok(),
                        Some(refusal)
                    );
                    prop_assert_eq!(
                        differences(&before, &bench.rows(&world.tree())),
                        Vec::<String>::new()
                    );
                }
            }
        }
        world.clear_away();
        Ok(())
    });
}

/// A task of a plan agrees with its own table: whoever lost the claim can do nothing any more.
#[test]
fn a_lost_claim_changes_nothing() {
    let steps = [
        TaskStep::Complete,
        TaskStep::Fail,
        TaskStep::Skip,
        TaskStep::Retry,
        TaskStep::Wait,
        TaskStep::Cancel,
    ];
    for_all(proptest::sample::select(steps.to_vec()), |bench, step| {
        let world = World::new(bench, None);
        let lost = world.claim().unwrap();
        world.deed(&lost, Deed::Release).unwrap();
        world.claim().unwrap();
        let before = bench.rows(&world.tree());
        let at_ms = bench.tick();
        let (claim, asking) = (lost.clone(), question(HumanKind::Question, at_ms));
        let settled = bench.write(move |sql| {
            tasks::settle(sql, &claim, step, &tasks::Settlement::default(), at_ms)
        });
        let asked = bench.write(move |sql| humans::ask(sql, &lost, &asking, at_ms));
        prop_assert!(
            settled.unwrap_err().is::<tasks::ClaimLost>()
                && asked.unwrap_err().is::<tasks::ClaimLost>()
        );
        prop_assert_eq!(
            differences(&before, &bench.rows(&world.tree())),
            Vec::<String>::new()
        );
        world.clear_away();
        Ok(())
    });
}
