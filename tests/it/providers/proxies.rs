//! Proxies by the usual variables. They belong to a process, so each case is this test binary once more, with an environment of its own.

use super::{Desk, objective};
use crate::support::model_server::{ModelServer, Play};
use ralphd::agent::provider::Dialect;
use std::process::Command;
use std::time::Duration;

const BASE: &str = "RALPHD_TEST_BASE_URL";
/// An address of examples: nobody answers there.
const FAR: &str = "http://192.0.2.1/v1";
const DEAD_PROXY: &str = "http://127.0.0.1:9";

/// What the child does: asks the address that it is given. Without one this is no case of its own.
#[test]
fn asks_the_given_address() {
    let Ok(base) = std::env::var(BASE) else {
        return;
    };
    let mut desk = Desk::at(base);
    desk.endpoint.patience.retries = 0;
    desk.endpoint.connect_timeout = Duration::from_secs(2);
    let reply = desk.ask(Dialect::OpenAi, &objective());
    assert_eq!(reply.unwrap().text, "Through.");
}

fn goes_through(base: &str, variables: &[(&str, &str)]) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        child.env_remove(name).env_remove(name.to_lowercase());
    }
    let ran = child
        .args(["providers::proxies::asks_the_given_address", "--exact"])
        .env(BASE, base)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    ran.status.success()
}

fn server() -> ModelServer {
    ModelServer::answering(|_, _| Play::say("Through."))
}

#[test]
fn a_proxy_is_asked_for_what_is_far_away() {
    let proxy = server();
    let url = proxy.url();
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        assert!(goes_through(FAR, &[(name, &url)]), "{name}");
    }
    assert_eq!(proxy.requests()[0].header("host"), Some("192.0.2.1"));
    let asked = proxy.requests().len();
    assert!(!goes_through(
        FAR,
        &[("HTTP_PROXY", &url), ("NO_PROXY", "192.0.2.1")]
    ));
    assert_eq!(proxy.requests().len(), asked);
}

#[test]
fn what_is_near_goes_through_no_proxy() {
    let server = server();
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        assert!(goes_through(&server.url(), &[(name, DEAD_PROXY)]), "{name}");
    }
    assert!(!goes_through(FAR, &[("ALL_PROXY", DEAD_PROXY)]));
}
