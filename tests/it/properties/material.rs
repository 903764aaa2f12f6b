//! Whatever could be written about a session: texts, numbers, plans, turns; and the verbs that write it.

use super::bench::Bench;
use super::deeds::delegate;
use super::happenings::Deed;
use super::world::World;
use proptest::prelude::*;
use ralphd::clock::new_id;
use ralphd::model::failure::{Failure, FailureClass};
use ralphd::model::iteration::Verdict;
use ralphd::model::plan::{Complexity, Plan, PlanTask};
use ralphd::model::policy::OnFailure;
use ralphd::model::session::{EndReason, SessionStep, Verified};
use ralphd::model::task::{TaskKind, TaskStep};
use ralphd::model::usage::Usage;
use ralphd::store::driver::Sql;
use ralphd::store::guidance;
use ralphd::store::humans::{self, HumanKind, NewQuestion};
use ralphd::store::iterations::{self, EndedIteration, NewIteration};
use ralphd::store::plans::{self, NewPlan};
use ralphd::store::sessions::{self, Ending, NewSession};
use ralphd::store::tasks::{self, Claim, Settlement};
use ralphd::store::tool_calls::{self, NewToolCall};
use serde_json::{Value as Json, json};

/// Texts of any kind, also with quotes, lines and signs of other scripts, now and then long; SQLite's own limit is the NUL.
pub fn texts() -> impl Strategy<Value = String> {
    let plain = "[^\\x00]{0,40}";
    prop_oneof![
        6 => plain,
        2 => "['\"\\\\;%\\r\\n\\t{}-]{1,12}",
        1 => ("[^\\x00]{1,20}", 50..150usize).prop_map(|(text, times)| text.repeat(times)),
    ]
}

fn said() -> impl Strategy<Value = String> {
    texts().prop_map(|text| {
        if text.is_empty() {
            "?".to_owned()
        } else {
            text
        }
    })
}

fn values() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>()
            .prop_filter("JSON has no others", |number| number.is_finite())
            .prop_map(Json::from),
        texts().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            proptest::collection::btree_map("[^\\x00]{0,8}", inner, 0..4)
                .prop_map(|map| json!(map)),
        ]
    })
}

fn objects() -> impl Strategy<Value = Json> {
    proptest::collection::btree_map("[^\\x00]{0,8}", values(), 0..4).prop_map(|map| json!(map))
}

fn usages() -> impl Strategy<Value = Usage> {
    let count = || proptest::option::of(0..1i64 << 40);
    (
        proptest::option::of(0.0..1e6f64),
        count(),
        count(),
        0..1000i64,
    )
        .prop_map(
            |(cost_usd, input_tokens, output_tokens, tool_calls)| Usage {
                cost_usd,
                input_tokens,
                output_tokens,
                tool_calls,
            },
        )
}

fn plan_tasks() -> impl Strategy<Value = PlanTask> {
    let optional = || proptest::option::of(texts());
    let kinds: Vec<TaskKind> = TaskKind::ALL
        .iter()
        .copied()
        .filter(|kind| kind.may_be_planned())
        .collect();
    (
        (
            proptest::sample::select(kinds),
            said(),
            optional(),
            any::<bool>(),
        ),
        proptest::option::of(proptest::sample::select(OnFailure::ALL)),
        (optional(), optional(), optional()),
        (optional(), optional(), optional()),
    )
        .prop_map(
            |(
                (kind, description, agent, critical),
                on_failure,
                (target, sql, filter),
                (command, expected, why),
            )| {
                PlanTask {
                    agent,
                    critical,
                    on_failure,
                    target,
                    sql,
                    filter,
                    command,
                    expected_output: expected,
                    reasoning: why,
                    ..PlanTask::new(0, kind, description)
                }
            },
        )
}

