//! Traces for OpenTelemetry, taken by a collector of the test's own: one trace for a session, its spans below each other.

use super::obedient;
use crate::support::receiver::Receiver;
use crate::support::{Daemon, wait_for};
use serde_json::Value as Json;

fn attribute<'j>(span: &'j Json, key: &str) -> &'j Json {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Json::Null, |attribute| {
        let value = attribute["value"].as_object().unwrap();
        value.values().next().unwrap()
    })
}

#[test]
fn a_session_is_a_trace() {
    // The first try fails: what is not taken is sent again.
    let collector =
        Receiver::answering(|number, _| if number < 2 { 503.into() } else { 200.into() });
    let site = obedient().variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url(""));
    let daemon = Daemon::start(site);
    daemon.drop_file("good.md", "please work");
    let session = daemon.ended("good");
    let taken = wait_for("a trace to be taken", || {
        collector.accepted().into_iter().next()
    });
    assert_eq!(taken.path, "/v1/traces");
    assert_eq!(taken.headers["content-type"], "application/json");
    let message = taken.json();
    let scope = &message["resourceSpans"][0]["scopeSpans"][0];
    let spans = scope["spans"].as_array().unwrap();
    let named = |name: &str| {
        let found = spans.iter().find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no span {name}: {spans:#?}"))
    };
    let (whole, task, turn) = (
        named("session"),
        named("task agent"),
        named("invoke_agent worker"),
    );
    assert_eq!(whole["traceId"], session.id.replace('-', ""));
    assert_eq!(whole["parentSpanId"], "");
    assert_eq!(task["parentSpanId"], whole["spanId"]);
    assert_eq!(turn["parentSpanId"], task["spanId"]);
    for (span, key, expected) in [
        (whole, "ralphd.session.verified", "claimed"),
        (turn, "gen_ai.operation.name", "invoke_agent"),
        (turn, "gen_ai.system", "worker"),
        (turn, "gen_ai.request.model", "model-x"),
        (turn, "ralphd.iteration.verdict", "promised"),
    ] {
        assert_eq!(attribute(span, key), expected, "{key}");
    }
    assert_eq!(attribute(turn, "ralphd.cost_usd"), 0.25);
}
