//! `ralphd workflow`: the plans that were written by hand, listed, checked and run.

use super::arguments::{self, RunWorkflow};
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output::{self, Look, Style};
use super::run::{Manner, run_request};
use super::submit::read_request;
use super::table::{Cell, Table};
use crate::agent::roster::Roster;
use crate::engine::workflows::{self, Workflows};
use crate::model::document::{Node, Value, toml};
use crate::model::plan::{PlanTask, Problem};
use crate::model::request::Request;
use crate::model::workflow::{Input, Workflow};
use crate::process::Supervisor;
use crate::transform;
use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TITLES: &[&str] = &["NAME", "TASKS", "INPUTS", "DESCRIPTION"];

pub fn workflow(desk: Desk, what: arguments::Workflow) -> Result<Exit> {
    match what {
        arguments::Workflow::List => list(&desk),
        arguments::Workflow::Check { which } => check(&desk, &which),
        arguments::Workflow::Run(wanted) => run(desk, *wanted),
    }
}

/// What a listing says of a workflow.
#[derive(Serialize)]
struct Listed {
    name: String,
    file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<usize>,
    inputs: BTreeMap<String, Input>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn list(desk: &Desk) -> Result<Exit> {
    let (workflows, agents) = (desk.workflows(), agents(desk)?);
    let names = workflows.names()?;
    let listed: Vec<Listed> = names
        .into_iter()
        .map(|name| Listed::of(&workflows, name, &agents))
        .collect();
    if desk.global.json {
        output::print_json(&listed)?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        if !desk.global.quiet {
            let place = workflows.directory.display();
            output::remark(&format!("no workflows yet; NAME.toml in {place} makes one"));
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(TITLES, TITLES.len() - 1);
    for workflow in &listed {
        table.row(workflow.row());
    }
    output::print_lines(&table.lines(&Look::of_stdout()))?;
    Ok(Exit::Done)
}

impl Listed {
    fn of(workflows: &Workflows, name: String, agents: &[String]) -> Self {
        let file = workflows.path(&name);
        let (workflow, error) = match workflows::read_file(&file, agents) {
            Ok(workflow) => (Some(workflow), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        Self {
            name,
            file,
            description: workflow
                .as_ref()
                .and_then(|workflow| workflow.description.clone()),
            tasks: workflow.as_ref().map(|workflow| workflow.tasks.len()),
            inputs: workflow.map(|workflow| workflow.inputs).unwrap_or_default(),
            error,
        }
    }

    fn row(&self) -> Vec<Cell> {
        let inputs: Vec<String> = self.inputs.iter().map(input_in_words).collect();
        let description: Cell = match &self.error {
            Some(_) => {
                let words = format!("cannot be used, see 'ralphd workflow check {}'", self.name);
                (words, Style::Bad).into()
            }
            None => output::first_line(self.description.as_deref().unwrap_or_default()).into(),
        };
        vec![
            (self.name.clone(), Style::Bold).into(),
            self.tasks
                .map(|count| count.to_string())
                .unwrap_or_default()
                .into(),
            inputs.join(", ").into(),
            description,
        ]
    }
}

/// `region` must be given, `limit=10` may be, `[note]` is empty when it is not.
fn input_in_words((name, input): (&String, &Input)) -> String {
    match &input.default {
        Some(default) => format!("{name}={default}"),
        None if input.required == Some(false) => format!("[{name}]"),
        None => name.clone(),
    }
}

fn check(desk: &Desk, which: &[String]) -> Result<Exit> {
    let (workflows, agents) = (desk.workflows(), agents(desk)?);
    let files = match which.is_empty() {
        true => workflows
            .names()?
            .iter()
            .map(|name| workflows.path(name))
            .collect(),
        false => which
            .iter()
            .map(|given| file_of(&workflows, given))
            .collect::<Result<Vec<_>>>()?,
    };
    if files.is_empty() && !desk.global.quiet {
        let place = workflows.directory.display();
        output::remark(&format!("no workflows to check in {place}"));
    }
    let mut exit = Exit::Done;
    let mut found = Vec::new();
    for file in files {
        let problems = problems_of(&file, &agents);
        if !problems.is_empty() {
            exit = Exit::Usage;
        }
        found.push((file, problems));
    }
    match desk.global.json {
        true => output::print_json(&found.iter().map(as_json).collect::<Vec<_>>())?,
        false => print(desk, &found)?,
    }
    Ok(exit)
}

/// A name in the directory of workflows, or a file anywhere.
fn file_of(workflows: &Workflows, given: &str) -> Result<PathBuf> {
    let (path, named) = (PathBuf::from(given), workflows.path(given));
    let is_path = given.contains('/') || path.extension().is_some_and(|ending| ending == "toml");
    match (is_path, named.exists()) {
        (true, _) => Ok(path),
        (false, true) => Ok(named),
        // The reader knows the nearest name.
        (false, false) => match workflows.read(given, &[]) {
            Err(unknown) => bail!(Failure(format!("{unknown:#}"))),
            Ok(_) => Ok(named),
        },
    }
}

/// Everything that is wrong with a file.
fn problems_of(file: &Path, agents: &[String]) -> Vec<Problem> {
    let text = match workflows::text_of(file) {
        Ok(text) => text,
        Err(unreadable) => {
            return vec![Problem {
                line: None,
                task: None,
                field: None,
                message: format!("{unreadable:#}"),
            }];
        }
    };
    match Workflow::read(&text, &workflows::rules(agents)) {
        Ok(workflow) => filter_problems(&workflow, &text, agents),
        Err(problems) => problems.to_vec(),
    }
}

/// The filters as they will be when the inputs are put in.
fn filter_problems(workflow: &Workflow, text: &str, agents: &[String]) -> Vec<Problem> {
    let any = |name: &String| (name.clone(), name.clone());
    let given = workflow.inputs.keys().map(any).collect();
    // An agent that is an input cannot be known here; the filters do not depend on it.
    let without_agents = Workflow {
        tasks: workflow.tasks.iter().cloned().map(without_agent).collect(),
        ..workflow.clone()
    };
    let Ok(filled) = without_agents.fill(&given, &workflows::rules(agents)) else {
        return Vec::new();
    };
    let mistakes = filled
        .plan
        .tasks
        .iter()
        .enumerate()
        .filter_map(|(place, task)| {
            let mistake = transform::check(task.filter.as_ref()?).err()?;
            Some(Problem {
                line: line_of_filter(text, place),
                task: Some(format!("task {}", task.order)),
                field: Some("filter".to_owned()),
                message: mistake,
            })
        });
    mistakes.collect()
}

fn without_agent(task: PlanTask) -> PlanTask {
    PlanTask {
        agent: None,
        ..task
    }
}

fn line_of_filter(text: &str, place: usize) -> Option<usize> {
    let node: Node = toml::parse(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    let Value::List(tasks) = &node.entry("tasks")?.node.value else {
        return None;
    };
    tasks.get(place)?.entry("filter")?.place.line()
}

fn as_json((file, problems): &(PathBuf, Vec<Problem>)) -> serde_json::Value {
    let problems: Vec<_> = problems
        .iter()
        .map(|problem| {
            json!({
                "line": problem.line, "task": problem.task, "field": problem.field, "message": problem.message,
            })
        })
        .collect();
    json!({"file": file, "problems": problems})
}

fn print(desk: &Desk, found: &[(PathBuf, Vec<Problem>)]) -> Result<()> {
    for (file, problems) in found {
        let name = output::harmless(&file.display().to_string());
        if problems.is_empty() && !desk.global.quiet {
            output::print_line(&format!("{name}: right"))?;
        }
        for problem in problems {
            let line = problem
                .line
                .map(|line| format!(":{line}"))
                .unwrap_or_default();
            let placeless = Problem {
                line: None,
                ..problem.clone()
            };
            let words = output::harmless_lines(&placeless.to_string());
            output::print_line(&format!("{name}{line}: {words}"))?;
        }
    }
    Ok(())
}

fn run(desk: Desk, wanted: RunWorkflow) -> Result<Exit> {
    let RunWorkflow { name, wanted } = wanted;
    if let Some(other) = wanted.options.plan.as_ref().filter(|plan| **plan != name) {
        bail!(Failure(format!(
            "the workflow is '{name}' and --plan says '{other}'; leave out one of them"
        )));
    }
    let (request, stem) = match (&wanted.file, &wanted.objective) {
        (None, None) => {
            let workflow = workflow_of(&desk, &name)?;
            let objective = workflow
                .description
                .filter(|words| !words.trim().is_empty());
            let request = Request {
                objective: objective.unwrap_or_else(|| name.clone()),
                ..Request::default()
            };
            (request, Some(name.clone()))
        }
        _ => read_request(&desk, wanted.file.as_deref(), wanted.objective)?,
    };
    let request = Request {
        plan: Some(name),
        ..wanted.options.over(&request)
    };
    let manner = Manner {
        stem,
        record: wanted.record.as_deref(),
        no_wait: wanted.no_wait,
    };
    run_request(desk, request, manner)
}

fn workflow_of(desk: &Desk, name: &str) -> Result<Workflow> {
    let read = desk.workflows().read(name, &agents(desk)?);
    Ok(read.map_err(|problem| Failure(format!("{problem:#}")))?)
}

fn agents(desk: &Desk) -> Result<Vec<String>> {
    let program = std::env::current_exe()?;
    let secrets = desk.secrets.clone();
    let roster = Roster::new(&desk.config, Supervisor::default(), program, secrets)?;
    Ok(roster.names())
}
