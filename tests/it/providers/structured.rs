//! Answers of a schema: held to it by the server where it can, checked here in any case, asked for again with what was wrong.

use super::{DIALECTS, Desk, objective, on_runtime};
use crate::support::model_server::{ModelServer, Play};
use ralphd::agent::provider::structured::ask;
use ralphd::agent::provider::{Dialect, Question};
use ralphd::model::conversation::StepUsage;
use ralphd::model::failure::{Failure, FailureClass};
use serde_json::{Value as Json, json};

fn schema() -> Json {
    let verdict = json!({ "type": "string", "enum": ["yes", "no"] });
    json!({
        "type": "object",
        "properties": { "verdict": verdict },
        "required": ["verdict"],
        "additionalProperties": false,
    })
}

/// An answer as the model of each dialect gives it.
fn answer(dialect: Dialect, text: &str) -> Play {
    match dialect {
        Dialect::Anthropic => Play::call("answer", json!(text)),
        Dialect::OpenAi => Play::say(text),
    }
}

fn asked(dialect: Dialect, server: &ModelServer) -> (Result<Json, Failure>, Vec<StepUsage>) {
    let provider = Desk::before(server).provider(dialect);
    let (history, schema) = (objective(), schema());
    let question = Question {
        system: "Judge.",
        history: &history,
        tools: &[],
        schema: Some(&schema),
        max_output_tokens: 100,
    };
    on_runtime(ask(provider.as_ref(), &question))
}

#[test]
fn a_good_answer_is_taken() {
    for dialect in DIALECTS {
        let server = ModelServer::scripted(vec![answer(dialect, r#"{"verdict":"yes"}"#)]);
        let (answer, used) = asked(dialect, &server);
        assert_eq!(answer.unwrap(), json!({ "verdict": "yes" }));
        assert_eq!(used.len(), 1);
        let body = &server.requests()[0].body;
        let sent = match dialect {
            Dialect::Anthropic => &body["tools"][0]["input_schema"],
            Dialect::OpenAi => &body["response_format"]["json_schema"]["schema"],
        };
        assert_eq!(*sent, schema());
    }
}

#[test]
fn a_bad_answer_is_told_what_is_wrong() {
    for dialect in DIALECTS {
        let server = ModelServer::scripted(vec![
            Play::say("Well, yes."),
            answer(dialect, r#"{"verdict":"perhaps"}"#),
            Play::say("```json\n{\"verdict\": \"no\"}\n```"),
        ]);
        let (answer, used) = asked(dialect, &server);
        assert_eq!(answer.unwrap(), json!({ "verdict": "no" }));
        assert_eq!(used.len(), 3);
        let sent = server.requests()[2].body["messages"].to_string();
        assert!(sent.contains("there is no JSON document in it"), "{sent}");
        assert!(sent.contains("verdict: must be"), "{sent}");
    }
}

#[test]
fn after_three_bad_answers_it_fails_and_all_is_counted() {
    for dialect in DIALECTS {
        let server = ModelServer::answering(|_, _| Play::say("Well."));
        let (answer, used) = asked(dialect, &server);
        let failure = answer.unwrap_err();
        assert_eq!(failure.class, FailureClass::Other);
        assert!(failure.detail.contains("no JSON document"), "{failure:?}");
        assert_eq!((used.len(), server.requests().len()), (3, 3));
    }
}

#[test]
fn a_server_that_knows_no_response_format_is_told_in_words() {
    // The second is what a real server says.
    for (status, message) in [
        (400, "Unknown field: response_format"),
        (
            500,
            "1 validation error: 'loc': ('body', 'response_format', 'type')",
        ),
    ] {
        let server =
            ModelServer::answering(
                move |_, request| match request.body.get("response_format") {
                    Some(_) => Play::refuse(status, "internal_server_error", message),
                    None => Play::say(r#"{"verdict":"yes"}"#),
                },
            );
        let (answer, used) = asked(Dialect::OpenAi, &server);
        assert_eq!(answer.unwrap(), json!({ "verdict": "yes" }));
        assert_eq!((used.len(), server.requests().len()), (1, 2));
        let system = &server.requests()[1].body["messages"][0]["content"];
        assert!(system.as_str().unwrap().contains("\"verdict\""), "{system}");
    }
}

#[test]
fn a_refusal_is_not_asked_again() {
    for (dialect, reason) in [
        (Dialect::Anthropic, "refusal"),
        (Dialect::OpenAi, "content_filter"),
    ] {
        let server = ModelServer::scripted(vec![Play::say("I will not.").stopped_by(reason)]);
        let (answer, _) = asked(dialect, &server);
        assert_eq!(answer.unwrap_err().class, FailureClass::Refusal);
    }
}
