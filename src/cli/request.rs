//! Every key of a request as an option of `run`, `submit`, `retry` and `continue`.
//! Options are only another spelling of the same request: they are checked by the same rules.

use super::exit::Failure;
use super::nearby::{seen_from, workspace_seen_from};
use crate::model::period::Period;
use crate::model::request::{Budget, PromiseMatch, Request, Workspace};
use anyhow::{Result, bail};
use clap::Args;
use std::collections::BTreeMap;

/// A request, option by option.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Request options")]
pub struct RequestOptions {
    /// Which agent works
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// How many iterations at most
    #[arg(long, value_name = "COUNT")]
    pub max_iterations: Option<u32>,
    /// The words that the agent must say when it is done
    #[arg(long, value_name = "WORDS")]
    pub completion_promise: Option<String>,
    /// Where the promise must stand: alone on a line, or anywhere
    #[arg(long, value_name = "line|contains", value_parser = promise_match)]
    pub promise_match: Option<PromiseMatch>,
    /// A command that must exit 0 before the promise is believed
    #[arg(long, value_name = "COMMAND")]
    pub verify: Option<String>,
    /// Files the agent must not change to look finished (a glob; may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub protect: Vec<String>,
    /// Limits, as usd=5,tokens=2000000,wall=8h,tool_calls=500
    #[arg(long, value_name = "LIMITS", value_parser = budget)]
    pub budget: Option<Budget>,
    /// How the work is planned: none, auto, or the name of a workflow
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<String>,
    /// What the workflow is given, as name=value (may be repeated)
    #[arg(long = "inputs", visible_alias = "input", value_name = "NAME=VALUE", value_parser = label)]
    pub inputs: Vec<(String, String)>,
    /// How much may happen without a person, 1 to 5
    #[arg(long, value_name = "LEVEL")]
    pub autonomy: Option<u8>,
    /// The workspace, as session=NAME,repo=PATH,ref=REF,collaboration=sequential,shallow=true,in_place=true
    #[arg(long, value_name = "WHERE", value_parser = workspace)]
    pub workspace: Option<Workspace>,
    /// A dataset (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub datasets: Vec<String>,
    /// Higher goes first
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub priority: Option<i64>,
    /// Not before this time, as 2026-11-20T02:00:00Z
    #[arg(long, value_name = "TIME")]
    pub not_before: Option<jiff::Timestamp>,
    /// A label, as team=infra (may be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// Whom to notify (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub notify: Vec<String>,
    /// Where to post the result
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<String>,
    /// How long one iteration may take
    #[arg(long, value_name = "TIME")]
    pub iteration_timeout: Option<Period>,
    /// How long an agent may print nothing
    #[arg(long, value_name = "TIME")]
    pub silence_timeout: Option<Period>,
    /// So many iterations without any change end the session
    #[arg(long, value_name = "COUNT")]
    pub stagnation_threshold: Option<u32>,
    /// How long a question waits for its answer
    #[arg(long, value_name = "TIME")]
    pub human_timeout: Option<Period>,
    /// How many tasks of a plan at once
    #[arg(long, value_name = "COUNT")]
    pub max_parallel: Option<u32>,
    /// An environment variable to pass on to the agent (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,
    /// The same key twice makes one session
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

impl RequestOptions {
    /// These options as a request; given ones win over what `under` says. Datasets are seen from here.
    pub fn over(self, under: &Request) -> Request {
        let (datasets, workspace) = match std::env::current_dir() {
            Ok(here) => (
                seen_from(&here, self.datasets),
                self.workspace
                    .map(|workspace| workspace_seen_from(&here, workspace)),
            ),
            Err(_) => (self.datasets, self.workspace),
        };
        let given = Request {
            objective: under.objective.clone(),
            agent: self.agent,
            max_iterations: self.max_iterations,
            completion_promise: self.completion_promise,
            promise_match: self.promise_match,
            verify: self.verify,
            protect: self.protect,
            budget: self.budget,
            plan: self.plan,
            inputs: self.inputs.into_iter().collect::<BTreeMap<_, _>>(),
            autonomy: self.autonomy,
            workspace,
            datasets,
            priority: self.priority,
            not_before: self.not_before,
            labels: self.labels.into_iter().collect::<BTreeMap<_, _>>(),
            notify: self.notify,
            callback_url: self.callback_url,
            iteration_timeout: self.iteration_timeout,
            silence_timeout: self.silence_timeout,
            stagnation_threshold: self.stagnation_threshold,
            human_timeout: self.human_timeout,
            max_parallel: self.max_parallel,
            env: self.env,
            idempotency_key: self.idempotency_key,
        };
        given.overlay(under)
    }
}

fn promise_match(text: &str) -> Result<PromiseMatch, String> {
    match text {
        "line" => Ok(PromiseMatch::Line),
        "contains" => Ok(PromiseMatch::Contains),
        _ => Err("must be 'line' or 'contains'".to_owned()),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// `usd=5,wall=8h` as a budget.
fn budget(text: &str) -> Result<Budget> {
    let mut budget = Budget::default();
    for (key, value) in pairs(text)? {
        match key {
            "usd" => budget.usd = Some(value.parse()?),
            "tokens" => budget.tokens = Some(value.parse()?),
            "wall" => budget.wall = Some(value.parse()?),
            "tool_calls" => budget.tool_calls = Some(value.parse()?),
            other => bail!(Failure(format!(
                "unknown limit '{other}'; known: usd, tokens, wall, tool_calls"
            ))),
        }
    }
    Ok(budget)
}

/// `session=refactor` as a workspace.
fn workspace(text: &str) -> Result<Workspace> {
    let mut fields = serde_json::Map::new();
    for (key, value) in pairs(text)? {
        let value = match value {
            "true" => true.into(),
            "false" => false.into(),
            words => words.into(),
        };
        fields.insert(key.to_owned(), value);
    }
    Ok(serde_json::from_value(fields.into())?)
}

fn pairs(text: &str) -> Result<Vec<(&str, &str)>> {
    text.split(',')
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.trim(), value.trim())),
            None => bail!(Failure(format!("'{pair}' is not of the form key=value"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_workspaces_in_short_form() {
        let limits = budget("usd=2.5, wall=8h,tool_calls=3").unwrap();
        assert_eq!((limits.usd, limits.tool_calls), (Some(2.5), Some(3)));
        assert_eq!(limits.wall.unwrap().to_string(), "8h");
        assert!(
            budget("dollars=3")
                .unwrap_err()
                .to_string()
                .contains("known: usd")
        );
        assert_eq!(
            workspace("session=auth,ref=main")
                .unwrap()
                .session
                .as_deref(),
            Some("auth")
        );
        assert!(workspace("sesion=auth").is_err());
    }
}
