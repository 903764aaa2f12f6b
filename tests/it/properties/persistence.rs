//! What is written is read back, by another connection from the same file and by whoever reads the program's JSON.

use super::bench::{Bench, for_all};
use super::material::{Written, finish, write, written};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use ralphd::model::handoff;
use ralphd::model::request::Request;
use ralphd::model::session::Verified;
use ralphd::store::events::{self, Event};
use ralphd::store::humans::{self, HumanRequest};
use ralphd::store::iterations::{self, Iteration};
use ralphd::store::sessions::{self, Session};
use ralphd::store::tasks::{self, Task};
use ralphd::store::{Store, guidance, plans};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

const MANY: u32 = 1000;

/// All that the program shows of a session.
type Shown = (
    Session,
    Vec<Task>,
    Vec<Iteration>,
    Vec<HumanRequest>,
    Vec<Event>,
    Vec<Session>,
);

fn show(bench: &Bench, store: &Store, id: &str) -> Shown {
    let id = id.to_owned();
    bench.read_by(store, move |sql| {
        let tasks = tasks::of_session(sql, &id)?;
        let mut children = Vec::new();
        for task in &tasks {
            children.extend(sessions::of_task(sql, &id, &task.id)?);
        }
        Ok((
            sessions::expect(sql, &id)?,
            tasks,
            iterations::of_session(sql, &id)?,
            humans::of_session(sql, &id)?,
            events::after(sql, Some(&id), 0, MANY)?,
            children,
        ))
    })
}

fn survives<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    value: &T,
) -> TestCaseResult {
    let text = serde_json::to_string_pretty(value).unwrap();
    prop_assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
    Ok(())
}

fn session_was_kept(session: &Session, given: &Written) -> TestCaseResult {
    prop_assert_eq!(&session.objective, &given.objective);
    prop_assert_eq!(&session.request, &given.request);
    prop_assert_eq!(&session.completion_promise, &given.promise);
    prop_assert_eq!(
        (&session.final_answer, &session.end_detail),
        (&given.answer, &given.detail)
    );
    prop_assert_eq!(session.verified, Some(Verified::Tampered));
    let plan = session.plan.as_ref().unwrap();
    prop_assert_eq!(
        (&plan["plan_summary"], &plan["inputs"]),
        (&json!(given.plan.plan_summary), &given.inputs)
    );
    let usage = &given.ended.usage;
    prop_assert_eq!(session.cost_usd, usage.cost_usd.unwrap_or(0.0));
    let tokens = (
        session.input_tokens,
        session.output_tokens,
        session.tool_call_count,
    );
    prop_assert_eq!(
        tokens,
        (
            usage.input_tokens.unwrap_or(0),
            usage.output_tokens.unwrap_or(0),
            usage.tool_calls
        )
    );
    Ok(())
}

fn iteration_was_kept(iteration: &Iteration, given: &Written) -> TestCaseResult {
    let ended = &given.ended;
    prop_assert_eq!(
        (iteration.verdict, iteration.counted),
        (Some(ended.verdict), ended.counted)
    );
    prop_assert_eq!(
        (iteration.exit_code, iteration.exit_signal),
        (ended.exit_code, ended.exit_signal)
    );
    prop_assert_eq!(
        iteration.failure_class,
        ended.failure.as_ref().map(|failure| failure.class)
    );
    prop_assert_eq!(
        &iteration.failure_detail,
        &ended.failure.as_ref().map(|failure| failure.detail.clone())
    );
    prop_assert_eq!(
        iteration.reset_at_ms,
        ended
            .failure
            .as_ref()
            .and_then(|failure| failure.reset_at_ms)
    );
    prop_assert_eq!(&iteration.final_text, &ended.final_text);
    prop_assert_eq!(
        (&iteration.handoff, &iteration.handoff_problem),
        (&ended.handoff, &ended.handoff_problem)
    );
    prop_assert_eq!(
        (iteration.verify_passed, &iteration.verify_tail),
        (ended.verify_passed, &ended.verify_tail)
    );
    prop_assert_eq!(
        (&iteration.tampered, &iteration.question),
        (&ended.tampered, &ended.question)
    );
    prop_assert_eq!(
        (&iteration.fingerprint, iteration.progressed),
        (&ended.fingerprint, ended.progressed)
    );
    prop_assert_eq!(
        (&iteration.prompt_file, &iteration.output_file),
        (&given.objective, &given.told)
    );
    prop_assert_eq!(iteration.cost_usd, ended.usage.cost_usd);
    Ok(())
}

