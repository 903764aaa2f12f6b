//! Requests as users write them, right and wrong.

use super::*;

pub(super) const EVERY_KEY: &str = "---
agent: claude                  # a name from [agents]
max_iterations: 20
completion_promise: ALL GREEN
promise_match: contains
verify: cargo test --quiet
protect: [ tests/**, verify.sh ]
budget: { usd: 5.0, tokens: 2000000, wall: 8h, tool_calls: 500 }
plan: auto
inputs: { region: East }
autonomy: 4
workspace: { session: refactor-auth, repo: ../myrepo, ref: main, collaboration: sequential }
datasets: [ customers.csv, orders.xlsx ]
priority: 0
not_before: 2026-11-20T02:00:00Z
labels: { team: infra }
notify: [ ops ]
callback_url: http://127.0.0.1:9000/done
iteration_timeout: 1h30m
silence_timeout: 10m
stagnation_threshold: 5
human_timeout: 7d
max_parallel: 2
env: [ PATH, HOME ]
idempotency_key: nightly-1
---

Refactor the auth module.

It is old.
";

fn problems(text: &str) -> String {
    let outcome = if text.starts_with('{') {
        Request::from_json(text)
    } else {
        Request::from_markdown(text)
    };
    match outcome {
        Ok(request) => panic!("accepted: {text}\n{request:?}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn every_key_is_read() {
    let request = Request::from_markdown(EVERY_KEY).unwrap();
    let json = serde_json::to_value(&request).unwrap();
    let properties = schema();
    for key in properties["properties"].as_object().unwrap().keys() {
        assert!(json.get(key).is_some(), "{key} is not in the example");
    }
    assert_eq!(request.objective, "Refactor the auth module.\n\nIt is old.");
    assert_eq!(request.completion_promise.as_deref(), Some("ALL GREEN"));
    assert_eq!(request.promise_match, Some(PromiseMatch::Contains));
    assert_eq!(request.protect, ["tests/**", "verify.sh"]);
    assert_eq!(request.iteration_timeout, Some(Period::from_mins(90)));
    assert_eq!(
        request.budget.as_ref().unwrap().wall,
        Some(Period::from_hours(8))
    );
    assert_eq!(
        request.not_before.unwrap().to_string(),
        "2026-11-20T02:00:00Z"
    );
    assert_eq!(request.labels["team"], "infra");
    assert_eq!(request.validate(), Ok(()));
    assert_eq!(Request::from_json(&json.to_string()), Ok(request));
}

#[test]
fn the_objective_is_found() {
    for (text, objective) in [
        ("Do it.", "Do it."),
        ("\u{feff}Do it.\r\nNow.\r\n", "Do it.\nNow."),
        ("---\n---\nDo it.", "Do it."),
        (
            "---  \nagent: a\n...\nDo it.\n---\nrule",
            "Do it.\n---\nrule",
        ),
        ("\u{feff}---\r\nagent: a\r\n---\r\n\r\nDo it.\r\n", "Do it."),
        ("\n\n---\nagent: a\n---\nDo it.", "Do it."),
        ("---\n# nothing but a comment\n---\nDo it.", "Do it."),
        ("---\nobjective: Do it.\n---\n \n", "Do it."),
        (
            "---\nobjective: |\n  Do it.\n  Now.\n---\n",
            "Do it.\nNow.\n",
        ),
        ("Title\n---\nDo it.", "Title\n---\nDo it."),
        ("---- \nDo it.", "---- \nDo it."),
    ] {
        let request = Request::from_markdown(text).unwrap();
        assert_eq!(request.objective, objective, "{text:?}");
    }
}

#[test]
fn what_looks_like_truth_values_in_old_yaml_is_text() {
    for word in [
        "yes", "NO", "on", "Off", "y", "'true'", "\"5\"", "!!str 5", "0x",
    ] {
        let text = format!("---\ncompletion_promise: {word}\n---\nDo it.");
        let request = Request::from_markdown(&text).unwrap();
        let expected = word.trim_start_matches("!!str ").trim_matches(['\'', '"']);
        assert_eq!(request.completion_promise.as_deref(), Some(expected));
    }
}

#[test]
fn empty_values_are_not_given_and_anchors_are_harmless() {
    let text = "---\nagent:\nverify: ~\nprotect: &list [a, b]\ndatasets: *list\n---\nDo it.";
    let request = Request::from_markdown(text).unwrap();
    assert_eq!((request.agent, request.verify), (None, None));
    assert_eq!(request.datasets, ["a", "b"]);
    let request = Request::from_json(r#"{"objective": "x", "agent": null}"#).unwrap();
    assert_eq!(request.agent, None);
}

#[test]
fn problems_name_line_key_and_remedy() {
    for (text, expected) in [
        ("", "objective: missing"),
        ("---\nagent: a\n---\n\n", "objective: missing"),
        (
            "---\nmax_iteration: 5\n---\nx",
            "line 2, max_iteration: unknown key; did you mean max_iterations?",
        ),
        (
            "\n---\r\nagent: a\r\nbudget:\r\n  usdd: 5\r\n---\r\nx",
            "line 5, budget.usdd: unknown key; did you mean usd?",
        ),
        (
            "---\nbudget: { colour: 5 }\n---\nx",
            "line 2, budget.colour: unknown key; known: usd, tokens, wall, tool_calls",
        ),
        (
            "---\nmax_iterations: \"5\"\n---\nx",
            "line 2, max_iterations: must be a whole number, is text \"5\"; write it without quotes",
        ),
        (
            "---\nmax_iterations: 0\n---\nx",
            "line 2, max_iterations: must be between 1 and 1000000, is 0",
        ),
        (
            "---\nmax_iterations: 2.5\n---\nx",
            "line 2, max_iterations: must be a whole number, is the number 2.5",
        ),
        (
            "---\ncompletion_promise: true\n---\nx",
            "line 2, completion_promise: must be text, is true; put it in quotes",
        ),
        (
            "---\ncompletion_promise: 42\n---\nx",
            "line 2, completion_promise: must be text, is the number 42; put it in quotes",
        ),
        (
            "---\ncompletion_promise: ' '\n---\nx",
            "line 2, completion_promise: must not be blank",
        ),
        (
            "---\ncompletion_promise: \"a\\nb\"\n---\nx",
            "line 2, completion_promise: must be a single line",
        ),
        (
            "---\npromise_match: loose\n---\nx",
            "line 2, promise_match: must be \"line\" or \"contains\", is \"loose\"",
        ),
        (
            "---\niteration_timeout: 90\n---\nx",
            "line 2, iteration_timeout: must be a duration such as 90s, 30m, 8h or 7d, is the number 90",
        ),
        (
            "---\nbudget: { wall: 0s }\n---\nx",
            "line 2, budget.wall: must be more than 0s, is \"0s\"",
        ),
        (
            "---\nbudget: { usd: -1 }\n---\nx",
            "line 2, budget.usd: must be more than 0 and at most 1000000000, is -1",
        ),
        (
            "---\nbudget: { usd: .inf }\n---\nx",
            "line 2, budget.usd: must be more than 0 and at most 1000000000, is inf",
        ),
        (
            "---\nbudget: 5\n---\nx",
            "line 2, budget: must be a table of keys, is the number 5",
        ),
        (
            "---\nautonomy: 6\n---\nx",
            "line 2, autonomy: must be between 1 and 5, is 6",
        ),
        (
            "---\nnot_before: tomorrow\n---\nx",
            "line 2, not_before: must be a time with its offset such as 2026-11-20T02:00:00Z, is \"tomorrow\"",
        ),
        (
            "---\nenv: [A=1]\n---\nx",
            "line 2, env[0]: must be the name of an environment variable (letters, digits and '_', no value), is \"A=1\"",
        ),
        (
            "---\nprotect:\n  - ok\n  - '['\n---\nx",
            "line 4, protect[1]: must be a glob: \"[\": unclosed character class; missing ']'",
        ),
        (
            "---\nlabels: { a b: c }\n---\nx",
            "line 2, labels.a b: a label's name has at most 100 letters, digits, '.', '_', '-' and '/', and starts with a letter or digit",
        ),
        (
            "---\nlabels: { version: 1.0 }\n---\nx",
            "line 2, labels.version: must be text, is the number 1; put it in quotes",
        ),
        (
            "---\ncallback_url: ftp://x\n---\nx",
            "line 2, callback_url: must be an http:// or https:// address, is \"ftp://x\"",
        ),
        (
            "---\nworkspace: { ref: --all }\n---\nx",
            "line 2, workspace.ref: must not start with '-', is \"--all\"",
        ),
        (
            "---\nagent: a",
            "line 1: the front matter that --- opens is never closed; end it with a line ---, or leave out the first --- if the file is only an objective",
        ),
        (
            "---\n- a\n---\nx",
            "line 2: the front matter must be lines of `key: value`, is a list",
        ),
        (
            "---\nobjective: a\n---\n\nb",
            "line 5, objective: given twice, first on line 2",
        ),
        (
            "{\"objective\": \"x\",\n\"budget\": {\"usd\": 1,\n\"usd\": 2}}",
            "line 3, budget.usd: given twice, first on line 2",
        ),
        (
            "{\"objective\": \"x\",\n\"priority\": 1e3}",
            "line 2, priority: must be a whole number, is the number 1000",
        ),
        (
            "{\"objective\": \"\"}",
            "line 1, objective: must not be blank",
        ),
        (
            "{\"objective\": null}",
            "line 1, objective: must be text, is empty",
        ),
        ("{}", "line 1, objective: missing"),
        (
            "{\"objective\":\n}",
            "line 2: not valid JSON: expected value (column 1)",
        ),
    ] {
        assert_eq!(problems(text), expected, "{text}");
    }
}

#[test]
fn yaml_of_no_use_is_refused_with_its_line() {
    for (front_matter, line, part) in [
        (
            "agent: a\nbudget:\n  usd: 1\n  usd: 2",
            5,
            "usd: given twice",
        ),
        ("agent: a\nagent: b", 3, "agent: given twice"),
        ("agent: [", 2, "not valid YAML"),
        ("a: b\n\tc: d", 2, "found a tab (column 4)"),
        ("agent: *nowhere", 2, "not valid YAML"),
        (
            "budget: &b { usd: 1 }\nworkspace:\n  <<: *b",
            4,
            "not valid YAML",
        ),
        ("agent: !secret x", 2, "not valid YAML"),
        ("1: a", 2, "1: unknown key"),
        ("? [a]\n: b", 2, "not valid YAML"),
    ] {
        let text = format!("---\n{front_matter}\n---\nDo it.");
        let found = problems(&text);
        assert!(found.contains(part), "{front_matter}: {found}");
        assert!(
            found.starts_with(&format!("line {line}")),
            "{front_matter}: {found}"
        );
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn several_problems_come_at_once() {
    let text =
        "---\nmax_iteration: 5\nautonomy: 9\nbudget:\n  wall: 8\n  tokenz: 3\nenv: [9, ok]\n---\nx";
    let found = Request::from_markdown(text).unwrap_err();
    let lines: Vec<_> = found.iter().map(|problem| problem.line).collect();
    assert_eq!(
        lines,
        [Some(2), Some(3), Some(5), Some(6), Some(7)],
        "{found}"
    );
}

#[test]
fn bombs_and_depths_are_refused() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let wide = format!(
        "a: &a [{}]\nb: [{}]",
        "x, ".repeat(500),
        "*a, ".repeat(5_000)
    );
    let anchors: String = (0..500)
        .map(|number| format!("a{number}: &a{number} x\n"))
        .collect();
    let blocks: String = (0..300)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for front_matter in [
        laughs,
        wide,
        anchors,
        blocks,
        format!("a: {}", "[".repeat(30_000)),
        format!("a: {}", "{a: ".repeat(10_000)),
        format!("a: {}{}", "[".repeat(200), "]".repeat(200)),
        "x, ".repeat(30_000),
    ] {
        let found = problems(&format!("---\n{front_matter}\n---\nDo it."));
        assert!(found.starts_with("line "), "{found}");
        assert!(found.len() < 500, "{found}");
    }
    problems(&format!("{{\"objective\": {}", "[".repeat(100_000)));
}

#[test]
fn a_request_made_by_a_program_is_validated() {
    let good = Request {
        objective: "x".into(),
        ..Request::default()
    };
    assert_eq!(good.validate(), Ok(()));
    let name = |session: &str| {
        Some(Workspace {
            session: Some(session.into()),
            ..Workspace::default()
        })
    };
    let budget = |usd: f64| {
        Some(Budget {
            usd: Some(usd),
            ..Budget::default()
        })
    };
    for (request, key) in [
        (Request::default(), "objective"),
        (
            Request {
                verify: Some(" ".into()),
                ..good.clone()
            },
            "verify",
        ),
        (
            Request {
                workspace: name("../x"),
                ..good.clone()
            },
            "workspace.session",
        ),
        (
            Request {
                budget: budget(f64::NAN),
                ..good.clone()
            },
            "budget.usd",
        ),
        (
            Request {
                budget: budget(0.0),
                ..good.clone()
            },
            "budget.usd",
        ),
        (
            Request {
                max_parallel: Some(0),
                ..good.clone()
            },
            "max_parallel",
        ),
        (
            Request {
                stagnation_threshold: Some(0),
                ..good.clone()
            },
            "stagnation_threshold",
        ),
        (
            Request {
                human_timeout: Some(Period::default()),
                ..good.clone()
            },
            "human_timeout",
        ),
    ] {
        let found = request.validate().unwrap_err();
        assert_eq!(found.len(), 1, "{found}");
        assert_eq!(found[0].key.as_deref(), Some(key), "{found}");
    }
}

#[test]
fn overlay_prefers_what_was_given() {
    let over =
        Request::from_markdown("---\nlabels: {a: over}\nenv: [A]\nbudget: {usd: 1}\n---\nover")
            .unwrap();
    let under = "---\nlabels: {a: under, b: under}\nenv: [B, C]\nagent: x\nbudget: {usd: 2, tokens: 3}\n---\nunder";
    let laid = over.overlay(&Request::from_markdown(under).unwrap());
    assert_eq!(laid.objective, "over");
    assert_eq!(laid.agent.as_deref(), Some("x"));
    assert_eq!(laid.env, ["A"]);
    assert_eq!(
        (laid.labels["a"].as_str(), laid.labels["b"].as_str()),
        ("over", "under")
    );
    let budget = laid.budget.unwrap();
    assert_eq!((budget.usd, budget.tokens), (Some(1.0), Some(3)));
}

#[test]
fn the_schema_is_wholly_understood() {
    crate::model::document::shape::tests::assert_checkable(&schema());
    assert_eq!(schema()["required"], serde_json::json!(["objective"]));
    assert!(schema()["properties"]["verify"]["description"].is_string());
}
