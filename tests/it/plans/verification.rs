//! The request's `verify` over a whole plan: believed, refuted, or standing on files that were changed.

use super::stage::{Stage, plan, shell};
use serde_json::json;

#[test]
fn a_plan_is_verified_as_a_whole() {
    let stage = Stage::open();
    stage
        .case("holds")
        .front("verify: test -e made")
        .plan(json!([shell(1, &[], "touch made")]))
        .submit();
    stage
        .case("mended")
        .front("verify: \"echo where is it; test -e made\"")
        .says("planner.1", &plan(json!([shell(1, &[], "true")])))
        .says("planner.2", &plan(json!([shell(2, &[1], "touch made")])))
        .submit();
    let useless = |order: u32| plan(json!([shell(order, &[], "true")]));
    stage
        .case("never")
        .front("verify: \"echo where is it; false\"")
        .says("planner.1", &useless(1))
        .says("planner.2", &useless(2))
        .says("planner.3", &useless(3))
        .submit();
    stage
        .case("tampered")
        .front(&kept(&stage, "tampered", 4))
        .plan(json!([shell(1, &[], "touch made; echo weaker >>x.test")]))
        .submit();
    let ended = ["holds", "mended", "never", "tampered"].map(|name| stage.ended(name));
    let endings = ended.each_ref().map(|session| {
        (
            session.status.as_str(),
            session.verified.as_deref().unwrap_or("-"),
        )
    });
    assert_eq!(
        endings,
        [
            ("completed", "verified"),
            ("completed", "verified"),
            ("failed", "-"),
            ("completed", "tampered")
        ],
        "{ended:?}"
    );
    let prompt = stage.left("mended", "planner.2.prompt");
    assert!(
        prompt.contains("where is it") && prompt.contains("Begin with 2"),
        "{prompt}"
    );
    assert_eq!(stage.states(&ended[1]), "completed completed");
    assert_eq!(ended[2].end_reason.as_deref(), Some("task_failed"));
    assert_eq!(stage.turns("never", "planner"), 3);
    assert!(
        ended[2]
            .end_detail
            .as_deref()
            .unwrap()
            .contains("where is it"),
        "{:?}",
        ended[2]
    );
}

/// A workspace that is there already, with a check in it.
fn kept(stage: &Stage, name: &str, autonomy: u8) -> String {
    let place = stage.state().join("workspaces/session").join(name);
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("x.test"), "strong").unwrap();
    format!(
        "verify: test -e made\nprotect: [\"*.test\"]\nautonomy: {autonomy}\nworkspace: {{ session: {name} }}"
    )
}

#[test]
fn changed_checks_are_put_to_a_person() {
    let stage = Stage::open();
    for (name, answer, verified) in [
        ("accepted", "accept", "tampered"),
        ("restored", "put it back", "verified"),
    ] {
        stage
            .case(name)
            .front(&kept(&stage, name, 3))
            .says(
                "planner.1",
                &plan(json!([shell(1, &[], "touch made; echo weak >x.test")])),
            )
            .says(
                "planner.2",
                &plan(json!([shell(2, &[], "printf strong >x.test")])),
            )
            .submit();
        let waiting = stage.in_state(name, "awaiting_human");
        assert!(
            waiting.human_context.as_deref().unwrap().contains("x.test"),
            "{waiting:?}"
        );
        stage.ralphd(&["answer", &waiting.id, answer]).done();
        let session = stage.ended(name);
        assert_eq!(
            (session.status.as_str(), session.verified.as_deref()),
            ("completed", Some(verified)),
            "{session:?}"
        );
    }
    let prompt = stage.left("restored", "planner.2.prompt");
    assert!(prompt.contains("put it back"), "{prompt}");
}