fn plan_was_kept(bench: &Bench, store: &Store, shown: &Shown, given: &Written) -> TestCaseResult {
    for (task, planned) in shown.1.iter().skip(1).zip(&given.plan.tasks) {
        let id = task.id.clone();
        let found = bench.read_by(store, move |sql| tasks::expect(sql, &id));
        prop_assert_eq!(found.step.as_ref(), Some(planned));
        prop_assert_eq!(
            (&task.description, &task.target),
            (&planned.description, &planned.target)
        );
    }
    let id = shown.0.id.clone();
    let pieces = bench.read_by(store, move |sql| plans::pieces(sql, &id));
    prop_assert_eq!(pieces[0].result.as_ref(), Some(&given.result));
    prop_assert_eq!(
        (&pieces[0].summary, &pieces[0].error),
        (&given.answer, &given.detail)
    );
    Ok(())
}

fn people_and_tools_were_kept(
    bench: &Bench,
    store: &Store,
    shown: &Shown,
    given: &Written,
) -> TestCaseResult {
    let (question, options, error, answer) = &given.asked;
    let asked = &shown.3[0];
    prop_assert_eq!(
        (&asked.question, &asked.options, &asked.error),
        (question, options, error)
    );
    prop_assert_eq!(asked.answer.as_ref(), Some(answer));
    let id = shown.0.id.clone();
    let told = bench.read_by(store, move |sql| guidance::of_session(sql, &id));
    prop_assert_eq!(&told[0].text, &given.told);
    let stored = |column: &str| -> Vec<Option<String>> {
        bench.column(
            &format!("SELECT {column} FROM tool_calls WHERE session_id = ?1 ORDER BY id"),
            &shown.0.id,
        )
    };
    let calls = given.calls.iter();
    prop_assert_eq!(
        stored("name"),
        calls
            .clone()
            .map(|call| Some(call.name.clone()))
            .collect::<Vec<_>>()
    );
    prop_assert_eq!(
        stored("arguments"),
        calls
            .clone()
            .map(|call| call.arguments.clone())
            .collect::<Vec<_>>()
    );
    prop_assert_eq!(
        stored("result"),
        calls.map(|call| call.result.clone()).collect::<Vec<_>>()
    );
    Ok(())
}

// Feature: agent-harnesses, Property 5: Eternal Engine persistence round-trip
#[test]
fn property_5_another_connection_reads_what_was_written() {
    let second = std::cell::OnceCell::new();
    for_all(written(), |bench, given| {
        let second = second.get_or_init(|| Store::open_as_is(bench.directory.path()).unwrap());
        let id = write(bench, &given);
        finish(bench, &id, &given);
        let shown = show(bench, second, &id);
        session_was_kept(&shown.0, &given)?;
        iteration_was_kept(&shown.2[0], &given)?;
        plan_was_kept(bench, second, &shown, &given)?;
        people_and_tools_were_kept(bench, second, &shown, &given)?;
        prop_assert_eq!(&shown.5[0].final_answer, &given.answer, "of the sub-agent");
        prop_assert_eq!(shown, show(bench, &bench.store, &id));
        Ok(())
    });
}

// Feature: agent-harnesses, Property 4: JSON serialization round-trip
#[test]
fn property_4_the_state_survives_its_json() {
    for_all(written(), |bench, given| {
        let id = write(bench, &given);
        for over in [false, true] {
            if over {
                finish(bench, &id, &given);
            }
            let (mut session, tasks, iterations, humans, events, mut children) =
                show(bench, &bench.store, &id);
            // Not shown: what only the daemon itself uses.
            for session in std::iter::once(&mut session).chain(&mut children) {
                session.waiting_since_ms = None;
            }
            survives(&session)?;
            survives(&(tasks, iterations, humans))?;
            survives(&(events, children))?;
        }
        survives(&given.plan)?;
        survives(&Request {
            objective: given.objective,
            verify: given.detail,
            ..Request::default()
        })?;
        if let Some(handoff) = &given.ended.handoff {
            prop_assert_eq!(
                &handoff::parse(handoff.to_string().as_bytes()).unwrap(),
                handoff
            );
        }
        Ok(())
    });
}
