//! From a request to a session: gaps filled from the defaults, everything refused that could not be kept.
//! What is accepted here is exactly what the loop will work by.

use super::ground;
use crate::agent::roster::{Member, Roster, Source};
use crate::clock::{new_id, now_ms};
use crate::config::{self, Config, unknown_target};
use crate::dataset::{self, PASSWORD, has_password};
use crate::engine::House;
use crate::engine::mission::{AUTO, PLAIN, default_request};
use crate::engine::workflows::Workflows;
use crate::model::address;
use crate::model::git;
use crate::model::id::slug;
use crate::model::request::{Problem, Problems, Request, Workspace};
use crate::model::session::Trigger;
use crate::store::Store;
use crate::store::sessions::{self, Created, Fork, NewSession, Session};
use crate::store::tasks::Birthright;
use crate::workspace;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The longest stem of an outbox file that is made from an objective.
const MAX_STEM_CHARS: usize = 40;

/// Where a request comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    pub trigger: Trigger,
    /// The id the session is to have; inbox files carry it in their name.
    pub session_id: String,
    /// The stem of the answer's file; made from the objective when there is none.
    pub stem: Option<String>,
    /// The session this one goes on from.
    pub after: Option<After>,
    /// A foreground run takes its task at once.
    pub claimed_by: Option<Birthright>,
    /// What relative paths in the request are seen from.
    pub directory: Option<PathBuf>,
    /// Fail at once where another session works in the workspace.
    pub no_wait: bool,
    /// The point of another session that it starts from.
    pub fork: Option<Fork>,
}

/// What a session takes over from an earlier one.
#[derive(Clone, Debug)]
pub struct After {
    pub session: Box<Session>,
    /// Go on in its workspace with its handoff, or start afresh.
    pub same_workspace: bool,
}

impl Origin {
    /// A new session without a past.
    pub fn new(trigger: Trigger) -> Self {
        Self {
            trigger,
            session_id: new_id(),
            stem: None,
            after: None,
            claimed_by: None,
            directory: None,
            no_wait: false,
            fork: None,
        }
    }
}

/// Who can turn requests into sessions: the parts of the house that it takes.
#[derive(Clone, Copy)]
pub struct Reception<'a> {
    pub config: &'a Config,
    pub roster: &'a Roster,
    pub state: &'a Path,
    pub store: &'a Store,
    pub workflows: &'a Workflows,
}

impl<'a> From<&'a House> for Reception<'a> {
    fn from(house: &'a House) -> Self {
        Self {
            config: &house.config,
            roster: &house.roster,
            state: &house.state,
            store: &house.store,
            workflows: &house.workflows,
        }
    }
}

impl Reception<'_> {
    /// Makes the session durable, or finds the one made earlier under the same key.
    pub async fn admit(&self, request: Request, origin: Origin) -> Result<Created> {
        let new = self.prepare(request, origin)?;
        self.store
            .write(move |sql| sessions::create(sql, &new))
            .await
    }

    /// Fills the gaps and checks that the request can be kept; nothing is stored yet.
    pub fn prepare(&self, request: Request, origin: Origin) -> Result<NewSession> {
        let mut request = request.overlay(&default_request(self.config));
        request.validate()?;
        let agent = match &request.agent {
            Some(name) => name.clone(),
            None => self.roster.default_name().to_owned(),
        };
        request.agent = Some(agent.clone());
        let member = self
            .roster
            .member(&agent)
            .map_err(|unknown| Problems::from(problem("agent", unknown.to_string())))?;
        let workspace = self.workspace(&mut request, &origin)?;
        refuse(self.unplannable(&request))?;
        refuse(untellable(&request, self.config))?;
        refuse(uncountable(&request, &self.config.budget, member))?;
        let created_at_ms = now_ms();
        let max_iterations = request
            .max_iterations
            .context("max_iterations has a default")?;
        let completion_promise = request
            .completion_promise
            .clone()
            .context("completion_promise has a default")?;
        let earlier = origin.after.as_ref();
        let protected = earlier
            .filter(|after| after.same_workspace)
            .and_then(|after| after.session.protected.clone());
        Ok(NewSession {
            task_id: new_id(),
            objective: request.objective.clone(),
            agent,
            trigger: origin.trigger,
            origin: origin
                .stem
                .unwrap_or_else(|| slug(&request.objective, MAX_STEM_CHARS)),
            dedupe_key: request.idempotency_key.clone(),
            max_iterations: i64::from(max_iterations),
            completion_promise: completion_promise.trim().to_owned(),
            planned: is_planned(&request),
            parent: None,
            follows_session_id: earlier.map(|after| after.session.id.clone()),
            workspace,
            protected,
            priority: request.priority.unwrap_or(0),
            not_before_ms: request.not_before.map(|time| time.as_millisecond()),
            created_at_ms,
            claimed_by: origin.claimed_by,
            no_wait: origin.no_wait,
            fork: origin.fork,
            request: serde_json::to_string(&request).context("a request is always JSON")?,
            id: origin.session_id,
        })
    }

    /// The directory to work in. A repository that is named by a relative path is seen from where the request lay.
    fn workspace(&self, request: &mut Request, origin: &Origin) -> Result<String> {
        let planned = is_planned(request);
        let mut wanted = request.workspace.take().unwrap_or_default();
        if let (Some(repo), Some(directory)) = (&wanted.repo, &origin.directory) {
            wanted.repo = Some(git::seen_from(directory, repo));
        }
        refuse(ground::unworkable(&wanted, planned))?;
        let path = match origin.after.as_ref().filter(|after| after.same_workspace) {
            Some(after) => PathBuf::from(&after.session.workspace),
            None if wanted.in_place == Some(true) => ground::in_place(&mut wanted)?,
            None => {
                let kind = match planned {
                    true => workspace::Kind::Workflow,
                    false => workspace::Kind::Run,
                };
                let name = wanted.session.as_deref();
                workspace::resolve(self.state, name, kind, &origin.session_id)
            }
        };
        if wanted != Workspace::default() {
            request.workspace = Some(wanted);
        }
        Ok(path.to_string_lossy().into_owned())
    }

    /// A workflow that could not be run, and what only a plan has a use for.
    fn unplannable(&self, request: &Request) -> Vec<Problem> {
        let Some(plan) = request.plan.as_deref().filter(|_| is_planned(request)) else {
            let useless = [
                ("datasets", !request.datasets.is_empty()),
                ("inputs", !request.inputs.is_empty()),
                ("max_parallel", request.max_parallel.is_some()),
            ];
            let given = useless.into_iter().filter(|(_, given)| *given);
            return given
                .map(|(key, _)| {
                    let message =
                        "is for planned sessions; add plan: auto, or the name of a workflow";
                    problem(key, message.to_owned())
                })
                .collect();
        };
        let open = |dataset: &&String| {
            matches!(
                dataset::Source::parse(dataset, self.state),
                dataset::Source::Postgres(_)
            ) && has_password(dataset)
        };
        if request.datasets.iter().any(|dataset| open(&dataset)) {
            // What is submitted is stored, and no secret may be.
            let message = format!(
                "leave the password out of the postgres:// address and give it to the daemon as {PASSWORD}"
            );
            return vec![problem("datasets", message)];
        }
        if plan == AUTO {
            return match request.inputs.is_empty() {
                true => Vec::new(),
                false => vec![problem(
                    "inputs",
                    "are for workflows; plan: auto has none".to_owned(),
                )],
            };
        }
        let agents = self.roster.names();
        match self.workflows.fill(plan, &request.inputs, &agents) {
            Ok(_) => Vec::new(),
            Err(error) => vec![problem("plan", format!("{error:#}"))],
        }
    }
}

