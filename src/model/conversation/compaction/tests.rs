//! Compaction by examples: what is full, what is kept, what is told.

use super::*;
use crate::model::conversation::{Call, CallResult, Reply};

const WINDOW: Window = Window {
    context_tokens: 10_000,
    compact_at: 0.85,
    protect_tokens: 2_000,
};

/// A step whose reply says `words` and whose one call came to a text of so many bytes.
pub(super) fn step(words: &str, path: &str, result_bytes: usize) -> Step {
    Step {
        reply: Reply {
            text: words.to_owned(),
            calls: vec![Call {
                id: "call".to_owned(),
                name: "read".to_owned(),
                arguments: format!(r#"{{"path":"{path}"}}"#),
            }],
            ..Reply::default()
        },
        results: vec![CallResult {
            call_id: "call".to_owned(),
            text: "r".repeat(result_bytes),
            ok: true,
            ..CallResult::default()
        }],
        remark: None,
    }
}

fn history(steps: Vec<Step>) -> History {
    History {
        objective: "Mend it.".to_owned(),
        summary: None,
        steps,
    }
}

fn numbered(count: usize, result_bytes: usize) -> History {
    let steps =
        (1..=count).map(|n| step(&format!("words {n}"), &format!("file{n}.rs"), result_bytes));
    history(steps.collect())
}

#[test]
fn a_window_is_full_by_the_larger_of_estimate_and_report() {
    let tiny = numbered(1, 30);
    let small = numbered(8, 300);
    let large = numbered(1, 3 * 8_500);
    for (history, fixed, reported, full) in [
        (&small, 0, 0, false),
        (&small, 8_499, 0, true),
        (&small, 0, 8_200, false),
        // The result of 100 tokens came after what was counted.
        (&small, 0, 8_400, true),
        // There is nothing to let go.
        (&tiny, 0, 9_000, false),
        (&large, 0, 0, true),
        (&large, 0, 5, true),
    ] {
        assert_eq!(
            WINDOW.is_full(history, fixed, reported),
            full,
            "{fixed} {reported}"
        );
    }
}

#[test]
fn the_newest_steps_stay_within_what_is_protected() {
    let step_tokens = step_tokens(&numbered(1, 1_500).steps[0]);
    for (protect_tokens, kept) in [
        (0, 0),
        (step_tokens - 1, 0),
        (step_tokens, 1),
        (3 * step_tokens, 3),
        // Half of the room at most, or the next step would fill it again.
        (1_000_000, 5),
    ] {
        let window = Window {
            protect_tokens,
            ..WINDOW
        };
        let history = numbered(20, 1_500);
        let plan = plan(&history, &window, 500, 0).unwrap();
        assert_eq!(20 - plan.let_go, kept, "{protect_tokens}");
    }
}

#[test]
fn a_newest_step_may_take_all_of_the_room_but_not_more() {
    for (result_bytes, kept) in [(3 * 5_000, 1), (3 * 9_000, 0)] {
        let window = Window {
            protect_tokens: 40_000,
            ..WINDOW
        };
        let mut history = numbered(5, 3_000);
        history.steps.push(step("", "large", result_bytes));
        let plan = plan(&history, &window, 0, 0).unwrap();
        assert_eq!(6 - plan.let_go, kept, "{result_bytes}");
    }
}

#[test]
fn not_one_token_is_too_many() {
    let window = Window {
        protect_tokens: 40_000,
        ..WINDOW
    };
    let too_long = "s".repeat(20_000);
    // Somewhere on the way the newest step fits exactly.
    let kept = (6_000..7_000).map(|tokens| {
        let mut before = numbered(3, 9_000);
        before.steps.push(step("", "large", 3 * tokens));
        let plan = plan(&before, &window, 0, 0).unwrap();
        let after = apply(before, &plan, &too_long);
        assert!(!window.is_full(&after, 0, 0), "{tokens}");
        after.steps.len()
    });
    assert_eq!(kept.collect::<std::collections::BTreeSet<_>>().len(), 2);
}

#[test]
fn the_least_room_is_enough_and_one_token_less_is_not() {
    let history = numbered(3, 100);
    let least = least_threshold(&history, 1_000);
    let window = |context_tokens| Window {
        context_tokens,
        compact_at: 1.0,
        protect_tokens: 40_000,
    };
    let plan_within = |tokens| plan(&history, &window(tokens), 1_000, 0);
    let after = apply(
        history.clone(),
        &plan_within(least).unwrap(),
        &"s".repeat(9_000),
    );
    assert!(!window(least).is_full(&after, 1_000, 0));
    assert!(plan_within(least - 1).is_err());
}

#[test]
fn a_report_above_the_estimate_narrows_the_plan() {
    let history = numbered(8, 1_500);
    let window = Window {
        protect_tokens: 40_000,
        ..WINDOW
    };
    assert!(!window.is_full(&history, 0, 0) && window.is_full(&history, 0, 9_000));
    let plan = plan(&history, &window, 0, 9_000).unwrap();
    assert!(plan.let_go > 4, "{}", plan.let_go);
}

#[test]
fn the_transcript_has_all_that_goes_and_cuts_the_oldest_hardest() {
    let mut history = numbered(30, 3_000);
    history.summary = Some("Before that, the parser was mended.".to_owned());
    history.steps[2].results[0].ok = false;
    history.steps[3].remark = Some("hurry up".to_owned());
    let plan = plan(&history, &WINDOW, 500, 0).unwrap();
    let text = &plan.transcript;
    for wanted in [
        "at most 992 words",
        "Mend it.",
        "the parser was mended.",
        "--- step 1\nsaid: words 1\ncalled: read {\"path\":\"file1.rs\"}\nresult: rrr",
        "failed: rrr",
        "was told: hurry up",
        "bytes left out",
        "file28.rs",
    ] {
        assert!(text.contains(wanted), "{wanted} in\n{text}");
    }
    assert!(!text.contains("file30.rs"), "{text}");
    let lengths: Vec<usize> = text
        .lines()
        .filter(|line| line.starts_with("result: "))
        .map(str::len)
        .collect();
    assert!(lengths[0] * 3 < *lengths.last().unwrap(), "{lengths:?}");
    assert!(text_tokens(text) + text_tokens(SUMMARISE) + plan.summary_max_tokens < 8_500);
}

#[test]
fn a_transcript_of_too_many_steps_leaves_out_the_oldest() {
    let history = numbered(2_000, 100);
    let text = plan(&history, &WINDOW, 0, 0).unwrap().transcript;
    assert!(text.contains("steps are left out]\n--- step "), "{text}");
    assert!(
        !text.contains("file1.rs") && text.contains("file1970.rs"),
        "{text}"
    );
}

#[test]
fn a_summary_takes_the_place_of_what_went() {
    let before = numbered(20, 1_500);
    let plan = plan(&before, &WINDOW, 0, 0).unwrap();
    let after = apply(before.clone(), &plan, "  All is half done.\n");
    assert_eq!(after.summary.as_deref(), Some("All is half done."));
    assert_eq!(after.steps, before.steps[plan.let_go..]);
    assert_eq!(after.objective, before.objective);
    let long = apply(before, &plan, &format!("begin {}", "é".repeat(20_000)))
        .summary
        .unwrap();
    assert!(long.starts_with("begin é"));
    assert!(text_tokens(&long) <= plan.summary_max_tokens);
}

#[test]
fn an_empty_summary_becomes_a_digest() {
    let mut before = numbered(20, 1_500);
    before.summary = Some("The parser was mended.".to_owned());
    before.steps[0].reply.calls[0].arguments = "not JSON".to_owned();
    let plan = plan(&before, &WINDOW, 0, 0).unwrap();
    let told = apply(before, &plan, " \n").summary.unwrap();
    let newest = plan.let_go;
    for wanted in [
        "The parser was mended.".to_owned(),
        format!("Tools called: read ×{newest}"),
        format!("the latest first: file{newest}.rs, file{}.rs", newest - 1),
        format!("Last words: words {newest}"),
    ] {
        assert!(told.contains(&wanted), "{wanted} in\n{told}");
    }
}

#[test]
fn no_room_is_told_with_what_to_do() {
    let mut long = numbered(3, 100);
    long.objective = "o".repeat(27_000);
    let refusal = plan(&long, &WINDOW, 700, 0).unwrap_err().to_string();
    for wanted in [
        "9008 tokens",
        "about 700",
        "10000 tokens",
        "larger context_window",
        "shorten the objective",
    ] {
        assert!(refusal.contains(wanted), "{wanted} in {refusal}");
    }
    let refusal = force(&numbered(0, 0), &WINDOW, 700)
        .unwrap_err()
        .to_string();
    assert!(
        refusal.contains("smaller than context_window says"),
        "{refusal}"
    );
}

#[test]
fn an_overflow_lets_half_go_although_it_should_fit() {
    let before = numbered(8, 1_500);
    let window = Window {
        context_tokens: 200_000,
        protect_tokens: 40_000,
        ..WINDOW
    };
    let plan = force(&before, &window, 100).unwrap();
    let after = apply(before.clone(), &plan, &"s".repeat(100_000));
    assert!(history_tokens(&after) + 100 <= (history_tokens(&before) + 100) / 2);
}