fn plans_with_words() -> impl Strategy<Value = Plan> {
    let complexity = proptest::option::of(proptest::sample::select(Complexity::ALL));
    (
        texts(),
        complexity,
        proptest::collection::vec(plan_tasks(), 1..4),
    )
        .prop_map(|(plan_summary, complexity, mut tasks)| {
            for (order, task) in (1..).zip(&mut tasks) {
                task.order = order;
                task.depends_on = (1..order).collect();
            }
            Plan {
                plan_summary,
                complexity,
                tasks,
            }
        })
}

fn ended_iterations() -> impl Strategy<Value = EndedIteration> {
    let optional = || proptest::option::of(texts());
    let failure = (
        proptest::sample::select(FailureClass::ALL),
        texts(),
        any::<Option<i64>>(),
    );
    let failure = failure.prop_map(|(class, detail, reset_at_ms)| Failure {
        class,
        detail,
        reset_at_ms,
    });
    (
        (
            proptest::sample::select(Verdict::ALL),
            any::<bool>(),
            any::<Option<i64>>(),
            any::<Option<i64>>(),
        ),
        (
            proptest::option::of(failure),
            optional(),
            proptest::option::of(objects()),
            optional(),
        ),
        (
            any::<Option<bool>>(),
            optional(),
            proptest::option::of(proptest::collection::vec(texts(), 0..3)),
        ),
        (
            proptest::option::of(objects()),
            optional(),
            any::<Option<bool>>(),
            usages(),
        ),
    )
        .prop_map(|(how, told, checked, rest)| EndedIteration {
            id: new_id(),
            number: 1,
            verdict: how.0,
            counted: how.1,
            exit_code: how.2,
            exit_signal: how.3,
            failure: told.0,
            final_text: told.1,
            handoff: told.2,
            handoff_problem: told.3,
            verify_passed: checked.0,
            verify_tail: checked.1,
            tampered: checked.2,
            question: rest.0,
            fingerprint: rest.1,
            progressed: rest.2,
            spawn: None,
            point: None,
            usage: rest.3,
            warnings: Vec::new(),
            ended_at_ms: 1_700_000_000_000,
        })
}

fn calls() -> impl Strategy<Value = Vec<NewToolCall>> {
    let call = (
        texts(),
        proptest::option::of(values()),
        proptest::option::of(texts()),
        any::<Option<bool>>(),
    );
    proptest::collection::vec(call, 0..3).prop_map(|calls| {
        let placed = (1..).zip(calls);
        let call = placed.map(|(position, (name, arguments, result, ok))| NewToolCall {
            position,
            name,
            arguments: arguments.map(|arguments| arguments.to_string()),
            result,
            ok,
            duration_ms: Some(position * 7),
            retries: position % 3,
        });
        call.collect()
    })
}

/// Everything that a case writes.
#[derive(Clone, Debug)]
pub struct Written {
    pub objective: String,
    pub request: Json,
    pub promise: String,
    pub plan: Plan,
    pub inputs: Json,
    pub ended: EndedIteration,
    pub calls: Vec<NewToolCall>,
    pub asked: (String, Vec<String>, Option<String>, String),
    pub told: String,
    pub result: Json,
    pub answer: Option<String>,
    pub detail: Option<String>,
}

pub fn written() -> impl Strategy<Value = Written> {
    (
        (texts(), objects(), said(), plans_with_words(), values()),
        (ended_iterations(), calls()),
        (
            texts(),
            proptest::collection::vec(texts(), 0..3),
            proptest::option::of(texts()),
            texts(),
        ),
        (
            texts(),
            values(),
            proptest::option::of(texts()),
            proptest::option::of(texts()),
        ),
    )
        .prop_map(|(made, worked, asked, ended)| Written {
            objective: made.0,
            request: made.1,
            promise: made.2,
            plan: made.3,
            inputs: made.4,
            ended: worked.0,
            calls: worked.1,
            asked,
            told: ended.0,
            result: ended.1,
            answer: ended.2,
            detail: ended.3,
        })
}