fn is_planned(request: &Request) -> bool {
    request.plan.as_deref().is_some_and(|plan| plan != PLAIN)
}

/// Whom nobody could tell: names without a target, and addresses that nothing would be posted to.
fn untellable(request: &Request, config: &Config) -> Vec<Problem> {
    let known: Vec<&str> = config.notify.keys().map(String::as_str).collect();
    let unknown = request
        .notify
        .iter()
        .filter(|name| !config.notify.contains_key(*name));
    let mut problems: Vec<Problem> = unknown
        .map(|name| problem("notify", unknown_target(name, &known)))
        .collect();
    if let Some(url) = &request.callback_url
        && let Err(message) = check_callback(url, config.callbacks.allow_private)
    {
        problems.push(problem("callback_url", message));
    }
    problems
}

/// As far as an address can be judged without looking its name up; that is done at each delivery.
fn check_callback(url: &str, allow_private: bool) -> Result<(), String> {
    let url = address::read(url)?;
    match address::plainly_not_public(&url).filter(|_| !allow_private) {
        None => Ok(()),
        Some(private) => Err(format!(
            "{private}; set allow_private = true under [callbacks] to allow it"
        )),
    }
}

/// A limit that could never be noticed is refused at submission, not discovered on the bill.
fn uncountable(request: &Request, limits: &config::Budget, member: &Member) -> Vec<Problem> {
    let budget = request.budget.clone().unwrap_or_default();
    let name = &member.name;
    let mut problems: Vec<Problem> = Vec::new();
    for key in member.profile.unkeepable(&budget) {
        let advice = match key {
            "budget.usd" => costless(member),
            _ => format!("agent '{name}' cannot report it"),
        };
        let message = format!("{advice}; or limit max_iterations or budget.wall instead");
        problems.push(problem(key, message));
    }
    if budget.usd.is_none() && limits.is_set() && !member.profile.knows_its_cost() {
        let message = format!("{}; [budget] limits what agents may cost", costless(member));
        problems.push(problem("agent", message));
    }
    problems
}

/// Why an agent's cost cannot be known, and what to do about it.
fn costless(member: &Member) -> String {
    let Member { name, profile, .. } = member;
    let place = match (member.source, profile.preset) {
        (Source::Found, Some(preset)) => format!("[agents.{name}] (with preset = \"{preset}\")"),
        _ => format!("[agents.{name}]"),
    };
    match &profile.model {
        _ if !profile.reports.tokens => {
            format!("agent '{name}' cannot report what it costs; set cost_per_iteration in {place}")
        }
        None => format!(
            "agent '{name}' reports its tokens but not its model, so their price is not known; set model = \"…\" or cost_per_iteration in {place}"
        ),
        Some(model) => format!(
            "no price is known for '{model}', the model of agent '{name}'; add [prices.\"{model}\"] with input and output, or set cost_per_iteration in {place}"
        ),
    }
}

pub(super) fn problem(key: &str, message: String) -> Problem {
    Problem {
        line: None,
        key: Some(key.to_owned()),
        message,
    }
}

pub(super) fn refuse(problems: Vec<Problem>) -> Result<(), Problems> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Problems::from(problems)),
    }
}

/// A request in either form: JSON when it starts like JSON, else Markdown.
pub fn parse(text: &str) -> Result<Request, Problems> {
    match text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{')
    {
        true => Request::from_json(text),
        false => Request::from_markdown(text),
    }
}
