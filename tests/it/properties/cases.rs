//! Orders of events that were once handled wrongly, each by itself.

use super::bench::Bench;
use super::deeds::HUMAN_TIMEOUT_MS;
use super::happenings::{Deed, Op, Wish};
use super::world::World;
use ralphd::model::plan::{Plan, PlanTask};
use ralphd::model::session::{Control, EndReason, SessionState, SessionStep};
use ralphd::model::task::{TaskKind, TaskState};
use ralphd::store::humans::{HumanKind, HumanStatus};
use ralphd::store::sessions::Ending;
use ralphd::store::tasks::Claim;
use ralphd::store::{events, humans, sessions, tasks, workspaces};

/// Tasks that do not depend on each other.
fn beside_each_other(count: u32) -> Plan {
    let tasks =
        (1..=count).map(|order| PlanTask::new(order, TaskKind::Agent, format!("Do {order}")));
    Plan {
        plan_summary: String::new(),
        complexity: None,
        tasks: tasks.collect(),
    }
}

/// A plan of which every task is being worked on.
fn at_work(bench: &Bench, count: u32) -> (World<'_>, Vec<Claim>) {
    let world = World::planned(bench, &beside_each_other(count));
    let claims = (0..count).map(|_| world.claim().unwrap()).collect();
    (world, claims)
}

impl World<'_> {
    fn do_all(&self, deeds: &[(&Claim, Deed)]) {
        deeds
            .iter()
            .for_each(|(claim, deed)| self.deed(claim, *deed).unwrap());
    }

    fn status_of(&self, session: &str) -> SessionState {
        let id = session.to_owned();
        self.bench
            .read(move |sql| sessions::expect(sql, &id))
            .status
    }

    fn status(&self) -> SessionState {
        self.status_of(&self.root)
    }

    fn control(&self, session: &str) -> Option<Control> {
        let id = session.to_owned();
        self.bench.read(move |sql| sessions::control(sql, &id))
    }

    fn task(&self, claim: &Claim) -> TaskState {
        let id = claim.task_id.clone();
        self.bench
            .read(move |sql| tasks::expect(sql, &id))
            .task
            .status
    }

    fn child(&self) -> String {
        self.tree().pop().unwrap()
    }
}

#[test]
fn a_pause_that_was_noted_outlives_a_change_of_phase() {
    let bench = Bench::open();
    let world = World::new(&bench, Some(&beside_each_other(1)));
    let own = world.claim().unwrap();
    world.wish(&world.root, Wish::Pause).unwrap();
    world.do_all(&[(&own, Deed::GoOn)]);
    assert_eq!(world.control(&world.root), Some(Control::Pause), "planning");
    world.do_all(&[(&own, Deed::GoOn)]);
    assert_eq!(world.status(), SessionState::Paused, "planned");
}

#[test]
fn a_pause_that_was_noted_outlives_an_answer() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 2);
    world.do_all(&[(&claims[0], Deed::Ask(HumanKind::Gate))]);
    world.wish(&world.root, Wish::Pause).unwrap();
    world.wish(&world.root, Wish::Approve).unwrap();
    world.do_all(&[(&claims[1], Deed::GoOn)]);
    assert_eq!(world.status(), SessionState::Paused);
}

#[test]
fn whoever_goes_back_into_the_queue_waits_for_the_person_too() {
    let bench = Bench::open();
    for deed in [
        Deed::Release,
        Deed::ParkUntil,
        Deed::Retry,
        Deed::Rescue,
        Deed::HandOver,
    ] {
        let (world, claims) = at_work(&bench, 2);
        world.do_all(&[(&claims[0], Deed::Ask(HumanKind::Gate)), (&claims[1], deed)]);
        bench.pass(HUMAN_TIMEOUT_MS / 2);
        assert_eq!(world.claim(), None, "{deed:?}");
        world.wish(&world.root, Wish::Approve).unwrap();
        assert!(
            world.claim().is_some() && world.claim().is_some(),
            "{deed:?}"
        );
        world.clear_away();
    }
}

