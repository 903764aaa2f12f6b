//! A pause and a resumption leave everything as it was, whatever a session and its sub-agents are in the middle of.

use super::bench::{differences, for_all};
use super::happenings::{Wish, ops, plans_of};
use super::world::World;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ralphd::model::session::{Control, SessionState};
use ralphd::store::sessions;

/// Lets all go on that is paused, or about to be: what a person paused alone goes on with the whole.
fn go_on(world: &World<'_>) {
    for id in world.tree() {
        // Refused where there is nothing to resume.
        let _ = world.wish(&id, Wish::Resume);
    }
}

fn returns(world: &World<'_>, pause: Wish) -> TestCaseResult {
    let bench = world.bench;
    let before = bench.rows(&world.tree());
    world.wish(&world.root, pause).unwrap();
    let root = world.root.clone();
    let session = bench.read(move |sql| sessions::expect(sql, &root));
    let noted = matches!(session.control, Some(Control::Pause | Control::PauseNow));
    prop_assert!(noted || session.status == SessionState::Paused);
    world.wish(&world.root, Wish::Resume).unwrap();
    prop_assert_eq!(
        differences(&before, &bench.rows(&world.tree())),
        Vec::<String>::new()
    );
    Ok(())
}

// Feature: agent-harnesses, Property 2: Pause/resume round-trip preserves state
#[test]
fn property_2_pause_and_resume_leave_all_as_it_was() {
    let pauses = prop_oneof![Just(Wish::Pause), Just(Wish::PauseNow)];
    let cases = (
        any::<bool>(),
        proptest::option::weighted(0.9, plans_of(4)),
        ops(20),
        pauses,
    );
    for_all(cases, |bench, (begun, plan, ops, pause)| {
        let world = World::at(bench, plan.as_ref(), begun);
        // Before it began, on the way, and wherever that led.
        let mut checked = returns(&world, pause);
        for part in ops.chunks(8) {
            part.iter().for_each(|op| drop(world.apply(op)));
            go_on(&world);
            let root = world.root.clone();
            let session = bench.read(move |sql| sessions::expect(sql, &root));
            if session.status.is_terminal() || session.control.is_some() {
                break;
            }
            checked = checked.and_then(|()| returns(&world, pause));
        }
        world.clear_away();
        checked
    });
}
