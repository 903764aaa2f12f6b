//! The properties of plans: their structure, what completion and failure do to dependents, when a plan is over; and that a picture
//! shows exactly the dependencies there are.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::tests::agents;
use super::*;
use crate::model::task::{TaskState, TaskStep};

/// Plans without circles: each task depends on some of those before it in a hidden order.
fn plans(most: usize) -> impl Strategy<Value = Plan> {
    let task = (
        proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        any::<bool>(),
    );
    let tasks = proptest::collection::vec(task, 1..most);
    (tasks, any::<prop::sample::Index>()).prop_map(|(drawn, turn)| {
        let mut tasks: Vec<PlanTask> = Vec::new();
        for (order, (earlier, critical)) in (1..).zip(drawn) {
            let orders: BTreeSet<u32> = match order {
                1 => BTreeSet::new(),
                _ => earlier
                    .iter()
                    .map(|index| index.index(order as usize - 1) as u32 + 1)
                    .collect(),
            };
            tasks.push(PlanTask {
                depends_on: orders.into_iter().collect(),
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

/// Plans that are often wrong.
fn wild_plans() -> impl Strategy<Value = serde_json::Value> {
    let order = prop_oneof![8 => (0..8u32).prop_map(|order| json!(order)), 1 => Just(json!("4")), 1 => Just(json!(null))];
    let kind = proptest::sample::select(vec![
        "agent",
        "query",
        "sql_query",
        "transform",
        "validation",
        "dance",
    ]);
    let depends_on = prop_oneof![
        Just(json!(null)),
        (0..8u32).prop_map(|order| json!(order)),
        proptest::collection::vec(0..8u32, 0..3).prop_map(|orders| json!(orders)),
    ];
    let agent = proptest::sample::select(vec![
        json!(null),
        json!("claude"),
        json!("codex"),
        json!("nobody"),
    ]);
    let description = proptest::sample::select(vec!["d", "d", "d", " "]);
    let task = (order, kind, depends_on, agent, description, any::<bool>()).prop_map(|(order, kind, depends_on, agent, description, filled)| {
        let mut task = json!({"order": order, "type": kind, "depends_on": depends_on, "agent": agent, "description": description});
        if filled {
            task["sql"] = json!("SELECT 1");
            task["filter"] = json!(".");
        }
        task
    });
    proptest::collection::vec(task, 0..5).prop_map(|tasks| json!({ "tasks": tasks }))
}

fn transitive_dependents(plan: &Plan, order: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([order]);
    loop {
        let before = found.len();
        for task in &plan.tasks {
            if task
                .depends_on
                .iter()
                .any(|dependency| found.contains(dependency))
            {
                found.insert(task.order);
            }
        }
        if found.len() == before {
            found.remove(&order);
            return found;
        }
    }
}

/// Reads the rails of a picture back: which tasks each task hangs on.
fn dependencies_in(picture: &str, tasks: usize) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut owners: Vec<Option<u32>> = vec![None; 2 * tasks + 2];
    let mut found = BTreeMap::new();
    for line in picture.lines() {
        let rails: Vec<char> = line.split("  agent").next().unwrap().chars().collect();
        let node = rails.iter().position(|mark| "●◆".contains(*mark)).unwrap();
        let order: String = line
            .split("  agent")
            .next()
            .unwrap()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let order: u32 = order.parse().unwrap();
        let mut hangs_on: BTreeSet<u32> = owners[node].into_iter().collect();
        let on_line = |at: usize| rails.get(at).is_some_and(|mark| "─├┤┼╰╯┴│".contains(*mark));
        let left = (0..node).rev().take_while(|&at| on_line(at));
        let right = (node + 1..rails.len()).take_while(|&at| on_line(at));
        for at in left.chain(right) {
            if "├┤┼╰╯┴".contains(rails[at]) {
                hangs_on.extend(owners[at]);
            }
        }
        for (at, owner) in owners.iter_mut().enumerate() {
            if !rails.get(at).is_some_and(|mark| "├┤┼│".contains(*mark)) {
                *owner = None;
            }
        }
        owners[node] = Some(order);
        found.insert(order, hangs_on);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // Feature: agent-harnesses, Property 12: Execution plan step structure
    #[test]
    fn property_12_an_accepted_plan_is_well_formed(wild in wild_plans()) {
        let agents = agents();
        let rules = Rules { agents: &agents, max_tasks: 6, kept: &[] };
        match from_json(&wild.to_string(), &rules) {
            Err(problems) => prop_assert!(!problems.is_empty() && !problems.to_string().is_empty()),
            Ok(plan) => {
                let orders: BTreeSet<u32> = plan.tasks.iter().map(|task| task.order).collect();
                prop_assert_eq!(orders.len(), plan.tasks.len(), "orders are unique");
                for task in &plan.tasks {
                    prop_assert!(!task.description.trim().is_empty());
                    prop_assert!(task.agent.as_ref().is_none_or(|agent| agents.contains(agent)));
                    prop_assert!(task.depends_on.iter().all(|order| orders.contains(order)));
                    prop_assert!(task.kind != TaskKind::SqlQuery || task.sql.is_some());
                    prop_assert!(!transitive_dependents(&plan, task.order).contains(&task.order), "no circle");
                }
                prop_assert_eq!(Graph::of(&plan.tasks).layers().concat().len(), plan.tasks.len());
            }
        }
    }

    #[test]
    fn a_right_plan_survives_its_json(plan in plans(25)) {
        let rules = Rules { agents: &[], max_tasks: 25, kept: &[] };
        prop_assert_eq!(from_json(&serde_json::to_string(&plan).unwrap(), &rules), Ok(plan));
    }

    // Feature: agent-harnesses, Property 13: Dependency resolution correctness
    #[test]
    fn property_13_completion_readies_and_failure_blocks(plan in plans(25), picks in proptest::collection::vec((any::<prop::sample::Index>(), 0..4u8), 1..40)) {
        let mut progress = Progress::of(&plan);
        for (pick, fate) in picks {
            let ready = progress.ready();
            if ready.is_empty() {
                break;
            }
            let order = ready[pick.index(ready.len())];
            progress.apply(order, TaskStep::Claim).unwrap();
            let before = progress.clone();
            let step = if fate == 0 { TaskStep::Fail } else { TaskStep::Complete };
            let change = progress.apply(order, step).unwrap();
            let below = transitive_dependents(&plan, order);
            prop_assert!(change.readied.iter().chain(&change.blocked).all(|order| below.contains(order)));
            for task in &plan.tasks {
                let states: Vec<TaskState> = task.depends_on.iter().map(|order| progress.state(*order).unwrap()).collect();
                let met = states.iter().filter(|state| **state == TaskState::Completed).count();
                prop_assert_eq!(progress.unmet(task.order), Some(states.len() - met));
                let state = progress.state(task.order).unwrap();
                prop_assert_eq!(state == TaskState::WaitingDependency || state == TaskState::Blocked, met < states.len());
                let hopeless = |state: &TaskState| matches!(state, TaskState::Failed | TaskState::Blocked);
                prop_assert_eq!(state == TaskState::Blocked, states.iter().any(hopeless));
                let newly = before.state(task.order) != progress.state(task.order) && task.order != order;
                prop_assert_eq!(newly, change.readied.contains(&task.order) || change.blocked.contains(&task.order));
            }
        }
    }

    // Feature: agent-harnesses, Property 14: Plan completion triggers harness completion
    #[test]
    fn property_14_a_plan_is_complete_when_all_its_tasks_are(plan in plans(25), failing in proptest::option::of(any::<prop::sample::Index>())) {
        let failing = failing.map(|index| plan.tasks[index.index(plan.tasks.len())].order);
        let mut progress = Progress::of(&plan);
        while let Some(&order) = progress.ready().first() {
            prop_assert_eq!(progress.standing(), Standing::Open);
            progress.apply(order, TaskStep::Claim).unwrap();
            prop_assert_eq!(progress.standing(), Standing::Open);
            let step = if failing == Some(order) { TaskStep::Fail } else { TaskStep::Complete };
            progress.apply(order, step).unwrap();
        }
        match failing {
            None => {
                prop_assert_eq!(progress.standing(), Standing::Completed);
                prop_assert_eq!(progress.count(TaskState::Completed), plan.tasks.len());
            }
            Some(order) => {
                prop_assert_eq!(progress.standing(), Standing::Failed);
                prop_assert_eq!(progress.count(TaskState::Blocked), transitive_dependents(&plan, order).len());
            }
        }
    }

    #[test]
    fn a_picture_shows_the_dependencies_and_fits(plan in plans(20), narrow in 0..120usize) {
        let picture = draw(&plan.tasks, 400);
        let expected: BTreeMap<u32, BTreeSet<u32>> =
            plan.tasks.iter().map(|task| (task.order, task.depends_on.iter().copied().collect())).collect();
        prop_assert_eq!(dependencies_in(&picture, plan.tasks.len()), expected, "\n{}", picture);
        let fitted = draw(&plan.tasks, narrow);
        prop_assert!(fitted.lines().all(|line| line.chars().count() <= narrow), "\n{}", fitted);
        prop_assert!(fitted.lines().count() >= plan.tasks.len() || narrow == 0);
    }
}