/// Writes it all by the verbs: planned, told, worked, asked, answered, given to a sub-agent, ended.
pub fn write(bench: &Bench, given: &Written) -> String {
    let new = NewSession {
        objective: given.objective.clone(),
        request: given.request.to_string(),
        completion_promise: given.promise.clone(),
        planned: true,
        ..bench.new_session()
    };
    let world = World::around(bench, &new);
    let own = world.claim().unwrap();
    world.deed(&own, Deed::GoOn).unwrap();
    let (saved, at_ms) = (given.clone(), bench.tick());
    let save = NewPlan {
        plan: saved.plan.clone(),
        inputs: saved.inputs.clone(),
        ids: saved.plan.tasks.iter().map(|_| new_id()).collect(),
        priority: 0,
        queued_since_ms: at_ms,
        agent: "own".to_owned(),
    };
    bench
        .write(move |sql| plans::save(sql, &own, &save, at_ms))
        .unwrap();
    let claim = world.claim().unwrap();
    let (given, child) = (given.clone(), bench.new_session());
    bench
        .write(move |sql| {
            guidance::tell(sql, &claim.session_id, &given.told, at_ms)?;
            work(sql, &claim, &given, at_ms)?;
            ask(sql, &claim, &given, at_ms)?;
            let again =
                tasks::claim_of_tree(sql, "w", &claim.session_id, i64::MAX, at_ms)?.unwrap();
            delegate(sql, &again, &child, at_ms)
        })
        .unwrap();
    world.root
}

fn work(sql: &mut dyn Sql, claim: &Claim, given: &Written, at_ms: i64) -> anyhow::Result<()> {
    let new = NewIteration {
        id: given.ended.id.clone(),
        agent: given.promise.clone(),
        prompt_file: given.objective.clone(),
        output_file: given.told.clone(),
        guidance_ids: Vec::new(),
        reserve_usd: Some(0.5),
        start: None,
        started_at_ms: at_ms,
    };
    iterations::begin(sql, claim, &new, i64::MAX)?;
    tool_calls::add(
        sql,
        (&claim.session_id, &claim.task_id, &new.id),
        &given.calls,
        at_ms,
    )?;
    iterations::end(sql, claim, &given.ended, i64::MAX)
}

fn ask(sql: &mut dyn Sql, claim: &Claim, given: &Written, at_ms: i64) -> anyhow::Result<()> {
    let (question, options, error, answer) = given.asked.clone();
    let asking = NewQuestion {
        id: new_id(),
        kind: HumanKind::Question,
        question,
        options,
        error,
        error_type: None,
        result: None,
        expires_at_ms: i64::MAX,
    };
    humans::ask(sql, claim, &asking, at_ms)?;
    humans::answer(sql, &claim.session_id, &answer, at_ms)
}

/// The sub-agent and then the session end.
pub fn finish(bench: &Bench, root: &str, given: &Written) {
    let (given, at_ms, root) = (given.clone(), bench.tick(), root.to_owned());
    bench
        .write(move |sql| {
            let of_child = tasks::claim_of_tree(sql, "w", &root, i64::MAX, at_ms)?.unwrap();
            let ending = Ending {
                answer: given.answer.clone(),
                verified: Some(Verified::Tampered),
                ..Ending::new(
                    SessionStep::Fail,
                    EndReason::TaskFailed,
                    given.detail.clone(),
                )
            };
            sessions::end(sql, &of_child.session_id, &ending, at_ms)?;
            let claim = tasks::claim_of_tree(sql, "w", &root, i64::MAX, at_ms)?.unwrap();
            let settlement = Settlement {
                result: Some(given.result.to_string()),
                summary: given.answer.clone(),
                error_type: given.detail.clone(),
                error_message: given.detail.clone(),
            };
            plans::finish(sql, &claim, TaskStep::Complete, &settlement, at_ms)?;
            sessions::end(sql, &root, &ending, at_ms)
        })
        .unwrap();
}
