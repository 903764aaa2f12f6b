//! What fails in passing is asked again without a trace in the answer; what does not comes out with the server's own words.

use super::{DIALECTS, Desk, KEY, objective};
use crate::support::model_server::{ModelServer, Play};
use ralphd::agent::provider::Dialect;
use ralphd::model::failure::FailureClass::{self, *};
use serde_json::json;
use std::time::Duration;

const WORDS: &str = "It is done, all of it.";

/// Plays, then an answer that must come out whole.
fn recovers_from(name: &str, plays: Vec<Play>, change: impl Fn(&mut Desk)) {
    for dialect in DIALECTS {
        let mut script = plays.clone();
        script.push(Play::calls(WORDS, &[("read", json!({ "path": "a" }))]));
        let server = ModelServer::scripted(script);
        let mut desk = Desk::before(&server);
        change(&mut desk);
        let reply = desk
            .ask(dialect, &objective())
            .unwrap_or_else(|failure| panic!("{name}, {dialect:?}: {failure:?}"));
        assert_eq!(reply.text, WORDS, "{name}, {dialect:?}");
        assert_eq!(reply.calls.len(), 1, "{name}, {dialect:?}");
        assert_eq!(server.requests().len(), plays.len() + 1, "{name}");
        let notices = desk.notices();
        assert_eq!(notices.len(), plays.len(), "{name}");
        for pair in notices.windows(2) {
            assert!(pair[1].wait_ms >= 2 * pair[0].wait_ms, "{notices:?}");
        }
    }
}

#[test]
fn passing_refusals() {
    let wait =
        |ms: &str| Play::refuse(429, "rate_limit_error", "slow").header("retry-after-ms", ms);
    recovers_from("429", vec![wait("20"), wait("5")], |_| {});
    let overloaded = Play::refuse(529, "overloaded_error", "Overloaded");
    recovers_from("529", vec![overloaded.clone(), overloaded], |_| {});
    recovers_from("500", vec![Play::document(500, "")], |_| {});
    recovers_from(
        "a proxy's page",
        vec![Play::document(502, "<h1>Bad Gateway</h1>")],
        |_| {},
    );
    recovers_from(
        "408, 409",
        vec![Play::document(408, ""), Play::document(409, "")],
        |_| {},
    );
}

#[test]
fn a_wait_is_never_shorter_than_asked_for() {
    let limited = Play::refuse(429, "rate_limit_error", "slow").header("retry-after-ms", "25");
    let server = ModelServer::scripted(vec![limited, Play::say(WORDS)]);
    let desk = Desk::before(&server);
    desk.ask(DIALECTS[0], &objective()).unwrap();
    let notices = desk.notices();
    assert_eq!(notices[0].wait_ms, 25);
    assert_eq!(notices[0].why, "HTTP 429: slow");
}

#[test]
fn streams_that_break_leave_nothing_behind() {
    // Whatever came before the break: no text twice, no call twice.
    for events in 1..6 {
        let whole = || Play::calls("It is done,", &[("read", json!({ "path": "a" }))]);
        recovers_from("cut", vec![whole().cut_after(events)], |_| {});
        recovers_from("ended", vec![whole().ended_after(events)], |_| {});
        recovers_from("spoilt", vec![whole().spoilt_after(events)], |_| {});
        let failing = whole().failing_after(events, "overloaded_error", "Overloaded");
        recovers_from("failing", vec![failing], |_| {});
    }
}

#[test]
fn a_mute_stream_is_asked_for_as_a_document() {
    // As a real server does whose window is overrun: mute in a stream, clear in a document.
    let server = ModelServer::answering(|_, request| match request.body["stream"] == true {
        true => Play::say("nothing").ended_after(0),
        false => Play::refuse(
            400,
            "context_length_exceeded",
            "maximum context length is 512",
        ),
    });
    let failure = Desk::before(&server)
        .ask(Dialect::OpenAi, &objective())
        .unwrap_err();
    assert_eq!(failure.class, ContextOverflow);
    assert_eq!(server.requests().len(), 2);
    let mute = Play::say("nothing").ended_after(0);
    let server = ModelServer::scripted(vec![mute, Play::say(WORDS)]);
    let desk = Desk::before(&server);
    let reply = desk.ask(Dialect::Anthropic, &objective()).unwrap();
    assert_eq!(reply.text, WORDS);
    assert_eq!(desk.notices().len(), 1);
}

#[test]
fn silence_is_not_waited_out() {
    let short = Duration::from_millis(300);
    recovers_from(
        "silence before the answer",
        vec![Play::say("It is").silent_after(0)],
        |desk| desk.endpoint.first_byte_timeout = short,
    );
    recovers_from(
        "silence in the answer",
        vec![Play::say("It is").silent_after(3)],
        |desk| desk.endpoint.idle_timeout = short,
    );
    let endless = Play::say("It is").silent_after(2);
    recovers_from("the total time", vec![endless], |desk| {
        desk.endpoint.total_timeout = Duration::from_millis(700);
    });
}

