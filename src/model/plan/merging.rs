//! A parallel plan must bring its branches together: tasks that work on one and that no `merge` task comes after get one at the end.

use super::{Plan, PlanTask};
use crate::model::task::TaskKind;
use std::collections::BTreeSet;

/// The plan, with a `merge` task for what none merges yet.
pub fn with_merge(mut plan: Plan) -> Plan {
    let merged = merged(&plan.tasks);
    let on_branches = |task: &&PlanTask| matches!(task.kind, TaskKind::Agent | TaskKind::Shell);
    let left: Vec<u32> = plan
        .tasks
        .iter()
        .filter(on_branches)
        .map(|task| task.order)
        .filter(|order| !merged.contains(order))
        .collect();
    let last = plan.tasks.iter().map(|task| task.order).max().unwrap_or(0);
    if !left.is_empty() {
        let description = "Bring the branches of the tasks before it together";
        plan.tasks.push(PlanTask {
            depends_on: left,
            ..PlanTask::new(last + 1, TaskKind::Merge, description)
        });
    }
    plan
}

/// What comes before a `merge` task, directly or not; one that names nothing comes after all that was written before it.
fn merged(tasks: &[PlanTask]) -> BTreeSet<u32> {
    let mut merged = BTreeSet::new();
    for (position, task) in tasks.iter().enumerate() {
        if task.kind != TaskKind::Merge {
            continue;
        }
        let mut next: Vec<u32> = match task.depends_on.is_empty() {
            true => tasks[..position].iter().map(|task| task.order).collect(),
            false => task.depends_on.clone(),
        };
        while let Some(order) = next.pop() {
            if merged.insert(order) {
                let before = tasks.iter().filter(|task| task.order == order);
                next.extend(before.flat_map(|task| task.depends_on.iter().copied()));
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    type Task = (u32, TaskKind, &'static [u32]);
    type Case = (&'static [Task], Option<&'static [u32]>);

    fn plan(tasks: &[Task]) -> Plan {
        let task = |(order, kind, depends_on): &Task| PlanTask {
            depends_on: depends_on.to_vec(),
            ..PlanTask::new(*order, *kind, "x")
        };
        Plan {
            plan_summary: String::new(),
            complexity: None,
            tasks: tasks.iter().map(task).collect(),
        }
    }

    #[test]
    fn what_nobody_merges_is_merged_at_the_end() {
        use TaskKind::*;
        let cases: [Case; 5] = [
            (&[(1, Agent, &[]), (2, Agent, &[])], Some(&[1, 2])),
            (&[(1, Agent, &[]), (2, Merge, &[1])], None),
            (&[(1, Agent, &[]), (2, Shell, &[1]), (3, Merge, &[2])], None),
            (
                &[(1, Agent, &[]), (2, Merge, &[1]), (3, Agent, &[2])],
                Some(&[3]),
            ),
            (&[(1, Analysis, &[])], None),
        ];
        for (tasks, added) in cases {
            let made = with_merge(plan(tasks));
            let last = made.tasks.last().unwrap();
            let found = (made.tasks.len() > tasks.len()).then_some(last.depends_on.as_slice());
            assert_eq!(found, added);
        }
    }
}
