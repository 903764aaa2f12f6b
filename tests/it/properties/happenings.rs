//! What can happen to a session, by those who work on it, by people and by the passing of time; and plans of any shape.

use proptest::prelude::*;
use proptest::sample::Index;
use ralphd::model::plan::{Plan, PlanTask};
use ralphd::model::task::TaskKind;
use ralphd::store::humans::HumanKind;
use std::collections::BTreeSet;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// Somebody claims the next ready task.
    Claim,
    /// Whoever works on a task does this with it.
    Deed(Index, Deed),
    /// A person does this to a session of the tree.
    Wish(Index, Wish),
    /// Nobody answers for a long time.
    Time,
}

/// What a claimant does with its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The usual way on: the next phase, or done.
    GoOn,
    Fail,
    Skip,
    Retry,
    Ask(HumanKind),
    Release,
    ParkPaused,
    ParkUntil,
    ParkForRoom,
    Rescue,
    HandOver,
    Delegate,
    CallBack(bool),
}

/// What a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Pause,
    PauseNow,
    Resume,
    Cancel,
    Answer,
    Approve,
    Reject,
}

pub fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        10 => Just(Deed::GoOn),
        2 => Just(Deed::Fail),
        1 => Just(Deed::Skip),
        2 => Just(Deed::Retry),
        2 => Just(Deed::Ask(HumanKind::Question)),
        3 => Just(Deed::Ask(HumanKind::Gate)),
        1 => Just(Deed::Release),
        1 => Just(Deed::ParkPaused),
        1 => Just(Deed::ParkUntil),
        2 => Just(Deed::ParkForRoom),
        1 => Just(Deed::Rescue),
        1 => Just(Deed::HandOver),
        4 => Just(Deed::Delegate),
        1 => any::<bool>().prop_map(Deed::CallBack),
    ]
}

fn wishes() -> impl Strategy<Value = Wish> {
    prop_oneof![
        3 => Just(Wish::Pause),
        1 => Just(Wish::PauseNow),
        4 => Just(Wish::Resume),
        1 => Just(Wish::Cancel),
        2 => Just(Wish::Answer),
        3 => Just(Wish::Approve),
        2 => Just(Wish::Reject),
    ]
}

pub fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => Just(Op::Claim),
        10 => (any::<Index>(), deeds()).prop_map(|(index, deed)| Op::Deed(index, deed)),
        5 => (any::<Index>(), wishes()).prop_map(|(index, wish)| Op::Wish(index, wish)),
        1 => Just(Op::Time),
    ];
    proptest::collection::vec(op, 1..most)
}

/// Plans without circles, in any order of their tasks.
pub fn plans_of(most: usize) -> impl Strategy<Value = Plan> {
    let task = (
        proptest::collection::vec(any::<Index>(), 0..3),
        any::<bool>(),
    );
    (proptest::collection::vec(task, 1..=most), any::<Index>()).prop_map(|(drawn, turn)| {
        let mut tasks = Vec::new();
        for (order, (earlier, critical)) in (1u32..).zip(drawn) {
            let before = order as usize - 1;
            let earlier = earlier.iter().filter(|_| before > 0);
            let depends_on: BTreeSet<u32> = earlier
                .map(|index| index.index(before) as u32 + 1)
                .collect();
            tasks.push(PlanTask {
                depends_on: depends_on.into_iter().collect(),
                critical,
                ..PlanTask::new(order, TaskKind::Agent, format!("Do {order}"))
            });
        }
        let turn = turn.index(tasks.len());
        tasks.rotate_left(turn);
        Plan {
            plan_summary: "s".to_owned(),
            complexity: None,
            tasks,
        }
    })
}
