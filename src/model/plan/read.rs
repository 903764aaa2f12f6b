//! From a document to a plan: each task is tidied, checked against the shape of [`PlanTask`], then all of them against the rules.
//! Everything that is wrong is found in one go, so that a planner is asked again once and not five times.

use std::sync::LazyLock;

use serde_json::Value as Json;

use super::tidy::{self, Origin};
use super::{Complexity, MAX_TASKS, Plan, PlanTask, Problem, Problems, Rules, rules};
use crate::model::document::{Entry, Node, Place, Shape, Value, check, json, shape::Kind};
use crate::model::task::TaskKind;

/// The shape of a task without what is required: a task with a gap is still looked at.
static TASK_SHAPE: LazyLock<Shape> = LazyLock::new(|| {
    let mut shape = Shape::of::<PlanTask>();
    if let Kind::Table(table) = &mut shape.kind {
        table.required.clear();
    }
    shape
});
static PLAN_SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Plan>);

/// A task as far as it could be read.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub task: PlanTask,
    /// `task 3`, or its place in the list.
    pub name: String,
    /// Fields that are missing or were reported; `task` has stand-ins for them.
    pub wrong: Vec<String>,
    /// Who wrote it.
    pub origin: Origin,
    place: Place,
    places: Vec<(String, Place)>,
}

impl Draft {
    pub fn is_right(&self, field: &str) -> bool {
        !self.wrong.iter().any(|wrong| wrong == field)
    }

    pub fn problem(&self, field: &str, message: impl Into<String>) -> Problem {
        let given = self.places.iter().find(|(name, _)| name == field);
        let place = given.map_or(&self.place, |(_, place)| place);
        Problem {
            line: place.line(),
            task: Some(self.name.clone()),
            ..Problem::of_field(field, message)
        }
    }
}

/// Reads a planner's JSON text.
pub fn from_json(text: &str, rules: &Rules<'_>) -> Result<Plan, Problems> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let node = json::parse(text).map_err(Problem::from)?;
    without_lines(plan(node, rules))
}

/// Reads a planner's JSON that was parsed already.
pub fn from_value(value: Json, rules: &Rules<'_>) -> Result<Plan, Problems> {
    plan(Node::from(value), rules)
}

/// A model does not know the lines of its own answer.
fn without_lines(plan: Result<Plan, Problems>) -> Result<Plan, Problems> {
    plan.map_err(|problems| {
        let placeless = |problem: &Problem| Problem {
            line: None,
            ..problem.clone()
        };
        problems.iter().map(placeless).collect::<Vec<_>>().into()
    })
}

fn plan(node: Node, rules: &Rules<'_>) -> Result<Plan, Problems> {
    let node = unwrapped(node);
    let Value::Table(mut entries) = node.value else {
        return Err(Problem::plain(format!(
            "a plan must be a JSON object with a list `tasks`, is {}",
            node.value
        ))
        .into());
    };
    tidy::drop_strange(&mut entries, &PLAN_SHAPE);
    let mut problems = Vec::new();
    let nodes = match take_tasks(&mut entries) {
        Ok(nodes) => nodes,
        Err(problem) => {
            problems.push(problem);
            Vec::new()
        }
    };
    let (summary, complexity) = heading(&entries, &mut problems);
    let drafts = drafts(nodes, Origin::Planner, &mut problems);
    rules::check(&drafts, rules, &mut problems);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    Ok(Plan {
        plan_summary: summary,
        complexity,
        tasks: drafts.into_iter().map(|draft| draft.task).collect(),
    })
}

/// `{"plan": {…}}` and a bare list of tasks are understood.
fn unwrapped(node: Node) -> Node {
    match node.value {
        Value::List(_) => Node::new(
            Place::Unknown,
            Value::Table(vec![Entry {
                name: "tasks".to_owned(),
                place: Place::Unknown,
                node,
            }]),
        ),
        Value::Table(mut entries) if entries.len() == 1 && entries[0].name == "plan" => {
            entries.remove(0).node
        }
        value => Node::new(node.place, value),
    }
}

