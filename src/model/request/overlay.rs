//! Lays one request over another: what was given wins, what was not comes from below.

use std::collections::BTreeMap;

use super::{Budget, Request, Workspace};

impl Request {
    /// Values given in `self` win, else those of `under`. Labels are merged, `budget` and `workspace` key by
    /// key; a list replaces a list.
    pub fn overlay(self, under: &Request) -> Request {
        let under = under.clone();
        Request {
            objective: if self.objective.is_empty() {
                under.objective
            } else {
                self.objective
            },
            agent: self.agent.or(under.agent),
            max_iterations: self.max_iterations.or(under.max_iterations),
            completion_promise: self.completion_promise.or(under.completion_promise),
            promise_match: self.promise_match.or(under.promise_match),
            verify: self.verify.or(under.verify),
            protect: first_given(self.protect, under.protect),
            budget: merge(self.budget, under.budget, Budget::overlay),
            plan: self.plan.or(under.plan),
            inputs: under
                .inputs
                .into_iter()
                .chain(self.inputs)
                .collect::<BTreeMap<_, _>>(),
            autonomy: self.autonomy.or(under.autonomy),
            workspace: merge(self.workspace, under.workspace, Workspace::overlay),
            datasets: first_given(self.datasets, under.datasets),
            priority: self.priority.or(under.priority),
            not_before: self.not_before.or(under.not_before),
            labels: under
                .labels
                .into_iter()
                .chain(self.labels)
                .collect::<BTreeMap<_, _>>(),
            notify: first_given(self.notify, under.notify),
            callback_url: self.callback_url.or(under.callback_url),
            iteration_timeout: self.iteration_timeout.or(under.iteration_timeout),
            silence_timeout: self.silence_timeout.or(under.silence_timeout),
            stagnation_threshold: self.stagnation_threshold.or(under.stagnation_threshold),
            human_timeout: self.human_timeout.or(under.human_timeout),
            max_parallel: self.max_parallel.or(under.max_parallel),
            env: first_given(self.env, under.env),
            idempotency_key: self.idempotency_key.or(under.idempotency_key),
        }
    }
}

impl Budget {
    fn overlay(self, under: Budget) -> Budget {
        Budget {
            usd: self.usd.or(under.usd),
            tokens: self.tokens.or(under.tokens),
            wall: self.wall.or(under.wall),
            tool_calls: self.tool_calls.or(under.tool_calls),
        }
    }
}

impl Workspace {
    fn overlay(self, under: Workspace) -> Workspace {
        Workspace {
            session: self.session.or(under.session),
            repo: self.repo.or(under.repo),
            reference: self.reference.or(under.reference),
            shallow: self.shallow.or(under.shallow),
            in_place: self.in_place.or(under.in_place),
            collaboration: self.collaboration.or(under.collaboration),
        }
    }
}

fn first_given(over: Vec<String>, under: Vec<String>) -> Vec<String> {
    if over.is_empty() { under } else { over }
}

fn merge<T>(over: Option<T>, under: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (over, under) {
        (Some(over), Some(under)) => Some(both(over, under)),
        (over, under) => over.or(under),
    }
}
