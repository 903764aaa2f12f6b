//! The way in for webhooks: a delivery to a hook is checked, known again if it was here before, and else becomes a session.
//! It must not read anything in a delivery before it is known who sent it, and acknowledges nothing that is not durable.

mod keyring;

pub use crate::model::webhook::Refusal;

use super::intake::{Origin, Reception};
use crate::config::{Config, ConfigError, ConfigProblem, Environment, Hook as Settings};
use crate::model::request::{Problems, PromiseMatch, Request};
use crate::model::session::Trigger;
use crate::model::webhook::fence::Promise;
use crate::model::webhook::identity::{self, Identity};
use crate::model::webhook::{Headers, Scheme, Templates, payload, signature};
use crate::secrets::Vault;
use crate::store::deliveries::{self, Seen};
use crate::store::sessions::{self, Created};
use anyhow::{Context, Result};
use keyring::Keyring;
use std::collections::HashMap;

/// All hooks of the configuration, with their secrets. Made once, when the daemon starts.
#[derive(Default)]
pub struct Hooks(HashMap<String, Hook>);

struct Hook {
    name: String,
    scheme: Scheme,
    keyring: Keyring,
    max_bytes: u64,
    templates: Templates,
    promise: String,
    rule: PromiseMatch,
}

/// What was sent to a hook.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Names in lower case, values as they came.
    pub headers: &'a [(String, String)],
    pub body: &'a [u8],
    /// Whether it came from this machine.
    pub loopback: bool,
    pub at_ms: i64,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is on disk.
    Started {
        session_id: String,
    },
    /// It was here before, or its request was; without an id when the session is no longer kept.
    Already {
        session_id: Option<String>,
    },
    /// It is genuine, and not one that the hook is for.
    Ignored {
        reason: String,
    },
    Refused(Refusal),
}

/// Why a delivery goes no further.
enum Stop {
    Refused(Refusal),
    /// Our own trouble.
    Trouble(anyhow::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal)
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Problems>() {
            Ok(problems) => Stop::Refused(Refusal::Unfit(problems)),
            Err(error) => Stop::Trouble(error),
        }
    }
}

impl Hooks {
    /// Compiles the templates and reads the secrets of all hooks; else says all that is wrong with them.
    pub fn open(config: &Config, environment: &Environment, vault: &Vault) -> Result<Hooks> {
        let mut hooks = HashMap::new();
        let mut problems = Vec::new();
        for (name, settings) in &config.hooks {
            match Hook::open(name, settings, config, environment, vault) {
                Ok(hook) => {
                    hooks.insert(name.clone(), hook);
                }
                Err(more) => problems.extend(more),
            }
        }
        anyhow::ensure!(problems.is_empty(), ConfigError { problems });
        Ok(Hooks(hooks))
    }

    /// How long a body may be; nothing where there is no such hook.
    pub fn max_bytes(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|hook| hook.max_bytes)
    }

    /// Takes a delivery. An error is trouble of our own: the sender should try again.
    pub async fn receive(
        &self,
        reception: Reception<'_>,
        name: &str,
        delivery: Delivery<'_>,
    ) -> Result<Received> {
        let hook = self.0.get(name);
        let hook = hook.with_context(|| format!("there is no hook '{name}'"))?;
        match hook.take(reception, &delivery).await {
            Ok(received) => Ok(received),
            Err(Stop::Refused(refusal)) => {
                tracing::info!(hook = name, "a delivery was refused: {refusal}");
                Ok(Received::Refused(refusal))
            }
            Err(Stop::Trouble(error)) => {
                Err(error.context(format!("a delivery to hook '{name}' could not be taken")))
            }
        }
    }
}

impl Hook {
    fn open(
        name: &str,
        settings: &Settings,
        config: &Config,
        environment: &Environment,
        vault: &Vault,
    ) -> Result<Hook, Vec<ConfigProblem>> {
        let Settings {
            filter,
            dedupe,
            request,
            ..
        } = settings;
        let templates = Templates::compile(filter.as_deref(), dedupe.as_deref(), request);
        let templates = templates.map_err(|mistakes| {
            let problem = |key: String, message| ConfigProblem {
                origin: None,
                key: Some(format!("hooks.{name}.{key}")),
                message,
            };
            let mistakes = mistakes.into_iter();
            mistakes
                .map(|mistake| problem(mistake.key.join("."), mistake.message))
                .collect::<Vec<_>>()
        })?;
        let defaults = &config.defaults;
        let promise = request.completion_promise.as_ref();
        Ok(Hook {
            name: name.to_owned(),
            scheme: settings.verify,
            keyring: Keyring::open(name, settings, environment, vault)?,
            max_bytes: settings.max_bytes,
            templates,
            promise: promise.unwrap_or(&defaults.completion_promise).clone(),
            rule: request.promise_match.unwrap_or(defaults.promise_match),
        })
    }