fn take_tasks(entries: &mut Vec<Entry>) -> Result<Vec<Node>, Problem> {
    let found = entries.iter().position(|entry| entry.name == "tasks");
    match found.map(|index| entries.remove(index).node.value) {
        Some(Value::List(nodes)) if nodes.is_empty() => Err(Problem::of_field(
            "tasks",
            "must have at least one task, has none",
        )),
        Some(Value::List(nodes)) if nodes.len() > MAX_TASKS => Err(Problem::of_field(
            "tasks",
            format!("must have at most {MAX_TASKS} tasks, has {}", nodes.len()),
        )),
        Some(Value::List(nodes)) => Ok(nodes),
        Some(other) => Err(Problem::of_field(
            "tasks",
            format!("must be a list of tasks, is {other}"),
        )),
        None => Err(Problem::of_field(
            "tasks",
            "missing: a plan needs a list of tasks",
        )),
    }
}

/// The summary and the complexity say nothing that a plan would fail by; only other keys are reported.
fn heading(entries: &[Entry], problems: &mut Vec<Problem>) -> (String, Option<Complexity>) {
    let text = |name: &str| match entries
        .iter()
        .find(|entry| entry.name == name)
        .map(|entry| &entry.node.value)
    {
        Some(Value::Text(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    for entry in entries {
        if PLAN_SHAPE.entry(&entry.name).is_none() {
            let message = "unknown key; a plan has plan_summary, complexity and tasks";
            problems.push(Problem::of_field(&entry.name, message));
        }
    }
    let complexity = match text("complexity").to_lowercase().as_str() {
        "simple" | "low" | "easy" => Some(Complexity::Simple),
        "moderate" | "medium" => Some(Complexity::Moderate),
        "complex" | "high" | "hard" => Some(Complexity::Complex),
        _ => None,
    };
    (text("plan_summary"), complexity)
}

/// Reads tasks one by one, with all that is wrong in each of them.
pub(crate) fn drafts(nodes: Vec<Node>, origin: Origin, problems: &mut Vec<Problem>) -> Vec<Draft> {
    let each = nodes.into_iter().enumerate();
    each.map(|(index, node)| draft(index, node, origin, problems))
        .collect()
}

fn draft(index: usize, mut node: Node, origin: Origin, problems: &mut Vec<Problem>) -> Draft {
    tidy::task(&mut node, &TASK_SHAPE, origin);
    let (checked, findings) = check(&node, &TASK_SHAPE);
    let mut fields = match checked {
        Some(Json::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let name = match fields.get("order") {
        Some(order) => format!("task {order}"),
        None => format!("tasks[{index}]"),
    };
    let mut wrong = Vec::new();
    for finding in findings {
        let field = finding.key.split(['[', '.']).next().unwrap_or_default();
        wrong.push(field.to_owned());
        problems.push(Problem {
            task: Some(name.clone()),
            ..Problem::from(finding)
        });
    }
    let whole = matches!(node.value, Value::Table(_));
    for (field, stand_in) in [
        ("order", Json::from(0)),
        ("type", TaskKind::Agent.as_str().into()),
        ("description", "".into()),
    ] {
        if fields.contains_key(field) {
            continue;
        }
        if whole && !wrong.iter().any(|wrong| wrong == field) {
            problems.push(Problem {
                line: node.place.line(),
                task: Some(name.clone()),
                ..Problem::of_field(field, "missing")
            });
        }
        wrong.push(field.to_owned());
        fields.insert(field.to_owned(), stand_in);
    }
    let places = node
        .entries()
        .iter()
        .map(|entry| (entry.name.clone(), entry.place.clone()));
    Draft {
        name,
        wrong,
        origin,
        place: node.place.clone(),
        places: places.collect(),
        task: task(fields, problems),
    }
}

/// What fits the shape fits the struct it was taken from; should it ever not, the plan is refused and not the daemon stopped.
fn task(fields: serde_json::Map<String, Json>, problems: &mut Vec<Problem>) -> PlanTask {
    serde_json::from_value(Json::Object(fields)).unwrap_or_else(|error| {
        problems.push(Problem::plain(error.to_string()));
        PlanTask::new(0, TaskKind::Agent, "")
    })
}