fn failure_of(play: &Play) -> Vec<ralphd::model::failure::Failure> {
    let ask = |dialect| {
        let server = ModelServer::scripted(vec![play.clone()]);
        let failure = Desk::before(&server)
            .ask(dialect, &objective())
            .expect_err("a failure");
        assert_eq!(server.requests().len(), 1, "{failure:?}");
        failure
    };
    DIALECTS.map(ask).to_vec()
}

#[test]
fn refusals_say_why_at_once() {
    let table: [(u16, &str, &str, FailureClass); 9] = [
        (
            400,
            "invalid_request_error",
            "temperature: too hot",
            Configuration,
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 9 > 8",
            ContextOverflow,
        ),
        (
            400,
            "context_length_exceeded",
            "This model has a window",
            ContextOverflow,
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low",
            UsageLimit,
        ),
        (401, "authentication_error", "invalid x-api-key", Auth),
        (402, "billing_error", "pay first", UsageLimit),
        (404, "not_found_error", "model: no-such", Configuration),
        (
            413,
            "request_too_large",
            "Request exceeds the maximum size",
            ContextOverflow,
        ),
        (
            429,
            "insufficient_quota",
            "You exceeded your current quota",
            UsageLimit,
        ),
    ];
    for (status, kind, message, class) in table {
        for failure in failure_of(&Play::refuse(status, kind, message)) {
            assert_eq!(failure.class, class, "{message}");
            assert_eq!(failure.detail, format!("HTTP {status}: {message}"));
        }
    }
}

#[test]
fn long_limits_come_out_with_their_end() {
    let limited = Play::refuse(429, "rate_limit_error", "later").header("retry-after", "3600");
    let before_ms = ralphd::clock::now_ms();
    for failure in failure_of(&limited) {
        assert_eq!(failure.class, RateLimit);
        let reset = failure.reset_at_ms.expect("a time");
        assert!(reset >= before_ms + 3_600_000, "{reset}");
    }
    let used_up = Play::refuse(429, "insufficient_quota", "no")
        .header("retry-after", "Fri, 20 Nov 2099 12:00:00 GMT");
    for failure in failure_of(&used_up) {
        assert_eq!(failure.class, UsageLimit);
        assert_eq!(failure.reset_at_ms, Some(4_098_859_200_000));
    }
}

#[test]
fn a_key_that_a_server_repeats_is_masked() {
    let echo = Play::refuse(401, "authentication_error", &format!("no such key: {KEY}"));
    for failure in failure_of(&echo) {
        assert_eq!(failure.detail, "HTTP 401: no such key: [masked]");
    }
    // Where the detail is cut, half of the key would stand.
    let long = format!("{} {KEY}", "x".repeat(279));
    let told = Play::say("It").failing_after(1, "invalid_request_error", &long);
    for play in [Play::refuse(401, "authentication_error", &long), told] {
        for failure in failure_of(&play) {
            assert!(!failure.detail.contains(&KEY[..6]), "{}", failure.detail);
        }
    }
}

#[test]
fn patience_has_an_end() {
    for dialect in DIALECTS {
        let server = ModelServer::answering(|_, _| Play::refuse(500, "api_error", "it broke"));
        let desk = Desk::before(&server);
        let failure = desk.ask(dialect, &objective()).unwrap_err();
        assert_eq!(failure.class, Overloaded);
        assert_eq!(failure.detail, "HTTP 500: it broke (4 tries)");
        assert_eq!(server.requests().len(), 4);
        let waits: Vec<i64> = desk.notices().iter().map(|notice| notice.wait_ms).collect();
        assert_eq!(waits, [1, 2, 4]);
    }
}

#[test]
fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for dialect in DIALECTS {
        let desk = Desk::at(format!("http://{address}"));
        let failure = desk.ask(dialect, &objective()).unwrap_err();
        assert_eq!(failure.class, Network);
        let begin = format!("cannot connect to {address}: ");
        assert!(failure.detail.starts_with(&begin), "{}", failure.detail);
        assert_eq!(desk.notices().len(), 3);
    }
}

#[test]
fn no_key_follows_a_redirection_to_another_server() {
    for dialect in DIALECTS {
        let other = ModelServer::scripted(vec![Play::say("caught")]);
        let target = format!("{}/v1/messages", other.url());
        let server =
            ModelServer::scripted(vec![Play::document(307, "").header("location", &target)]);
        let failure = Desk::before(&server)
            .ask(dialect, &objective())
            .unwrap_err();
        assert_eq!(failure.class, Configuration);
        assert!(failure.detail.contains(&target), "{}", failure.detail);
        assert!(other.requests().is_empty());
        let path = match dialect {
            Dialect::Anthropic => "/v1/messages",
            Dialect::OpenAi => "/v1/chat/completions",
        };
        let moved = Play::document(308, "").header("location", &format!("/moved{path}"));
        let server = ModelServer::scripted(vec![moved, Play::say(WORDS)]);
        let reply = Desk::before(&server).ask(dialect, &objective()).unwrap();
        assert_eq!(reply.text, WORDS);
    }
}
