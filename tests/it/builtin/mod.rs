//! Built-in agents from end to end: the real daemon, real HTTP to a played model in both dialects, real tools in a real workspace.

mod cassettes;
mod failures;
mod forms;
mod guards;
mod long_talks;
mod resumption;
mod work;

use crate::support::Site;
use crate::support::model_server::{ModelServer, Play};

/// The key of the played model; nobody may ever read it.
pub const KEY: &str = "key-of-the-played-model-4711";

/// How one speaks with the model.
#[derive(Clone, Copy, Debug)]
pub enum Dialect {
    Anthropic,
    Openai,
}

pub const BOTH: [Dialect; 2] = [Dialect::Anthropic, Dialect::Openai];

impl Dialect {
    /// The configuration of an agent `thinker` that asks this server, with more of its keys.
    pub fn agent(self, server: &ModelServer, more: &str) -> String {
        let (provider, base_url) = match self {
            Self::Anthropic => ("anthropic", server.url()),
            Self::Openai => ("openai", format!("{}/v1", server.url())),
        };
        format!(
            "[defaults]\ntransient_backoff = \"20ms\"\n[agents.thinker]\nkind = \"builtin\"\nprovider = \"{provider}\"\nmodel = \"played-model\"\nbase_url = \"{base_url}\"\napi_key_env = \"PLAYED_KEY\"\n{more}\n"
        )
    }

    /// A site whose only agent is that one.
    pub fn site(self, server: &ModelServer, more: &str) -> Site {
        Site::new()
            .variable("PLAYED_KEY", KEY)
            .configure(&self.agent(server, more))
    }
}

/// The model's last words.
pub fn done(words: &str) -> Play {
    Play::say(&format!("{words}\n\nTASK_COMPLETE"))
}
