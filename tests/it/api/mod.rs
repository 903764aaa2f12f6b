//! The HTTP API: the real daemon, called over the loopback by whoever means well, and by whoever does not.

mod access;
mod acts;
mod deliveries;
mod description;
mod harness;
mod keys;
mod looks;
mod manners;
mod peers;
mod streams;
mod submissions;

use crate::support::http::Http;
use crate::support::{Daemon, Site};
use serde_json::{Value as Json, json};

/// Asks until it is told about the blue one.
const ASKS: &str = r#"if grep -q 'Answer: the blue one'; then echo painted; echo TASK_COMPLETE
else mkdir -p state
    echo '{"question": "Which pot of paint?", "options": ["the red one", "the blue one"]}' >state/question.json
    echo 'I have to ask.'
fi"#;

/// Works until the test lets it go.
const WAITS: &str =
    r#"until [ -e "$HERE/go" ]; do sleep 0.02; done; echo painted; echo TASK_COMPLETE"#;

/// A daemon whose worker is done at once.
fn done_at_once() -> Daemon {
    Daemon::start(Site::with_worker("echo painted; echo TASK_COMPLETE"))
}

/// A request that nobody works on before the test is over.
fn for_later(objective: &str) -> Json {
    json!({ "objective": objective, "not_before": "2099-01-01T00:00:00Z" })
}

/// Submits, and returns the session's id.
fn submit(http: &Http, request: &Json) -> String {
    let submitted = http.post("/v1/sessions", request).expect(202);
    submitted["session_id"].as_str().unwrap().to_owned()
}

/// A new token, as it is shown once.
fn token(site: &Site, options: &[&str]) -> String {
    let words = [&["token", "new", "tester"], options].concat();
    site.ralphd(&words).done().trim().to_owned()
}
