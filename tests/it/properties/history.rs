//! The history tells every change of a state exactly once, with its commit, and whatever else it promises to tell.

use super::bench::{Bench, Rows, for_all};
use super::happenings::{Op, ops, plans_of};
use super::world::World;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ralphd::clock::new_id;
use ralphd::model::session::SessionState;
use ralphd::model::task::TaskState;
use ralphd::store::events::{self, Event};
use ralphd::store::iterations::{self, NewIteration};
use ralphd::store::tool_calls::{self, NewToolCall};
use rusqlite::types::Value;
use std::collections::BTreeMap;

const MANY: u32 = 10_000;

/// The state of every session and task, by id.
fn states(rows: &Rows) -> BTreeMap<String, String> {
    let of_interest = rows
        .iter()
        .filter(|((table, _), _)| ["sessions", "tasks"].contains(table));
    of_interest
        .map(|((_, id), row)| (id.clone(), text(row, "status")))
        .collect()
}

fn text(row: &BTreeMap<String, Value>, column: &str) -> String {
    match &row[column] {
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

fn is_state(kind: &str) -> bool {
    match kind.split_once('.') {
        Some(("session", word)) => word.parse::<SessionState>().is_ok(),
        Some(("task", word)) => word.parse::<TaskState>().is_ok(),
        _ => false,
    }
}

/// Each event goes on where the one before it ended, from the state that was to the state that is.
fn told_exactly_once(before: &Rows, after: &Rows, told: &[Event]) -> TestCaseResult {
    let mut reached = states(before);
    for event in told.iter().filter(|event| is_state(&event.kind)) {
        let (room, to) = event.kind.split_once('.').unwrap();
        let session = event.session_id.clone().unwrap();
        let whose = match room {
            "session" => session,
            _ => event.task_id.clone().unwrap(),
        };
        // A session that was paused before it began goes back to where it was created.
        if event.kind == "session.created" && event.data.get("from").is_none() {
            prop_assert!(reached.insert(whose, to.to_owned()).is_none());
            continue;
        }
        prop_assert_eq!(event.data["to"].as_str(), Some(to), "{:?}", event);
        let from = event.data["from"].as_str().unwrap().to_owned();
        prop_assert_ne!(&from, to, "{:?}", event);
        // Where a new task begins is told by the plan that made it.
        let was = reached
            .insert(whose, to.to_owned())
            .unwrap_or_else(|| from.clone());
        prop_assert_eq!(was, from, "{:?}", event);
    }
    for (id, state) in states(after) {
        let told = reached.get(&id).unwrap_or(&state);
        prop_assert_eq!(told, &state, "{} changed in silence", id);
    }
    Ok(())
}

/// What persons and sub-agents did, as (kind of event, whom it is about): from the rows and from the history.
fn people_and_sub_agents(before: &Rows, after: &Rows) -> Vec<(String, String)> {
    let mut expected = Vec::new();
    for ((table, id), row) in after {
        let was = before.get(&(*table, id.clone()));
        let changed = was.is_none_or(|was| was.get("status") != row.get("status"));
        match *table {
            "human_requests" => {
                let task = text(row, "task_id");
                if was.is_none() {
                    expected.push(("human.asked".to_owned(), task.clone()));
                }
                let status = text(row, "status");
                if changed && !["waiting", "withdrawn"].contains(&status.as_str()) {
                    expected.push((format!("human.{status}"), task));
                }
            }
            "sessions" if row["parent_session_id"] != Value::Null => {
                if was.is_none() {
                    expected.push(("sub_agent.spawned".to_owned(), id.clone()));
                }
                let ended = was.is_none_or(|was| was["ended_at_ms"] == Value::Null);
                if ended && row["ended_at_ms"] != Value::Null {
                    expected.push(("sub_agent.ended".to_owned(), id.clone()));
                }
            }
            _ => {}
        }
    }
    expected.sort();
    expected
}

fn told_of_people_and_sub_agents(told: &[Event]) -> Vec<(String, String)> {
    let field =
        |event: &Event, name: &str| event.data[name].as_str().unwrap_or("nobody").to_owned();
    let of_interest = told
        .iter()
        .filter_map(|event| match event.kind.split_once('.')? {
            ("human", _) => Some((event.kind.clone(), field(event, "task"))),
            ("sub_agent", _) => Some((event.kind.clone(), field(event, "session"))),
            _ => None,
        });
    let mut told: Vec<_> = of_interest.collect();
    told.sort();
    told
}

fn complete_for(world: &World<'_>, op: &Op) -> TestCaseResult {
    let bench = world.bench;
    let (before, seq) = (bench.rows(&world.tree()), bench.read(events::last));
    let refused = world.apply(op).is_err();
    let after = bench.rows(&world.tree());
    let told = bench.read(move |sql| events::after(sql, None, seq, MANY));
    prop_assert!(
        !refused || told.is_empty(),
        "{:?} was refused and told of",
        op
    );
    told_exactly_once(&before, &after, &told)?;
    prop_assert_eq!(
        told_of_people_and_sub_agents(&told),
        people_and_sub_agents(&before, &after)
    );
    for event in &told {
        prop_assert!(
            event.session_id.is_some() && event.data.is_object(),
            "{:?}",
            event
        );
        prop_assert_eq!(event.at_ms, told[0].at_ms, "one commit, one time");
    }
    Ok(())
}

// Feature: agent-harnesses, Property 19: Observability event completeness
#[test]
fn property_19_every_change_is_told_once() {
    let cases = (
        any::<bool>(),
        proptest::option::weighted(0.9, plans_of(4)),
        ops(20),
    );
    for_all(cases, |bench, (begun, plan, ops)| {
        let world = World::at(bench, plan.as_ref(), begun);
        let checked = ops.iter().try_for_each(|op| complete_for(&world, op));
        world.clear_away();
        checked
    });
}

fn tool_calls_of_a_turn() -> impl Strategy<Value = Vec<NewToolCall>> {
    let call = (
        "[a-z_]{1,12}",
        any::<Option<bool>>(),
        proptest::option::of(0..100_000i64),
        0..3i64,
    );
    proptest::collection::vec(call, 0..8).prop_map(|calls| {
        let with_place = (1..).zip(calls);
        let call = with_place.map(|(position, (name, ok, duration_ms, retries))| NewToolCall {
            position,
            name,
            arguments: Some(r#"{"path":"a"}"#.to_owned()),
            result: None,
            ok,
            duration_ms,
            retries,
        });
        call.collect()
    })
}

fn begun_turn(bench: &Bench, world: &World<'_>) -> (String, String, String) {
    let claim = world.claim().unwrap();
    let new = NewIteration {
        id: new_id(),
        agent: "own".to_owned(),
        prompt_file: "p".to_owned(),
        output_file: "o".to_owned(),
        guidance_ids: Vec::new(),
        reserve_usd: None,
        start: None,
        started_at_ms: bench.tick(),
    };
    let ids = (
        claim.session_id.clone(),
        claim.task_id.clone(),
        new.id.clone(),
    );
    bench
        .write(move |sql| iterations::begin(sql, &claim, &new, i64::MAX))
        .unwrap();
    ids
}

// Feature: agent-harnesses, Property 19: Observability event completeness
#[test]
fn property_19_every_tool_call_is_told_once() {
    for_all(tool_calls_of_a_turn(), |bench, calls| {
        let world = World::new(bench, None);
        let (session, task, iteration) = begun_turn(bench, &world);
        let seq = bench.read(events::last);
        let at_ms = bench.tick();
        let (given, whose) = (calls.clone(), (session.clone(), task.clone(), iteration));
        bench
            .write(move |sql| {
                // A turn may be read again from its start.
                tool_calls::add(
                    sql,
                    (&whose.0, &whose.1, &whose.2),
                    &given[..given.len() / 2],
                    at_ms,
                )?;
                tool_calls::add(sql, (&whose.0, &whose.1, &whose.2), &given, at_ms)
            })
            .unwrap();
        let of_session = session.clone();
        let told = bench.read(move |sql| events::after(sql, Some(&of_session), seq, MANY));
        prop_assert_eq!(told.len(), calls.len());
        for (event, call) in told.iter().zip(&calls) {
            prop_assert_eq!((&event.kind[..], event.at_ms), ("tool.called", at_ms));
            prop_assert_eq!(event.task_id.as_ref(), Some(&task));
            prop_assert_eq!(event.data["name"].as_str(), Some(&call.name[..]));
            prop_assert_eq!(event.data["ok"].as_bool(), call.ok);
            prop_assert_eq!(event.data["duration_ms"].as_i64(), call.duration_ms);
        }
        world.clear_away();
        Ok(())
    });
}
