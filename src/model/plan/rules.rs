//! What must be true between the fields of a task and between the tasks of a plan. Each breach names the task, the field and what to do.

use std::collections::HashMap;

use super::{Draft, Graph, Origin, PlanTask, Problem};
use crate::model::document::excerpt;
use crate::model::nearest::nearest;
use crate::model::placeholder::{Dialect, Placeholder, Statement};
use crate::model::policy::OnFailure;
use crate::model::task::TaskKind;

/// How many names or numbers a message lists.
const MAX_LISTED: usize = 20;

/// What a plan is held to.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The names of all agents.
    pub agents: &'a [String],
    pub max_tasks: usize,
    /// Orders of tasks that are completed and stay, where the rest is planned anew: they may be depended on, and are taken.
    pub kept: &'a [u32],
}

/// Adds everything that the drafts do wrong.
pub(crate) fn check(drafts: &[Draft], rules: &Rules<'_>, problems: &mut Vec<Problem>) {
    if drafts.len() > rules.max_tasks {
        let message = format!(
            "must have at most {} tasks, has {}; join some or leave some out",
            rules.max_tasks,
            drafts.len()
        );
        problems.push(Problem::of_field("tasks", message));
    }
    check_orders(drafts, rules, problems);
    check_dependencies(drafts, rules, problems);
    for draft in drafts {
        check_fields(draft, problems);
        check_agent(draft, rules, problems);
        check_sql(draft, problems);
    }
    check_cycles(drafts, problems);
}

fn check_orders(drafts: &[Draft], rules: &Rules<'_>, problems: &mut Vec<Problem>) {
    let mut first: HashMap<u32, usize> = HashMap::new();
    for (index, draft) in drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| draft.is_right("order"))
    {
        let order = draft.task.order;
        if rules.kept.contains(&order) {
            let message =
                format!("{order} is taken by a task that is completed; use another number");
            problems.push(draft.problem("order", message));
        } else if let Some(earlier) = first.insert(order, index) {
            let message = format!(
                "tasks[{earlier}] and tasks[{index}] both have the order {order}; give each its own"
            );
            problems.push(draft.problem("order", message));
        }
    }
}

fn check_dependencies(drafts: &[Draft], rules: &Rules<'_>, problems: &mut Vec<Problem>) {
    // While one order cannot be read, nobody knows which one is missing.
    if drafts.iter().any(|draft| !draft.is_right("order")) {
        return;
    }
    let mut known: Vec<u32> = drafts.iter().map(|draft| draft.task.order).collect();
    known.extend(rules.kept);
    known.sort_unstable();
    known.dedup();
    for draft in drafts {
        for dependency in &draft.task.depends_on {
            if known.binary_search(dependency).is_err() {
                let message = format!(
                    "there is no task {dependency}; the tasks are {}",
                    listed(&known)
                );
                problems.push(draft.problem("depends_on", message));
            }
        }
    }
}

fn check_cycles(drafts: &[Draft], problems: &mut Vec<Problem>) {
    let right = drafts.iter().filter(|draft| draft.is_right("order"));
    let graph = Graph::new(right.map(|draft| (draft.task.order, &draft.task.depends_on[..])));
    for cycle in graph.cycles() {
        let Some(draft) = drafts
            .iter()
            .find(|draft| draft.is_right("order") && draft.task.order == cycle[0])
        else {
            continue;
        };
        let message = match cycle[..] {
            [_] => "the task depends on itself; leave that out".to_owned(),
            _ => {
                let circle: Vec<String> = cycle
                    .iter()
                    .chain(&cycle[..1])
                    .take(MAX_LISTED)
                    .map(u32::to_string)
                    .collect();
                format!(
                    "the tasks wait for each other in a circle: {}; drop one of these dependencies",
                    circle.join(" → ")
                )
            }
        };
        problems.push(draft.problem("depends_on", message));
    }
}

/// The field that a type cannot do without.
fn needed(task: &PlanTask) -> Option<(&'static str, &Option<String>)> {
    match task.kind {
        TaskKind::SqlQuery | TaskKind::SqlAggregate => Some(("sql", &task.sql)),
        TaskKind::Transform => Some(("filter", &task.filter)),
        TaskKind::Shell => Some(("command", &task.command)),
        TaskKind::Agent
        | TaskKind::Analysis
        | TaskKind::Validation
        | TaskKind::Merge
        | TaskKind::Plan => None,
    }
}

fn check_fields(draft: &Draft, problems: &mut Vec<Problem>) {
    let task = &draft.task;
    if draft.is_right("type")
        && let Some((field, None)) = needed(task)
        && draft.is_right(field)
    {
        let message = format!("missing: a task of type {} needs it", task.kind);
        problems.push(draft.problem(field, message));
    }
    if task.critical && task.on_failure == Some(OnFailure::Skip) {
        let message = "a critical task cannot be skipped; use retry, stop, human, replan or auto, or do not call it critical";
        problems.push(draft.problem("on_failure", message));
    }
}

fn check_agent(draft: &Draft, rules: &Rules<'_>, problems: &mut Vec<Problem>) {
    let Some(agent) = &draft.task.agent else {
        return;
    };
    // In a workflow it may be filled in later, and is checked then.
    let open = draft.origin == Origin::Person && agent.contains("{{");
    if open || rules.agents.contains(agent) {
        return;
    }
    let message = match nearest(agent, rules.agents.iter().map(String::as_str)) {
        Some(near) => format!("there is no agent {}; did you mean {near}?", excerpt(agent)),
        None if rules.agents.is_empty() => {
            format!("there is no agent {}; leave the field out", excerpt(agent))
        }
        None => {
            let known: Vec<&str> = rules
                .agents
                .iter()
                .map(String::as_str)
                .take(MAX_LISTED)
                .collect();
            format!(
                "there is no agent {}; known: {}",
                excerpt(agent),
                known.join(", ")
            )
        }
    };
    problems.push(draft.problem("agent", message));
}

/// A text that is wrong for one database may be right for the other; which one it is for is not known yet.
fn check_sql(draft: &Draft, problems: &mut Vec<Problem>) {
    let Some(sql) = &draft.task.sql else {
        return;
    };
    let readings =
        [Dialect::Sqlite, Dialect::Postgres].map(|dialect| Statement::read(sql, dialect));
    let statement = match readings {
        [Err(error), Err(_)] => {
            problems.push(draft.problem("sql", error.to_string()));
            return;
        }
        [Ok(statement), _] | [_, Ok(statement)] => statement,
    };
    for placeholder in statement.binds() {
        if let Placeholder::Dependency { order, .. } = placeholder
            && draft.is_right("depends_on")
            && !draft.task.depends_on.contains(order)
        {
            let message = format!("{placeholder} needs task {order}; add {order} to depends_on");
            problems.push(draft.problem("sql", message));
        }
    }
}

fn listed(numbers: &[u32]) -> String {
    let shown: Vec<String> = numbers
        .iter()
        .take(MAX_LISTED)
        .map(u32::to_string)
        .collect();
    match numbers.len() > MAX_LISTED {
        true => format!("{}, …", shown.join(", ")),
        false => shown.join(", "),
    }
}