    async fn take(
        &self,
        reception: Reception<'_>,
        delivery: &Delivery<'_>,
    ) -> Result<Received, Stop> {
        let headers = Headers::new(delivery.headers);
        self.admit(&headers, delivery).await?;
        let identity = identity::of(self.scheme, &headers, delivery.body)?;
        if let Some(seen) = self.seen(reception, &identity, delivery.at_ms).await? {
            return Ok(already(seen));
        }
        if self.scheme.is_greeting(&headers) {
            return Ok(ignored("GitHub's greeting to a new hook"));
        }
        let payload = payload::read(&headers, delivery.body)?;
        let values = Templates::values(&payload, &headers);
        if !self.templates.is_meant(&values)? {
            return Ok(ignored("the hook's filter is not true for it"));
        }
        let identity = match self.templates.dedupe(&values)? {
            Some(key) => identity.under(&key)?,
            None => identity,
        };
        let promise = Promise {
            words: &self.promise,
            rule: self.rule,
        };
        let mut request = self.templates.fill(&self.name, &values, promise)?;
        if request.idempotency_key.is_none() {
            request.idempotency_key = identity.idempotency_key.clone();
        }
        let received = self.start(reception, request, identity, delivery.at_ms);
        Ok(received.await?)
    }

    /// Who sent it is known before anything in it is read.
    async fn admit(&self, headers: &Headers<'_>, delivery: &Delivery<'_>) -> Result<(), Stop> {
        if !self.scheme.admits(delivery.loopback, headers) {
            return Err(Refusal::NotLoopback.into());
        }
        if delivery.body.len() as u64 > self.max_bytes {
            let message = format!("the body has more than {} bytes", self.max_bytes);
            return Err(Refusal::Malformed(message).into());
        }
        let check = |secrets| {
            let (body, at_ms) = (delivery.body, delivery.at_ms);
            signature::check(self.scheme, secrets, headers, body, at_ms)
        };
        match check(self.keyring.given()) {
            Err(Refusal::BadSignature) => {}
            other => return Ok(other?),
        }
        let (secrets, unreadable) = self.keyring.filed().await?;
        match (check(&secrets), unreadable) {
            // It may be signed with the one that cannot be read: nobody else is told that it is not.
            (Err(Refusal::BadSignature), Some(trouble)) => Err(trouble.into()),
            (checked, _) => Ok(checked?),
        }
    }

    async fn seen(
        &self,
        reception: Reception<'_>,
        identity: &Identity,
        at_ms: i64,
    ) -> Result<Option<Seen>> {
        if identity.keys.is_empty() {
            return Ok(None);
        }
        let (hook, keys) = (self.name.clone(), identity.keys.clone());
        let store = reception.store;
        store
            .read(move |sql| deliveries::find(sql, &hook, &keys, at_ms))
            .await
    }

    /// Session and delivery in one transaction: of many at once only one finds that it is the first.
    async fn start(
        &self,
        reception: Reception<'_>,
        request: Request,
        identity: Identity,
        at_ms: i64,
    ) -> Result<Received> {
        let new = reception.prepare(request, Origin::new(Trigger::Webhook))?;
        let (hook, keys) = (self.name.clone(), identity.keys);
        reception
            .store
            .write(move |sql| {
                if let Some(seen) = deliveries::find(sql, &hook, &keys, at_ms)? {
                    return Ok(already(seen));
                }
                let created = sessions::create(sql, &new)?;
                deliveries::remember(sql, &hook, &keys, created.id(), at_ms)?;
                Ok(match created {
                    Created::New(session_id) => Received::Started { session_id },
                    Created::Already(id) => already(Seen {
                        session_id: Some(id),
                    }),
                })
            })
            .await
    }
}

fn already(seen: Seen) -> Received {
    Received::Already {
        session_id: seen.session_id,
    }
}

fn ignored(reason: &str) -> Received {
    Received::Ignored {
        reason: reason.to_owned(),
    }
}
