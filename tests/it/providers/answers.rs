//! What a model says comes out as it was said, with what it cost.

use super::{DIALECTS, Desk, KEY, objective, on_runtime, question, tools};
use crate::support::model_server::{ModelServer, Play, Tokens};
use ralphd::agent::provider::Dialect;
use ralphd::model::conversation::{Call, CallResult, ReplyStop, Step, StepUsage};
use serde_json::json;
use std::time::Duration;

/// Only bounds a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(90);

fn usage(tokens: Tokens) -> StepUsage {
    StepUsage {
        input_tokens: tokens.input(),
        cached_tokens: tokens.cache_read,
        cache_written_tokens: tokens.cache_written,
        output_tokens: tokens.output,
    }
}

#[test]
fn a_plain_answer_with_its_usage() {
    for dialect in DIALECTS {
        let tokens = Tokens {
            fresh: 11,
            cache_read: 200,
            cache_written: if dialect == Dialect::Anthropic { 30 } else { 0 },
            output: 7,
            reasoning: 0,
        };
        let server = ModelServer::scripted(vec![Play::say("Größe: 5 €.").costing(tokens)]);
        let reply = Desk::before(&server).ask(dialect, &objective()).unwrap();
        assert_eq!(reply.text, "Größe: 5 €.");
        assert_eq!(reply.model.as_deref(), Some("played-1"));
        assert_eq!(reply.stop, ReplyStop::Finished);
        assert_eq!(reply.usage, usage(tokens));
    }
}

#[test]
fn the_key_goes_out_in_its_header_or_not_at_all() {
    for (dialect, path, header, value) in [
        (
            Dialect::Anthropic,
            "/v1/messages",
            "x-api-key",
            KEY.to_owned(),
        ),
        (
            Dialect::OpenAi,
            "/v1/chat/completions",
            "authorization",
            format!("Bearer {KEY}"),
        ),
    ] {
        let server = ModelServer::scripted(vec![Play::say("Yes."), Play::say("Yes.")]);
        let mut desk = Desk::before(&server);
        desk.ask(dialect, &objective()).unwrap();
        desk.endpoint.key = None;
        desk.ask(dialect, &objective()).unwrap();
        let requests = server.requests();
        assert_eq!(requests[0].path, path);
        assert_eq!(requests[0].header(header), Some(value.as_str()));
        assert_eq!(requests[1].header(header), None);
        assert!(!requests[0].body.to_string().contains(KEY));
        let version = (dialect == Dialect::Anthropic).then_some("2023-06-01");
        assert_eq!(requests[0].header("anthropic-version"), version);
    }
}

#[test]
fn calls_come_out_and_go_back_with_their_results() {
    for dialect in DIALECTS {
        let server = ModelServer::scripted(vec![
            Play::calls(
                "Let me look.",
                &[
                    ("read", json!({ "path": "a.rs" })),
                    ("read", json!({ "path": "b.rs" })),
                    ("git_status", json!("")),
                ],
            ),
            Play::say("Both are fine."),
        ]);
        let desk = Desk::before(&server);
        let mut history = objective();
        let reply = desk.ask(dialect, &history).unwrap();
        let told = |call: &Call| (call.name.clone(), call.arguments.clone());
        let expected = [
            ("read".to_owned(), r#"{"path":"a.rs"}"#.to_owned()),
            ("read".to_owned(), r#"{"path":"b.rs"}"#.to_owned()),
            ("git_status".to_owned(), "{}".to_owned()),
        ];
        assert_eq!(reply.text, "Let me look.");
        assert_eq!(reply.calls.iter().map(told).collect::<Vec<_>>(), expected);
        let results = reply.calls.iter().map(|call| CallResult {
            call_id: call.id.clone(),
            text: format!("result of {}", call.id),
            ok: true,
            ..CallResult::default()
        });
        history.steps.push(Step {
            results: results.collect(),
            reply: reply.clone(),
            remark: None,
        });
        assert_eq!(desk.ask(dialect, &history).unwrap().text, "Both are fine.");
        let sent = server.requests()[1].body["messages"].to_string();
        for call in &reply.calls {
            assert_eq!(sent.matches(&format!("result of {}", call.id)).count(), 1);
        }
    }
}

#[test]
fn answers_end_for_a_reason() {
    for (dialect, reason, expected) in [
        (Dialect::Anthropic, "max_tokens", ReplyStop::MaxTokens),
        (Dialect::Anthropic, "refusal", ReplyStop::Refusal),
        (Dialect::OpenAi, "length", ReplyStop::MaxTokens),
        (Dialect::OpenAi, "content_filter", ReplyStop::Refusal),
    ] {
        let server = ModelServer::scripted(vec![Play::say("Half of").stopped_by(reason)]);
        let reply = Desk::before(&server).ask(dialect, &objective()).unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("Half of", expected));
    }
}

#[test]
fn a_document_is_taken_for_a_stream() {
    for dialect in DIALECTS {
        let play = Play::calls("Look.", &[("read", json!({ "path": "a" }))]).in_one_document();
        let server = ModelServer::scripted(vec![play]);
        let reply = Desk::before(&server).ask(dialect, &objective()).unwrap();
        assert_eq!(reply.text, "Look.");
        assert_eq!(reply.calls[0].arguments, r#"{"path":"a"}"#);
        assert_eq!(reply.usage, usage(server.exchanges()[0].tokens));
    }
}

#[test]
fn tokens_that_nobody_counts_are_guessed() {
    let server = ModelServer::scripted(vec![Play::say("12345678").without_usage()]);
    let reply = Desk::before(&server)
        .ask(Dialect::OpenAi, &objective())
        .unwrap();
    assert_eq!(reply.usage.output_tokens, 2);
    assert!(reply.usage.input_tokens > 10);
}

#[test]
fn hanging_up_closes_the_connection() {
    for dialect in DIALECTS {
        let server = ModelServer::scripted(vec![Play::say("Never whole.").silent_after(3)]);
        let provider = Desk::before(&server).provider(dialect);
        let (history, tools) = (objective(), tools());
        let hung_up = async {
            let asked = question(&history, &tools);
            let mut pending = provider.reply(&asked);
            while server.requests().is_empty() {
                tokio::select! {
                    reply = &mut pending => panic!("{reply:?}"),
                    () = tokio::task::yield_now() => {}
                }
            }
            assert_eq!(server.open_connections(), 1);
            drop(pending);
            // The runtime goes on, as the agent's does.
            while server.open_connections() > 0 {
                tokio::task::yield_now().await;
            }
        };
        let in_time = on_runtime(async { tokio::time::timeout(PATIENCE, hung_up).await });
        assert!(in_time.is_ok(), "{dialect:?}: the connection stays open");
    }
}
