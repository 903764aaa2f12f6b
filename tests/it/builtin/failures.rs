//! A model's server that fails in all the ways servers do.

use super::{BOTH, Dialect, done};
use crate::support::model_server::{ModelServer, Play, Tokens};
use crate::support::{Daemon, wait_for};
use serde_json::json;

/// The session completes in one iteration although the first answer went wrong like this.
fn survives(what: &str, fault: impl Fn(Dialect) -> Play) {
    for dialect in BOTH {
        let server = ModelServer::scripted(vec![
            Play::call("bash", json!({"command": "echo once >> log"})),
            fault(dialect),
            Play::call("bash", json!({"command": "wc -l < log"})),
            done("The answer is 42."),
        ]);
        let site = dialect.site(&server, "");
        let ran = site.ralphd(&["run", "Think."]);
        assert_eq!(ran.code, Some(0), "{what} {dialect:?}: {ran:?}");
        assert_eq!(
            ran.stdout.matches("The answer is 42.").count(),
            1,
            "{ran:?}"
        );
        assert_eq!(server.requests().len(), 4, "{what} {dialect:?}");
        assert_eq!(site.count("SELECT count(*) FROM iterations"), 1, "{what}");
        let counted: Vec<String> = site.column(
            "SELECT result FROM tool_calls WHERE arguments LIKE '%wc%'",
            [],
        );
        assert!(
            counted[0].contains('1'),
            "{what}: the first call ran once: {counted:?}"
        );
    }
}

#[test]
fn too_many_requests_are_waited_out() {
    survives("429", |_| {
        Play::refuse(429, "rate_limit_error", "slow down").header("retry-after", "1")
    });
}

#[test]
fn an_overloaded_server_is_asked_again() {
    survives("529", |_| {
        Play::refuse(529, "overloaded_error", "Overloaded")
    });
}

#[test]
fn a_server_error_is_asked_again() {
    survives("500", |_| {
        Play::document(500, "<html>Internal Server Error</html>")
    });
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again_and_nothing_is_said_twice() {
    survives("cut", |dialect| {
        // In the middle of the text, as each dialect writes it.
        done("The answer is 42.").cut_after(match dialect {
            Dialect::Anthropic => 4,
            Dialect::Openai => 2,
        })
    });
}

/// This dialect tells at the start of a reply what it has taken in.
#[test]
fn a_reply_that_breaks_off_is_paid_too() {
    let same = Tokens::of(7);
    let server = ModelServer::scripted(vec![
        done("The answer is 42.").costing(same).cut_after(4),
        done("The answer is 42.").costing(same),
    ]);
    let site = Dialect::Anthropic.site(&server, "");
    site.ralphd(&["run", "Think."]).done();
    assert_eq!(server.requests().len(), 2);
    assert_eq!(site.count("SELECT count(*) FROM steps"), 1);
    let twice = "SELECT 2 * (SELECT input_tokens FROM steps) - (SELECT input_tokens FROM sessions)";
    assert_eq!(site.count(twice), 0);
}

#[test]
fn a_stream_that_ends_too_early_is_asked_for_again() {
    survives("short", |_| done("The answer is 42.").ended_after(3));
}

#[test]
fn a_stream_of_broken_json_is_asked_for_again() {
    survives("malformed", |_| done("The answer is 42.").spoilt_after(2));
}

#[test]
fn broken_arguments_are_shown_to_the_model() {
    for dialect in BOTH {
        let broken = json!("{\"command\": \"echo");
        let server = ModelServer::scripted(vec![
            Play::calls("", &[("bash", broken)]),
            Play::call("bash", json!({"command": "echo whole"})),
            done("Now it is right."),
        ]);
        let site = dialect.site(&server, "");
        site.ralphd(&["run", "Go."]).done();
        let told = server.requests()[1].body.to_string();
        assert!(told.contains("not valid JSON"), "{told}");
        let calls: Vec<i64> = site.column("SELECT ok FROM tool_calls ORDER BY id", []);
        assert_eq!(calls, [0, 1]);
    }
}

#[test]
fn a_refused_key_ends_the_session_with_the_servers_own_words() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| {
            Play::refuse(
                401,
                "authentication_error",
                "this key was revoked on Tuesday",
            )
        });
        let site = dialect.site(&server, "");
        let ran = site.ralphd(&["run", "Go."]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let detail: String = site.cell("SELECT end_detail FROM sessions", []).unwrap();
        assert!(
            detail.contains("this key was revoked on Tuesday"),
            "{detail}"
        );
        assert_eq!(server.requests().len(), 1, "it is not tried again");
    }
}

#[test]
fn a_model_that_is_not_there_says_so() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| {
            Play::refuse(404, "not_found_error", "model: played-model")
        });
        let site = dialect.site(&server, "");
        assert_eq!(site.ralphd(&["run", "Go."]).code, Some(1));
        let detail: String = site.cell("SELECT end_detail FROM sessions", []).unwrap();
        assert!(detail.contains("model: played-model"), "{detail}");
    }
}

#[test]
fn a_limit_that_lasts_parks_the_session() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| {
            Play::refuse(429, "rate_limit_error", "come back later").header("retry-after", "3600")
        });
        let daemon = Daemon::start(dialect.site(&server, ""));
        daemon.drop_file("later.md", "Go.");
        let until = "SELECT (parked_until_ms - unixepoch() * 1000) / 60000 FROM tasks WHERE parked_until_ms IS NOT NULL";
        let minutes = wait_for("a parked task", || daemon.cell::<i64>(until, []));
        assert!((55..=70).contains(&minutes), "{minutes}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_server_that_is_down_for_good_ends_the_session() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| Play::refuse(503, "api_error", "maintenance"));
        let site = dialect.site(&server, "");
        let site = site.configure("[queue]\nlease = \"30s\"\n");
        assert_eq!(site.ralphd(&["run", "Go."]).code, Some(1));
        let ending: String = site
            .cell("SELECT end_reason || ': ' || end_detail FROM sessions", [])
            .unwrap();
        assert!(
            ending.starts_with("agent_failed: ") && ending.contains("maintenance"),
            "{ending}"
        );
    }
}