#[test]
fn two_questions_of_one_session_can_expire_at_once() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 2);
    let ask = Deed::Ask(HumanKind::Question);
    world.do_all(&[(&claims[0], ask), (&claims[1], ask)]);
    world.apply(&Op::Time).unwrap();
    assert_eq!(world.status(), SessionState::Failed);
    let root = world.root.clone();
    let asked = bench.read(move |sql| humans::of_session(sql, &root));
    let fates: Vec<_> = asked.iter().map(|asked| asked.status).collect();
    assert_eq!(fates, [HumanStatus::Expired, HumanStatus::Withdrawn]);
}

#[test]
fn a_rejection_can_be_taken_back_while_others_are_at_work() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 2);
    world.do_all(&[(&claims[0], Deed::Ask(HumanKind::Gate))]);
    world.wish(&world.root, Wish::Reject).unwrap();
    world.wish(&world.root, Wish::Resume).unwrap();
    assert_eq!(
        (world.status(), world.task(&claims[0])),
        (SessionState::Executing, TaskState::Pending)
    );
    assert_eq!(
        world.claim().unwrap().task_id,
        claims[0].task_id,
        "to be asked anew"
    );
}

#[test]
fn others_can_ask_after_a_rejection() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 3);
    world.do_all(&[(&claims[0], Deed::Ask(HumanKind::Gate))]);
    world.wish(&world.root, Wish::Reject).unwrap();
    world.do_all(&[
        (&claims[1], Deed::Ask(HumanKind::Question)),
        (&claims[2], Deed::GoOn),
    ]);
    assert_eq!(world.status(), SessionState::Paused);
    world.wish(&world.root, Wish::Resume).unwrap();
    assert_eq!(world.status(), SessionState::AwaitingHuman);
    world.wish(&world.root, Wish::Answer).unwrap();
    assert_eq!(
        (world.status(), world.task(&claims[0])),
        (SessionState::Executing, TaskState::Pending)
    );
}

/// A session that waits only for its sub-agent, and the claim of that one.
fn with_sub_agent(bench: &Bench) -> (World<'_>, Claim) {
    let (world, claims) = at_work(bench, 1);
    world.do_all(&[(&claims[0], Deed::Delegate)]);
    let claim = world.claim().unwrap();
    (world, claim)
}

#[test]
fn a_session_that_is_paused_or_asks_is_cancelled_when_its_sub_agent_stops() {
    let bench = Bench::open();
    let (world, of_child) = with_sub_agent(&bench);
    world.wish(&world.root, Wish::Pause).unwrap();
    world.wish(&world.root, Wish::Cancel).unwrap();
    world.do_all(&[(&of_child, Deed::Release)]);
    assert_eq!(
        world.status_of(&of_child.session_id),
        SessionState::Cancelled
    );
    assert_eq!(world.status(), SessionState::Cancelled);
}

#[test]
fn a_cancellation_reaches_sub_agents_at_once() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 2);
    world.do_all(&[(&claims[0], Deed::Delegate)]);
    world.wish(&world.root, Wish::Cancel).unwrap();
    assert_eq!(world.status_of(&world.child()), SessionState::Cancelled);
    world.do_all(&[(&claims[1], Deed::Release)]);
    assert_eq!(world.status(), SessionState::Cancelled);
}

#[test]
fn a_cancellation_cannot_be_resumed_or_paused_away() {
    let bench = Bench::open();
    let (world, of_child) = with_sub_agent(&bench);
    world.wish(&world.root, Wish::Pause).unwrap();
    world.wish(&world.root, Wish::Cancel).unwrap();
    for (wish, words) in [
        (Wish::Resume, "cannot resume while being cancelled"),
        (Wish::Pause, "cannot pause while being cancelled"),
    ] {
        assert_eq!(
            world.wish(&world.root, wish).unwrap_err().to_string(),
            words
        );
    }
    assert_eq!(world.control(&of_child.session_id), Some(Control::Cancel));
}

