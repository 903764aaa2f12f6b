//! The API's description of itself: every place is in it, it is sound, and whoever calls by it gets what it says.
//! Calling by it is left to schemathesis, where it is installed (`tests/tools/install schemathesis`).

use super::{done_at_once, for_later, submit};
use crate::support::{Daemon, Ran, Site};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const SCHEMATHESIS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/target/tools/schemathesis/bin/schemathesis"
);
/// Calls for each place and way of calling: enough to meet every branch, few enough for a minute.
const EXAMPLES: &str = "5";

/// All values under a key, at whatever depth.
fn under<'a>(key: &str, value: &'a Json, found: &mut Vec<&'a Json>) {
    match value {
        Json::Object(fields) => {
            for (name, value) in fields {
                if name == key {
                    found.push(value);
                }
                under(key, value, found);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| under(key, item, found)),
        _ => {}
    }
}

#[test]
fn every_place_is_described_and_every_reference_leads_somewhere() {
    let daemon = done_at_once();
    let described = daemon.http().get("/openapi.json").expect(200);
    assert_eq!(described["openapi"], "3.1.0");
    let paths: BTreeSet<&str> = described["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for path in [
        "/v1/sessions",
        "/v1/sessions/{id}",
        "/v1/sessions/{id}/tasks",
        "/v1/sessions/{id}/iterations",
        "/v1/sessions/{id}/events",
        "/v1/sessions/{id}/answer",
        "/v1/sessions/{id}/approve",
        "/v1/sessions/{id}/reject",
        "/v1/sessions/{id}/tell",
        "/v1/sessions/{id}/pause",
        "/v1/sessions/{id}/resume",
        "/v1/sessions/{id}/cancel",
        "/v1/sessions/{id}/retry",
        "/v1/sessions/{id}/continue",
        "/v1/events",
        "/hooks/{name}",
        "/webhook/agent-harness",
        "/webhook/agent-harness-resume",
        "/webhook/agent-harness-status",
        "/webhook/agent-human-response",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
    ] {
        assert!(paths.contains(path), "{path}");
    }
    let mut references = Vec::new();
    under("$ref", &described, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let place = reference.as_str().unwrap().strip_prefix('#').unwrap();
        assert!(described.pointer(place).is_some(), "{place}");
    }
    let mut names = Vec::new();
    under("operationId", &described, &mut names);
    let unique: BTreeSet<&str> = names.iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(unique.len(), names.len());
}

/// What schemathesis goes by: no call waits for work to be done, or for the end of a stream that has none, and the session and the hook
/// that it calls are there. One thread: two of them meet a bug of Python's own parser.
fn manner(session: &str) -> String {
    format!(
        r#"
workers = 1
request-timeout = 20.0
[checks]
enabled = false
not_a_server_error.enabled = true
status_code_conformance.enabled = true
content_type_conformance.enabled = true
response_headers_conformance.enabled = true
response_schema_conformance.enabled = true
negative_data_rejection.enabled = true
unsupported_method.enabled = true
[phases.stateful]
enabled = false
[parameters]
"query.wait" = 0
"path.name" = "open"
"path.id" = "{session}"
[[operations]]
include-path-regex = "events$"
request-timeout = 0.2
"#
    )
}

#[test]
fn calls_made_by_the_description_are_answered_by_it() {
    if !Path::new(SCHEMATHESIS).exists() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: schemathesis: there is no {SCHEMATHESIS}; run tests/tools/install schemathesis"
        );
        return;
    }
    let hook =
        "[hooks.open]\nverify = 'none'\nrequest = { objective = 'Look at {{ payload.text }}' }\n";
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE").configure(hook));
    let http = daemon.http();
    let session = submit(&http, &for_later("Waits."));
    std::fs::write(daemon.file("schemathesis.toml"), manner(&session)).unwrap();
    let described = http.get("/openapi.json").expect(200);
    let mut operations = Vec::new();
    under("operationId", &described, &mut operations);
    let url = format!("http://{}/openapi.json", http.address);
    let mut command = Command::new(SCHEMATHESIS);
    command.current_dir(daemon.root()).args(["run", &url]);
    command.args(["--max-examples", EXAMPLES, "--seed", "7"]);
    let ran = Ran::of(command);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    // All but the description itself, which it has read already.
    let all = format!("Tested: {}\n", operations.len() - 1);
    assert!(ran.stdout.contains(&all), "{}", ran.stdout);
    assert!(daemon.is_running());
}
