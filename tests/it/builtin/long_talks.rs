//! A history that no longer fits: it is summed up, and the work goes on.

use super::{BOTH, done};
use crate::support::model_server::{ModelServer, Play, Request};
use serde_json::json;

const OBJECTIVE: &str = "Count the words of all forty chapters.";

fn is_summary(request: &Request) -> bool {
    request.body.to_string().contains("Sum up") || request.body.get("tools").is_none()
}

#[test]
fn a_history_past_the_window_is_summed_up_and_goes_on() {
    for dialect in BOTH {
        let server = ModelServer::answering(|number, request| match number {
            _ if is_summary(request) => Play::say("Chapters so far were read; none was empty."),
            40.. => done("All forty are counted."),
            _ => {
                let command =
                    format!("echo chapter {number}; head -c 3000 /dev/zero | tr '\\0' 'w'");
                Play::call("bash", json!({ "command": command }))
            }
        });
        let site = dialect.site(&server, "context_window = 12000\nmax_output_tokens = 500");
        let ran = site.ralphd(&["run", OBJECTIVE]);
        assert_eq!(ran.code, Some(0), "{dialect:?} {ran:?}");
        let requests = server.requests();
        let summaries = requests
            .iter()
            .filter(|request| is_summary(request))
            .count();
        assert!(summaries >= 2, "{summaries}");
        for request in &requests {
            let bytes = request.body.to_string().len();
            assert!(bytes < 12_000 * 4, "{bytes}");
            assert!(request.body.to_string().contains(OBJECTIVE));
        }
        let last = requests.last().unwrap().body.to_string();
        assert!(
            last.contains("none was empty"),
            "the summary is in it: {last}"
        );
        assert_eq!(site.count("SELECT count(*) FROM iterations"), 1);
        let compacted = "SELECT count(*) FROM steps";
        assert_eq!(site.count(compacted), requests.len() as i64);
    }
}

#[test]
fn a_server_with_a_smaller_window_than_was_said_is_believed() {
    for dialect in BOTH {
        let server = ModelServer::answering(move |number, request| {
            let bytes = request.body.to_string().len();
            match number {
                _ if is_summary(request) => Play::say("Some chapters were read."),
                _ if bytes > 20_000 => Play::refuse(
                    400,
                    "invalid_request_error",
                    "prompt is too long: 9000 tokens > 5000 maximum",
                ),
                30.. => done("Counted."),
                _ => {
                    let command = format!("echo {number}; head -c 2000 /dev/zero | tr '\\0' 'w'");
                    Play::call("bash", json!({ "command": command }))
                }
            }
        });
        let site = dialect.site(&server, "");
        let ran = site.ralphd(&["run", OBJECTIVE]);
        assert_eq!(ran.code, Some(0), "{dialect:?} {ran:?}");
        assert_eq!(site.count("SELECT count(*) FROM iterations"), 1);
    }
}

#[test]
fn an_objective_that_never_fits_says_what_to_do() {
    for dialect in BOTH {
        let server = ModelServer::answering(|_, _| done("Never asked."));
        let site = dialect.site(&server, "context_window = 1000");
        let ran = site.ralphd(&["run", &"many words ".repeat(1_000), "--max-iterations", "1"]);
        assert_ne!(ran.code, Some(0));
        let detail: String = site
            .cell("SELECT failure_detail FROM iterations", [])
            .unwrap();
        assert!(detail.contains("context_window"), "{detail}");
        assert_eq!(server.requests().len(), 0);
    }
}
