//! From TOML to a workflow: every mistake with its line, in the inputs, in the tasks and in what the tasks say of the inputs.

use std::sync::LazyLock;

use serde_json::Value as Json;

use super::{Workflow, fill, unknown_input};
use crate::model::document::{Entry, Node, Shape, Value, check, shape::Kind, toml};
use crate::model::plan::{self, Draft, MAX_TASKS, Origin, Problem, Problems, Rules};

/// The tasks are checked one by one; here they are only counted.
static SHAPE: LazyLock<Shape> = LazyLock::new(|| {
    let mut shape = Shape::of::<Workflow>();
    if let Kind::Table(table) = &mut shape.kind {
        for (name, field) in &mut table.fields {
            if let ("tasks", Kind::List(list)) = (name.as_str(), &mut field.kind) {
                list.fewest = 0;
            }
        }
    }
    shape
});

impl Workflow {
    /// Reads a workflow's TOML and checks all that can be known before it is run.
    pub fn read(text: &str, rules: &Rules<'_>) -> Result<Workflow, Problems> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut node =
            toml::parse(text).map_err(|errors| errors.iter().map(syntax).collect::<Vec<_>>())?;
        let tasks = take_tasks(&mut node);
        loosen_defaults(&mut node);
        let (json, findings) = check(&node, &SHAPE);
        let mut problems: Vec<Problem> = findings.into_iter().map(Problem::from).collect();
        if tasks.as_ref().is_some_and(Vec::is_empty) {
            problems.push(Problem::of_field(
                "tasks",
                "must have at least one task, has none",
            ));
        }
        let drafts = plan::drafts(tasks.unwrap_or_default(), Origin::Person, &mut problems);
        plan::check(&drafts, rules, &mut problems);
        let names: Vec<&str> = node
            .entry("inputs")
            .map_or(&[][..], |entry| entry.node.entries())
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        for draft in &drafts {
            check_references(draft, &names, &mut problems);
        }
        let workflow = workflow_of(json, &node, &mut problems);
        match workflow {
            Some(workflow) if problems.is_empty() => Ok(Workflow {
                tasks: drafts.into_iter().map(|draft| draft.task).collect(),
                ..workflow
            }),
            _ => Err(in_order(problems)),
        }
    }
}

/// The workflow without its tasks, where its other parts are right.
fn workflow_of(json: Option<Json>, node: &Node, problems: &mut Vec<Problem>) -> Option<Workflow> {
    let workflow: Workflow = match serde_json::from_value(json?) {
        Ok(workflow) => workflow,
        Err(error) => {
            problems.push(Problem::plain(error.to_string()));
            return None;
        }
    };
    for (name, input) in &workflow.inputs {
        if input.required == Some(true) && input.default.is_some() {
            let place = node.place_of(&["inputs", name, "required"]);
            problems.push(Problem {
                line: place.and_then(|place| place.line()),
                ..Problem::of_field(
                    &format!("inputs.{name}.required"),
                    "an input with a default need not be given; leave out one of the two",
                )
            });
        }
    }
    Some(workflow)
}

fn syntax(error: &toml::SyntaxError) -> Problem {
    Problem {
        line: Some(error.line),
        ..Problem::plain(format!("{} (column {})", error.message, error.column))
    }
}

fn in_order(mut problems: Vec<Problem>) -> Problems {
    problems.sort_by_key(|problem| problem.line.unwrap_or(0));
    problems.into()
}

/// The tasks, where they are a list; what else they are is for the checker to report.
fn take_tasks(node: &mut Node) -> Option<Vec<Node>> {
    let Value::Table(entries) = &mut node.value else {
        return None;
    };
    let entry = entries.iter_mut().find(|entry| entry.name == "tasks")?;
    match &mut entry.node.value {
        Value::List(items) if items.len() <= MAX_TASKS => Some(std::mem::take(items)),
        _ => None,
    }
}

/// `default = 5` is as good as `default = "5"`: an input is always text.
fn loosen_defaults(node: &mut Node) {
    let inputs = table_mut(node)
        .into_iter()
        .flatten()
        .filter(|entry| entry.name == "inputs");
    for input in inputs
        .filter_map(|entry| table_mut(&mut entry.node))
        .flatten()
    {
        let defaults = table_mut(&mut input.node)
            .into_iter()
            .flatten()
            .filter(|entry| entry.name == "default");
        for value in defaults.map(|entry| &mut entry.node.value) {
            let text = match value {
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Boolean(truth) => truth.to_string(),
                Value::Datetime(text) => text.clone(),
                _ => continue,
            };
            *value = Value::Text(text);
        }
    }
}

fn table_mut(node: &mut Node) -> Option<&mut Vec<Entry>> {
    match &mut node.value {
        Value::Table(entries) => Some(entries),
        _ => None,
    }
}

fn check_references(draft: &Draft, inputs: &[&str], problems: &mut Vec<Problem>) {
    let mut task = draft.task.clone();
    for (field, slot, text) in fill::texts(&mut task) {
        for name in fill::references(text) {
            if !inputs.contains(&name) {
                problems.push(draft.problem(field, unknown_input(name, inputs)));
            }
        }
        if let Err(message) = fill::fits(text, slot) {
            problems.push(draft.problem(field, message));
        }
    }
}
