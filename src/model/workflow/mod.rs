//! A workflow: a plan written by hand, `workflows/NAME.toml`, with inputs that are given when it is run. Checked like every document, with
//! the line of each mistake. It must not read files; a value that is filled in is text, and never read as a template, SQL or shell code.

mod fill;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::excerpt;
use super::nearest::nearest;
use super::plan::{self, MAX_TASKS, Plan, PlanTask, Problem, Problems, Rules};

pub use fill::variable;

/// An input is a word or a paragraph, not a document.
const MAX_INPUT_BYTES: usize = 64 * 1024;

/// Tasks written by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// What it is for, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 20_000))]
    pub description: Option<String>,

    /// What is given when it is run; `{{ input.NAME }}` in a task's texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = { "format": "input-name" }, "maxProperties" = 100))]
    pub inputs: BTreeMap<String, Input>,

    /// The tasks, as `[[tasks]]`.
    #[schemars(length(min = 1, max = MAX_TASKS))]
    pub tasks: Vec<PlanTask>,
}

/// Something that is given when a workflow is run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Input {
    /// What to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = 20_000))]
    pub description: Option<String>,

    /// What it is when nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "argument", "maxLength" = 20_000))]
    pub default: Option<String>,

    /// Whether it must be given. Left out: when it has no default. What need not be given is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// A workflow with its inputs filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    pub plan: Plan,
    /// Every input and its value: SQL binds them, a filter has them as `$input`, a command as variables (see [`variable`]).
    pub inputs: BTreeMap<String, String>,
}

/// The JSON Schema of a workflow.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Workflow).to_value()
}

impl Input {
    fn is_required(&self) -> bool {
        self.required.unwrap_or(self.default.is_none())
    }
}

impl Workflow {
    /// The plan of a run with these inputs.
    pub fn fill(
        &self,
        given: &BTreeMap<String, String>,
        rules: &Rules<'_>,
    ) -> Result<Filled, Problems> {
        let inputs = self.values(given)?;
        let mut problems = Vec::new();
        let mut tasks = self.tasks.clone();
        for task in &mut tasks {
            let name = format!("task {}", task.order);
            for (field, slot, text) in fill::texts(task) {
                match fill::fill(text, slot, &inputs) {
                    Ok(filled) => *text = filled,
                    Err(message) => problems.push(Problem {
                        task: Some(name.clone()),
                        ..Problem::of_field(field, message)
                    }),
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        let filled = Plan {
            plan_summary: self.description.clone().unwrap_or_default(),
            complexity: None,
            tasks,
        };
        let json =
            serde_json::to_value(&filled).map_err(|error| Problem::plain(error.to_string()))?;
        let plan = plan::from_value(json, rules)?;
        Ok(Filled { plan, inputs })
    }

    /// What was given, over the defaults; all that is missing or unknown at once.
    fn values(
        &self,
        given: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Problems> {
        let mut problems = Vec::new();
        let mut refuse = |name: &str, message: String| {
            problems.push(Problem::of_field(&format!("input.{name}"), message))
        };
        for (name, value) in given {
            if !self.inputs.contains_key(name) {
                let known: Vec<&str> = self.inputs.keys().map(String::as_str).collect();
                refuse(name, unknown_input(name, &known));
            } else if value.len() > MAX_INPUT_BYTES {
                refuse(
                    name,
                    format!(
                        "must have at most {MAX_INPUT_BYTES} bytes, has {}",
                        value.len()
                    ),
                );
            } else if value.contains('\0') {
                refuse(name, "must not contain a NUL character".to_owned());
            }
        }
        let mut values = BTreeMap::new();
        for (name, input) in &self.inputs {
            match given.get(name).or(input.default.as_ref()) {
                None if input.is_required() => {
                    let what = input.description.as_ref().map(|text| format!(": {text}"));
                    refuse(name, format!("missing{}", what.unwrap_or_default()));
                }
                value => {
                    values.insert(name.clone(), value.cloned().unwrap_or_default());
                }
            }
        }
        match problems.is_empty() {
            true => Ok(values),
            false => Err(problems.into()),
        }
    }
}

fn unknown_input(name: &str, known: &[&str]) -> String {
    let shown = excerpt(name);
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no input {shown}; did you mean {near}?"),
        None if known.is_empty() => format!("there is no input {shown}; the workflow has none"),
        None => format!("there is no input {shown}; known: {}", known.join(", ")),
    }
}
