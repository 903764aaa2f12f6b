//! Webhooks as users configure them, right and wrong.

use super::*;
use crate::model::webhook::Scheme;

const GOOD: &str = "[hooks.h]
verify = 'github'
secret_env = 'S'
request = { objective = 'Look at {{ payload.x }}' }
";

#[test]
fn a_hook_is_read() {
    let config = read(GOOD, &[]).unwrap();
    let hook = &config.hooks["h"];
    assert_eq!((hook.verify, hook.max_bytes), (Scheme::Github, 1_048_576));
    assert_eq!(hook.secret_env, ["S"]);
    assert_eq!(config.secret_names(), ["S"]);
    let several = GOOD.replace("'S'", "['S', 'OLD']") + "secret_file = 'h.secret'\n";
    let several = several.replace("secret_file", "[hooks.i]\nverify = 'standard'\nsecret_file")
        + "request = { objective = 'x', workspace = { session = 'i-{{ payload.n }}' } }";
    let config = read(&several, &[]).unwrap();
    assert_eq!(config.hooks["h"].secret_env, ["S", "OLD"]);
    assert_eq!(config.hooks["i"].secret_file, [Path::new("h.secret")]);
}

#[test]
fn what_is_wrong_with_a_hook_names_its_key_and_line() {
    for (from, to, expected) in [
        (
            "verify = 'github'",
            "verify = 'gitlab'",
            "2: hooks.h.verify: must be \"bearer\" or \"github\" or \"standard\" or \"none\", is \"gitlab\"",
        ),
        ("verify = 'github'\n", "", "1: hooks.h.verify: missing"),
        (
            "secret_env = 'S'\n",
            "",
            "1: hooks.h.secret_env: is missing: name the variable that holds the secret",
        ),
        (
            "secret_env = 'S'",
            "secret_env = []",
            "1: hooks.h.secret_env: is missing",
        ),
        (
            "verify = 'github'",
            "verify = 'none'",
            "3: hooks.h.secret_env: would not be used with verify = \"none\"",
        ),
        (
            "secret_env",
            "secret_en",
            "3: hooks.h.secret_en: unknown key; did you mean secret_env?",
        ),
        (
            "request = {",
            "filter = 'payload.a =='\nrequest = {",
            "4: hooks.h.filter: is no template",
        ),
        (
            "request = {",
            "dedupe = '{{ paylod }}'\nrequest = {",
            "4: hooks.h.dedupe: there is no value paylod; a template has payload and headers",
        ),
        (
            "{{ payload.x }}",
            "{{ payload.x",
            "4: hooks.h.request.objective: is no template",
        ),
        (
            "objective =",
            "objectiv =",
            "4: hooks.h.request.objectiv: unknown key; did you mean objective?",
        ),
        ("objective =", "agent = 'nobody', objective =", ""),
        (
            "objective =",
            "max_iterations = 0, objective =",
            "4: hooks.h.request.max_iterations: must be between 1 and 1000000, is 0",
        ),
        (
            "objective =",
            "labels = { a = '{{ x }}' }, objective =",
            "4: hooks.h.request.labels.a: there is no value x",
        ),
        (
            "objective =",
            "workspace = { session = '{{ payload.x }}' }, objective =",
            "4: hooks.h.request.workspace.session: must begin with a word of your own",
        ),
    ] {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD);
        match read(&text, &[]) {
            Ok(_) => assert_eq!(expected, "", "accepted: {text}"),
            Err(error) => {
                let said = error.to_string();
                assert!(!expected.is_empty() && said.contains(expected), "{said}");
            }
        }
    }
    let known = format!("[agents.a]\npreset = 'claude'\n{GOOD}");
    let unknown = known.replace("objective =", "agent = 'b', objective =");
    let said = read(&unknown, &[]).unwrap_err().to_string();
    assert!(
        said.contains("hooks.h.request.agent: there is no agent b"),
        "{said}"
    );
}

#[test]
fn what_is_sent_decides_nothing_that_gives_power() {
    for key in [
        "agent = 'X'",
        "verify = 'X'",
        "completion_promise = 'X'",
        "promise_match = 'X'",
        "plan = 'X'",
        "callback_url = 'X'",
        "protect = ['X']",
        "env = ['X']",
        "notify = ['X']",
        "datasets = ['X']",
        "inputs = { a = 'X' }",
        "max_iterations = 'X'",
        "autonomy = 'X'",
        "priority = 'X'",
        "not_before = 'X'",
        "iteration_timeout = 'X'",
        "silence_timeout = 'X'",
        "human_timeout = 'X'",
        "stagnation_threshold = 'X'",
        "max_parallel = 'X'",
        "budget = { usd = 'X' }",
        "budget = { wall = 'X' }",
        "workspace = { repo = 'X' }",
        "workspace = { ref = 'X' }",
    ] {
        let key = key.replace('X', "{{ payload.x }}");
        let text = GOOD.replace("objective =", &format!("{key}, objective ="));
        let said = read(&text, &[]).unwrap_err().to_string();
        assert!(
            said.contains("must not be a template: what is sent may not decide it"),
            "{said}"
        );
    }
}
