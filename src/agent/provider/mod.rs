//! Who answers: a model behind an API, or a cassette. One file a dialect.
//! A provider must not run tools nor remember the conversation; it is told all of it each time.

mod anthropic;
mod body;
mod endpoint;
mod http;
mod limits;
mod openai;
pub mod recorded;
mod sse;
pub mod structured;
mod talk;
mod trouble;

pub use endpoint::{Endpoint, Listener, Notice, Secret};

use crate::agent::Pending;
use crate::agent::tool::ToolCard;
use crate::model::conversation::{History, Reply};
use crate::model::failure::Failure;
use anyhow::Result;
use serde_json::Value as Json;

/// How one speaks with a model's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Messages, as Anthropic made them.
    Anthropic,
    /// Chat completions, as OpenAI made them and local servers speak them too.
    OpenAi,
}

/// A model behind HTTP. The error says what cannot be used of the address or the key.
pub fn over_http(dialect: Dialect, model: String, endpoint: Endpoint) -> Result<Box<dyn Provider>> {
    Ok(match dialect {
        Dialect::Anthropic => Box::new(anthropic::Anthropic::new(model, endpoint)?),
        Dialect::OpenAi => Box::new(openai::OpenAi::new(model, endpoint)?),
    })
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub system: &'a str,
    pub history: &'a History,
    pub tools: &'a [ToolCard],
    /// The reply's text shall be JSON of this schema.
    pub schema: Option<&'a Json>,
    pub max_output_tokens: u64,
}

/// Whoever answers.
pub trait Provider: Send + Sync {
    /// One reply, whole. Passing failures were tried again before one comes out of here. Dropping the future hangs up.
    fn reply<'a>(&'a self, question: &'a Question<'a>) -> Pending<'a, Result<Reply, Failure>>;
}