#[test]
fn a_sub_agent_that_is_being_cancelled_does_not_keep_others_from_a_pause() {
    let bench = Bench::open();
    let (world, of_child) = with_sub_agent(&bench);
    world.wish(&of_child.session_id, Wish::Cancel).unwrap();
    world.wish(&world.root, Wish::Pause).unwrap();
    assert_eq!(world.status(), SessionState::Paused);
    world.do_all(&[(&of_child, Deed::Release)]);
    assert_eq!(
        world.status_of(&of_child.session_id),
        SessionState::Cancelled
    );
}

#[test]
fn a_pause_at_once_stays_one_for_the_others() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 2);
    world.wish(&world.root, Wish::PauseNow).unwrap();
    world.do_all(&[(&claims[0], Deed::ParkPaused)]);
    assert_eq!(world.control(&world.root), Some(Control::PauseNow));
}

#[test]
fn what_was_put_aside_for_a_pause_goes_on_when_that_is_withdrawn() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 2);
    world.wish(&world.root, Wish::Pause).unwrap();
    world.do_all(&[(&claims[0], Deed::ParkPaused)]);
    world.wish(&world.root, Wish::Resume).unwrap();
    assert_eq!(world.claim().unwrap().task_id, claims[0].task_id);
}

#[test]
fn a_workspace_is_held_until_the_last_sub_agent_has_left_it() {
    let bench = Bench::open();
    let (world, of_child) = with_sub_agent(&bench);
    let (root, at_ms) = (world.root.clone(), bench.tick());
    let failing = Ending::new(SessionStep::Fail, EndReason::HumanTimeout, None);
    bench
        .write(move |sql| {
            workspaces::acquire(sql, "/nowhere/shared", &root, at_ms)?;
            sessions::end(sql, &root, &failing, at_ms)
        })
        .unwrap();
    let held = "SELECT count(*) FROM workspaces WHERE holder_session_id = ?1";
    assert_eq!(bench.number(held, &world.root), 1, "its agent is at work");
    world.do_all(&[(&of_child, Deed::Release)]);
    assert_eq!(bench.number(held, &world.root), 0);
}

#[test]
fn a_plan_that_was_cancelled_is_not_called_back() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 1);
    world.wish(&world.root, Wish::Cancel).unwrap();
    world.do_all(&[(&claims[0], Deed::CallBack(true))]);
    assert_eq!(world.status(), SessionState::Cancelled);
    let root = world.root.clone();
    let told = bench.read(move |sql| events::after(sql, Some(&root), 0, 1000));
    assert_eq!(
        told.iter()
            .filter(|event| event.kind == "plan.called_back")
            .count(),
        0
    );
}

#[test]
fn what_has_ended_takes_no_room() {
    let bench = Bench::open();
    let (world, claims) = at_work(&bench, 3);
    // The first to leave makes room for the second, but not for the third.
    world.do_all(&[
        (&claims[2], Deed::ParkForRoom),
        (&claims[1], Deed::ParkForRoom),
        (&claims[0], Deed::CallBack(false)),
    ]);
    assert_eq!(world.task(&claims[1]), TaskState::Cancelled);
    let waits =
        "SELECT count(*) FROM tasks WHERE session_id = ?1 AND (waits_for IS NOT NULL OR held = 1)";
    assert_eq!(bench.number(waits, &world.root), 0);
}

#[test]
fn the_sub_agents_of_an_open_session_are_not_pruned() {
    let bench = Bench::open();
    let (world, of_child) = with_sub_agent(&bench);
    world.do_all(&[(&of_child, Deed::Fail)]);
    let (child, at_ms) = (of_child.session_id.clone(), bench.tick());
    let prune = move |sql: &mut dyn ralphd::store::driver::Sql| {
        sessions::set_reported(sql, &child, at_ms)?;
        sessions::prune(sql, i64::MAX, 100)
    };
    assert_eq!(
        bench.write(prune.clone()).unwrap(),
        Vec::<String>::new(),
        "it counts how often they failed"
    );
    world.clear_away();
    assert_eq!(bench.write(prune).unwrap(), [of_child.session_id]);
}
