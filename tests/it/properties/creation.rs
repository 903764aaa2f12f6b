//! A new session is one of its own, as it was asked for, at its beginning, and can be found.

use super::bench::for_all;
use super::material::texts;
use proptest::prelude::*;
use ralphd::model::session::{SessionState, Trigger};
use ralphd::model::task::{TaskKind, TaskState};
use ralphd::store::sessions::{self, Created, NewSession, Wanted};
use ralphd::store::tasks;
use std::collections::HashSet;

/// What a session is made from, and which of a few keys it has.
fn wishes() -> impl Strategy<Value = (String, Trigger, bool, Option<u8>)> {
    (
        texts(),
        proptest::sample::select(Trigger::ALL),
        any::<bool>(),
        proptest::option::of(0..3u8),
    )
}

// Feature: agent-harnesses, Property 3: Harness creation invariants
#[test]
fn property_3_a_new_session_is_as_it_was_asked_for() {
    for_all(
        proptest::collection::vec(wishes(), 1..6),
        |bench, wishes| {
            let case = bench.tick();
            let mut made: HashSet<String> = HashSet::new();
            let mut first: [Option<String>; 3] = Default::default();
            for (agent, trigger, planned, key) in wishes {
                let new = NewSession {
                    agent: agent.clone(),
                    trigger,
                    planned,
                    dedupe_key: key.map(|key| format!("{case}.{key}")),
                    ..bench.new_session()
                };
                let asked = new.clone();
                let created = bench
                    .write(move |sql| sessions::create(sql, &asked))
                    .unwrap();
                let earlier = key.and_then(|key| first[usize::from(key)].clone());
                if let Some(earlier) = earlier {
                    prop_assert_eq!(created, Created::Already(earlier));
                    let id = new.id.clone();
                    prop_assert!(bench.read(move |sql| sessions::get(sql, &id)).is_none());
                    continue;
                }
                prop_assert_eq!(&created, &Created::New(new.id.clone()));
                prop_assert!(made.insert(new.id.clone()), "an id of its own");
                if let Some(key) = key {
                    first[usize::from(key)] = Some(new.id.clone());
                }
                let id = new.id.clone();
                let (session, tasks) = bench.read(move |sql| {
                    Ok((sessions::expect(sql, &id)?, tasks::of_session(sql, &id)?))
                });
                prop_assert_eq!(
                    (session.status, session.trigger),
                    (SessionState::Created, trigger)
                );
                prop_assert_eq!((&session.agent, session.depth), (&agent, 0));
                prop_assert_eq!(
                    (session.task_count, session.started_at_ms),
                    (i64::from(!planned), None)
                );
                let first_task = (tasks[0].task_order, tasks[0].task_type, tasks[0].status);
                let expected = match planned {
                    true => (0, TaskKind::Plan, TaskState::Pending),
                    false => (1, TaskKind::Agent, TaskState::Pending),
                };
                prop_assert_eq!((tasks.len(), first_task), (1, expected));
                prop_assert_eq!(tasks[0].agent.as_ref(), Some(&agent));
            }
            let listed = bench.read(|sql| sessions::list(sql, &Wanted::default(), 10));
            let listed: HashSet<String> = listed.into_iter().map(|session| session.id).collect();
            prop_assert!(made.is_subset(&listed), "the newest come first");
            Ok(())
        },
    );
}
