//! Webhooks: deliveries to the hooks of a configuration, as whoever listens hands them over, on a real store.
//! What a delivery holds is a [`Post`], whichever way it is brought.

mod genuine;
mod injection;
mod known_again;
mod mutations;
mod secrets;

use crate::support::Site;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ralphd::agent::roster::Roster;
use ralphd::config::{Config, Environment};
use ralphd::engine::workflows::Workflows;
use ralphd::process::Supervisor;
use ralphd::secrets::Vault;
use ralphd::store::Store;
use ralphd::trigger::intake::Reception;
use ralphd::trigger::webhook::{Delivery, Hooks, Received, Refusal};
use ring::hmac;
use std::path::PathBuf;

pub const GITHUB_SECRET: &str = "It's a Secret to Everybody";
pub const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub const BEARER_SECRET: &str = "a-token-that-only-two-know";
pub const NOW_MS: i64 = 1_790_000_000_000;
const VARIABLES: &[(&str, &str)] = &[
    ("GITHUB_HOOK", GITHUB_SECRET),
    ("STANDARD_HOOK", STANDARD_SECRET),
    ("BEARER_HOOK", BEARER_SECRET),
];

/// One hook of each kind.
pub const HOOKS: &str = "
[hooks.github]
verify = 'github'
secret_env = 'GITHUB_HOOK'
request = { objective = 'Look at {{ payload.text }}' }

[hooks.standard]
verify = 'standard'
secret_env = 'STANDARD_HOOK'
request = { objective = 'Look at {{ payload.text }}' }

[hooks.bearer]
verify = 'bearer'
secret_env = 'BEARER_HOOK'
request = { objective = 'Look at {{ payload.text }}' }

[hooks.open]
verify = 'none'
request = { objective = 'Look at {{ payload.text }}' }
";

/// A site with one agent and one hook of each kind.
fn site() -> Site {
    Site::with_worker("echo TASK_COMPLETE").configure(HOOKS)
}

/// All that takes deliveries, without anybody who works.
pub struct Desk {
    pub site: Site,
    config: Config,
    store: Store,
    roster: Roster,
    workflows: Workflows,
    state: PathBuf,
    hooks: Hooks,
}

impl Desk {
    pub fn open(site: Site) -> Self {
        let environment: Environment = VARIABLES.iter().copied().collect();
        let file = site.file("ralphd.toml");
        let config = Config::from_text(&site.read("ralphd.toml"), Some(&file), &environment);
        let config = config.unwrap();
        let vault = Vault::default();
        let state = site.state();
        std::fs::create_dir_all(&state).unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_ralphd"));
        Self {
            roster: Roster::new(&config, Supervisor::default(), program, vault.clone()).unwrap(),
            store: Store::open(&state).unwrap().masking(vault.clone()),
            workflows: Workflows {
                directory: state.join("workflows"),
            },
            hooks: Hooks::open(&config, &environment, &vault).unwrap(),
            config,
            state,
            site,
        }
    }

    /// The same after everything that was in memory is gone.
    pub fn reopened(self) -> Self {
        let site = self.closed();
        Self::open(site)
    }

    pub fn closed(self) -> Site {
        self.site
    }

    /// Brings a delivery to a hook that can take it.
    pub async fn send(&self, hook: &str, post: &Post) -> Received {
        self.receive(hook, post).await.unwrap()
    }

    async fn receive(&self, hook: &str, post: &Post) -> anyhow::Result<Received> {
        let reception = Reception {
            config: &self.config,
            roster: &self.roster,
            state: &self.state,
            store: &self.store,
            workflows: &self.workflows,
        };
        let delivery = Delivery {
            headers: &post.headers,
            body: &post.body,
            loopback: post.loopback,
            at_ms: post.at_ms,
        };
        self.hooks.receive(reception, hook, delivery).await
    }

    /// Brings one that must become a session, whose id it returns.
    pub async fn started(&self, hook: &str, post: &Post) -> String {
        match self.send(hook, post).await {
            Received::Started { session_id } => session_id,
            other => panic!("{other:?}"),
        }
    }

    /// Brings one that must be refused.
    pub async fn refused(&self, hook: &str, post: &Post) -> Refusal {
        match self.send(hook, post).await {
            Received::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    pub fn sessions(&self) -> i64 {
        self.site.count("SELECT count(*) FROM sessions")
    }
}

pub fn already(session_id: &str) -> Received {
    Received::Already {
        session_id: Some(session_id.to_owned()),
    }
}

/// What is sent: headers and body of a POST, from where and when.
#[derive(Clone, Debug)]
pub struct Post {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub loopback: bool,
    pub at_ms: i64,
}

impl Post {
    /// Without any proof, from this machine.
    pub fn plain(body: &str) -> Self {
        Self {
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
            loopback: true,
            at_ms: NOW_MS,
        }
        .with("content-type", "application/json")
    }

    /// From elsewhere, signed as GitHub does.
    pub fn github(secret: &str, id: &str, body: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, body.as_bytes());
        let hex: String = tag
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self::plain(body)
            .remotely()
            .with("x-github-event", "issues")
            .with("x-github-delivery", id)
            .with("x-hub-signature-256", &format!("sha256={hex}"))
    }

    /// From elsewhere, signed by Standard Webhooks a moment ago.
    pub fn standard(secret: &str, id: &str, body: &str) -> Self {
        Self::standard_at(secret, id, body, NOW_MS / 1000 - 2)
    }

    /// The same, signed at a moment of Unix time.
    pub fn standard_at(secret: &str, id: &str, body: &str, seconds: i64) -> Self {
        let bytes = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
        let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes.unwrap());
        let tag = hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
        Self::plain(body)
            .remotely()
            .with("webhook-id", id)
            .with("webhook-timestamp", &seconds.to_string())
            .with("webhook-signature", &format!("v1,{}", STANDARD.encode(tag)))
    }

    /// From elsewhere, with a token.
    pub fn bearer(secret: &str, body: &str) -> Self {
        Self::plain(body)
            .remotely()
            .with("authorization", &format!("Bearer {secret}"))
    }

    pub fn remotely(mut self) -> Self {
        self.loopback = false;
        self
    }

    pub fn at(mut self, at_ms: i64) -> Self {
        self.at_ms = at_ms;
        self
    }

    /// With one more header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With another value of a header, or without it.
    pub fn changed(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(known, _)| known != name);
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        &found.unwrap().1
    }
}
