//! What holds for every conversation: compaction ends under the threshold, parts nothing, and keeps the objective.

use super::*;
use crate::model::conversation::{Call, CallResult, Reply};
use proptest::prelude::*;

const CASES: u32 = 512;

/// Texts from nothing to far beyond any of the windows, cheap to make.
fn text() -> impl Strategy<Value = String> {
    let length = prop_oneof![6 => 0..40usize, 3 => 0..3_000usize, 1 => 0..60_000usize];
    ("\\PC{1,4}", length).prop_map(|(part, length)| part.repeat(length / part.len()))
}

fn reply_and_results() -> impl Strategy<Value = Step> {
    let call = ("[a-z0-9]{0,8}", text(), text(), text(), any::<bool>());
    let calls = proptest::collection::vec(call, 0..4);
    (text(), calls, proptest::option::of(text())).prop_map(|(words, calls, remark)| {
        let mut step = Step {
            remark,
            ..Step::default()
        };
        step.reply = Reply {
            text: words,
            ..Reply::default()
        };
        for (id, name, arguments, text, ok) in calls {
            let call_id = id.clone();
            step.reply.calls.push(Call {
                id,
                name,
                arguments,
            });
            step.results.push(CallResult {
                call_id,
                text,
                ok,
                ..CallResult::default()
            });
        }
        step
    })
}

fn history() -> impl Strategy<Value = History> {
    let steps = proptest::collection::vec(reply_and_results(), 0..25);
    (text(), proptest::option::of(text()), steps).prop_map(|(objective, summary, steps)| History {
        objective,
        summary,
        steps,
    })
}

fn window() -> impl Strategy<Value = Window> {
    let context = prop_oneof![0..3_000u64, 1_000..40_000u64, 100_000..300_000u64];
    (context, 0.1..=1.0f64, 0..60_000u64).prop_map(
        |(context_tokens, compact_at, protect_tokens)| Window {
            context_tokens,
            compact_at,
            protect_tokens,
        },
    )
}

fn assert_sound(before: &History, after: &History, plan: &Plan) {
    assert_eq!(
        after.objective, before.objective,
        "the objective is kept letter by letter"
    );
    assert_eq!(
        after.steps,
        before.steps[plan.let_go..],
        "what stays is a suffix, in its order"
    );
    for step in &after.steps {
        let calls: Vec<&String> = step.reply.calls.iter().map(|call| &call.id).collect();
        let results: Vec<&String> = step.results.iter().map(|result| &result.call_id).collect();
        assert_eq!(
            calls, results,
            "each call has its result, each result its call"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn compaction_ends_under_the_threshold_for_any_history(
        before in history(),
        window in window(),
        fixed in 0..3_000u64,
        reported in prop_oneof![Just(0), 0..400_000u64],
        summary in text(),
    ) {
        let Ok(plan) = plan(&before, &window, fixed, reported) else {
            prop_assert!(window.threshold_tokens() < least_threshold(&before, fixed));
            return Ok(());
        };
        let after = apply(before.clone(), &plan, &summary);
        assert_sound(&before, &after, &plan);
        prop_assert!(fixed + history_tokens(&after) < window.threshold_tokens());
        prop_assert!(!window.is_full(&after, fixed, 0), "a second compaction right after it");
        if window.is_full(&before, fixed, reported) {
            prop_assert!(history_tokens(&after) < history_tokens(&before));
        }
        prop_assert!(text_tokens(after.summary.as_deref().unwrap()) <= plan.summary_max_tokens);
    }

    #[test]
    fn the_summarising_call_fits_into_the_window(
        before in history(),
        window in window(),
        fixed in 0..3_000u64,
        reported in prop_oneof![Just(0), 0..400_000u64],
    ) {
        if let Ok(plan) = plan(&before, &window, fixed, reported) {
            let call = summarising_tokens(plan.summary_max_tokens) + text_tokens(&plan.transcript);
            prop_assert!(call <= window.threshold_tokens());
            prop_assert!(plan.transcript.starts_with("Sum up in at most "));
        }
    }

    #[test]
    fn forced_compaction_always_makes_progress(
        before in history(),
        window in window(),
        fixed in 0..3_000u64,
        summary in text(),
    ) {
        let mut history = before;
        // Whatever a provider says, there comes an end to it.
        for _ in 0..64 {
            let Ok(plan) = force(&history, &window, fixed) else { return Ok(()) };
            let after = apply(history.clone(), &plan, &summary);
            assert_sound(&history, &after, &plan);
            prop_assert!(history_tokens(&after) < history_tokens(&history));
            history = after;
        }
        prop_assert!(false, "it goes on for ever");
    }
}
