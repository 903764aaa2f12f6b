//! The providers of the built-in agent against real HTTP: a played model in both dialects, and a real small one where it is installed.

mod answers;
mod failures;
mod local_model;
mod proxies;
mod structured;

use crate::support::model_server::ModelServer;
use ralphd::agent::provider::{Dialect, Endpoint, Notice, Provider, Question, Secret, over_http};
use ralphd::agent::tool::ToolCard;
use ralphd::model::backoff::Patience;
use ralphd::model::conversation::{History, Reply};
use ralphd::model::failure::Failure;
use serde_json::json;
use std::sync::{Arc, Mutex};

const DIALECTS: [Dialect; 2] = [Dialect::Anthropic, Dialect::OpenAi];
const KEY: &str = "sk-test-0123456789";

/// A provider and the waits that it told of.
struct Desk {
    endpoint: Endpoint,
    notices: Arc<Mutex<Vec<Notice>>>,
}

impl Desk {
    /// With waits that a test does not notice.
    fn at(url: String) -> Self {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let told = notices.clone();
        let endpoint = Endpoint {
            base_url: Some(url),
            key: Some(Secret::new(KEY)),
            patience: Patience {
                base_ms: 1,
                retries: 3,
                max_wait_ms: 1_000,
            },
            notice: Some(Arc::new(move |notice| told.lock().unwrap().push(notice))),
            ..Endpoint::default()
        };
        Self { endpoint, notices }
    }

    fn before(server: &ModelServer) -> Self {
        Self::at(server.url())
    }

    fn provider(&self, dialect: Dialect) -> Box<dyn Provider> {
        over_http(dialect, "played-1".to_owned(), self.endpoint.clone()).unwrap()
    }

    fn ask(&self, dialect: Dialect, history: &History) -> Result<Reply, Failure> {
        let provider = self.provider(dialect);
        on_runtime(provider.reply(&question(history, &tools())))
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }
}

/// The runtime that the agent has: one thread.
fn on_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

fn objective() -> History {
    History {
        objective: "Fix the test.".to_owned(),
        ..History::default()
    }
}

fn question<'a>(history: &'a History, tools: &'a [ToolCard]) -> Question<'a> {
    Question {
        system: "You are careful.",
        history,
        tools,
        schema: None,
        max_output_tokens: 1_000,
    }
}

fn tools() -> Vec<ToolCard> {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    vec![ToolCard {
        name: "read",
        description: "Reads a file.",
        parameters,
    }]
}
