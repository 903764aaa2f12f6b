//! A session's request with every gap filled: what the loop works by.
//! It must not read the configuration again once a session exists: what was promised at submission holds to the end.

use crate::config::Config;
use crate::model::request::{Budget, Collaboration, PromiseMatch, Request, Workspace};
use crate::store::sessions::Session;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// Up to this level a person is asked before changed protected files are accepted.
const ASK_ABOUT_TAMPERING_UP_TO: u8 = 3;

/// The plan of a session that has none.
pub const PLAIN: &str = "none";
/// The plan that a planner makes.
pub const AUTO: &str = "auto";

/// What one session is to do, and within which limits.
#[derive(Clone, Debug)]
pub struct Mission {
    pub objective: String,
    pub promise: String,
    pub promise_match: PromiseMatch,
    pub verify: Option<String>,
    pub protect: Vec<String>,
    pub budget: Budget,
    pub iteration_timeout: Duration,
    pub silence_timeout: Option<Duration>,
    pub stagnation_threshold: i64,
    pub human_timeout_ms: i64,
    pub tampering_needs_a_person: bool,
    pub autonomy: u8,
    /// How many tasks of its plan may run at once.
    pub max_parallel: Option<u32>,
    /// `auto`, or the name of a workflow; nothing for a plain session.
    pub plan: Option<String>,
    pub inputs: BTreeMap<String, String>,
    pub datasets: Vec<String>,
    pub environment: Vec<String>,
    /// What the agents work on.
    pub workspace: Workspace,
}

/// The configured defaults as a request, so that they lie under what a request says.
pub fn default_request(config: &Config) -> Request {
    let defaults = &config.defaults;
    Request {
        max_iterations: Some(defaults.max_iterations),
        completion_promise: Some(defaults.completion_promise.clone()),
        promise_match: Some(defaults.promise_match),
        iteration_timeout: Some(defaults.iteration_timeout),
        silence_timeout: defaults.silence_timeout,
        stagnation_threshold: Some(defaults.stagnation_threshold),
        autonomy: Some(defaults.autonomy),
        human_timeout: Some(defaults.human_timeout),
        notify: defaults.notify.clone(),
        ..Request::default()
    }
}

impl Mission {
    /// Whether each agent task of the plan works in a tree of its own.
    pub fn is_parallel(&self) -> bool {
        self.plan.is_some() && self.workspace.collaboration == Some(Collaboration::Parallel)
    }

    /// Reads the mission from the session's row.
    pub fn of(session: &Session, config: &Config) -> Result<Self> {
        let request: Request = serde_json::from_value(session.request.clone())
            .with_context(|| format!("session {} holds an unreadable request", session.id))?;
        // Sessions are stored with all gaps filled; the overlay only matters for rows of an older version.
        let request = request.overlay(&default_request(config));
        let defaults = &config.defaults;
        let autonomy = request.autonomy.unwrap_or(defaults.autonomy);
        Ok(Self {
            objective: session.objective.clone(),
            promise: session.completion_promise.clone(),
            promise_match: request.promise_match.unwrap_or(defaults.promise_match),
            verify: request.verify,
            protect: request.protect,
            budget: request.budget.unwrap_or_default(),
            iteration_timeout: request
                .iteration_timeout
                .unwrap_or(defaults.iteration_timeout)
                .into(),
            silence_timeout: request.silence_timeout.map(Duration::from),
            stagnation_threshold: i64::from(
                request
                    .stagnation_threshold
                    .unwrap_or(defaults.stagnation_threshold),
            ),
            human_timeout_ms: request
                .human_timeout
                .unwrap_or(defaults.human_timeout)
                .as_millis(),
            tampering_needs_a_person: autonomy <= ASK_ABOUT_TAMPERING_UP_TO,
            autonomy,
            max_parallel: request.max_parallel,
            plan: request.plan.filter(|plan| plan != PLAIN),
            inputs: filled(session).unwrap_or(request.inputs),
            datasets: request.datasets,
            environment: request.env,
            workspace: request.workspace.unwrap_or_default(),
        })
    }
}

/// What a workflow was given once it is filled in: the defaults too.
fn filled(session: &Session) -> Option<BTreeMap<String, String>> {
    let inputs = session.plan.as_ref()?.get("inputs")?;
    serde_json::from_value(inputs.clone()).ok()
}
