//! What holds for every request, and for every text that is taken for one.

use proptest::prelude::*;

use super::*;

type FirstKeys = (
    Option<String>,
    Option<u32>,
    Option<String>,
    Option<PromiseMatch>,
    Option<String>,
    Vec<String>,
);

fn first_keys() -> impl Strategy<Value = FirstKeys> {
    let name = "[a-zA-Z0-9_][a-zA-Z0-9._-]{0,20}";
    let line = "\\PC{0,10}[a-zé\"\\\\]\\PC{0,10}";
    (
        proptest::option::of(name),
        proptest::option::of(1..=1_000_000u32),
        proptest::option::of(line),
        proptest::option::of(prop_oneof![
            Just(PromiseMatch::Line),
            Just(PromiseMatch::Contains)
        ]),
        proptest::option::of("[ -~\n]{0,10}[a-z]"),
        proptest::collection::vec("[a-z*/]{1,10}", 0..3),
    )
}

fn budget() -> impl Strategy<Value = Budget> {
    (
        proptest::option::of(1e-9..1e9f64),
        proptest::option::of(1..=1_000_000_000_000_000u64),
        proptest::option::of(1..10_000_000_000u64),
        proptest::option::of(1..=1_000_000_000u64),
    )
        .prop_map(|(usd, tokens, wall, tool_calls)| Budget {
            usd,
            tokens,
            wall: wall.map(Period::from_millis),
            tool_calls,
        })
}

/// Half of the requests have every key, so that none is left out of the properties.
fn request() -> impl Strategy<Value = Request> {
    let every_key = Request::from_markdown(super::tests::EVERY_KEY).unwrap();
    (varied_request(), any::<bool>()).prop_map(move |(request, full)| {
        if full {
            request.overlay(&every_key)
        } else {
            request
        }
    })
}

fn varied_request() -> impl Strategy<Value = Request> {
    let rest = (
        proptest::option::of(-1_000_000..=1_000_000i64),
        proptest::option::of(-300_000_000_000..250_000_000_000i64),
        proptest::collection::btree_map("[a-z][a-z0-9/]{0,8}", "\\PC{0,20}", 0..4),
        proptest::collection::vec("[A-Z_][A-Z0-9_]{0,8}", 0..4),
        proptest::option::of(1..=5u8),
        proptest::option::of("[a-z][a-z.-]{0,9}"),
    );
    (
        "\\PC{0,40}[a-z]\\PC{0,40}",
        first_keys(),
        proptest::option::of(budget()),
        rest,
    )
        .prop_map(|(objective, first, budget, rest)| Request {
            objective,
            agent: first.0,
            max_iterations: first.1,
            completion_promise: first.2,
            promise_match: first.3,
            verify: first.4,
            protect: first.5,
            budget,
            priority: rest.0,
            not_before: rest.1.map(|second| Timestamp::from_second(second).unwrap()),
            labels: rest.2,
            env: rest.3,
            autonomy: rest.4,
            workspace: rest.5.map(|session| Workspace {
                session: Some(session),
                ..Workspace::default()
            }),
            ..Request::default()
        })
}

proptest! {
    #[test]
    fn json_parses_back_equal(request in request()) {
        let text = serde_json::to_string(&request).unwrap();
        prop_assert_eq!(Request::from_json(&text), Ok(request.clone()));
        let pretty = serde_json::to_string_pretty(&request).unwrap();
        prop_assert_eq!(Request::from_json(&pretty), Ok(request));
    }

    #[test]
    fn overlay_with_nothing_changes_nothing(request in request()) {
        let nothing = Request::default();
        prop_assert_eq!(request.clone().overlay(&nothing), request.clone());
        prop_assert_eq!(nothing.overlay(&request), request);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(---\n)?[a-z:\\- \n\\[\\]{}&*!\"'#]{0,80}(\n---\n)?\\PC{0,10}") {
        let _ = Request::from_markdown(&text);
        let _ = Request::from_json(&text);
    }
}
