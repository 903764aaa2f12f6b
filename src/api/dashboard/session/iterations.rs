//! The turns of a session: as rows, and as a strip on which each is as long as it took.

use crate::clock::local_time_exact;
use crate::model::amount::{duration, money};
use crate::model::harmless::{cut, harmless, last_line};
use crate::report::wording::{exit_in_words, taker, verdict_in_words, verify_in_words};
use crate::store::iterations::Iteration;
use crate::store::tasks::Assignment;
use serde::Serialize;
use std::collections::HashSet;

const MAX_WORDS_CHARS: usize = 200;
/// The strip is so many units wide; none is narrower than can be seen.
const WIDTH: f64 = 1000.0;
const NARROWEST: f64 = 3.0;

/// One iteration.
#[derive(Serialize)]
pub struct Turn {
    number: i64,
    task: Option<i64>,
    agent: String,
    verdict: String,
    style: &'static str,
    counted: bool,
    ended: bool,
    rewound: bool,
    exit: String,
    verify: Option<(&'static str, &'static str)>,
    verify_tail: Option<String>,
    started: String,
    took: String,
    cost: Option<String>,
    calls: i64,
    words: String,
    /// What it changed can be looked at.
    changes: bool,
}

impl Turn {
    pub fn of(
        turn: &Iteration,
        own: &str,
        planned: &[Assignment],
        changing: &HashSet<i64>,
        now_ms: i64,
    ) -> Self {
        let (verdict, style) = verdict_in_words(turn);
        let said = turn
            .failure_detail
            .as_deref()
            .or(turn.final_text.as_deref());
        let task = planned.iter().find(|one| one.task.id == turn.task_id);
        let tail = turn
            .verify_tail
            .as_deref()
            .filter(|_| turn.verify_passed == Some(false));
        Self {
            number: turn.number,
            task: task.map(|one| one.task.task_order),
            agent: harmless(&taker(turn, own)),
            verdict: verdict.replace('_', " "),
            style: style.as_str(),
            counted: turn.counted,
            ended: turn.ended_at_ms.is_some(),
            rewound: turn.rewound_at_ms.is_some(),
            exit: exit_in_words(turn),
            verify: verify_in_words(turn).map(|(words, style)| (words, style.as_str())),
            verify_tail: tail.map(|tail| cut(&last_line(tail), MAX_WORDS_CHARS)),
            started: local_time_exact(turn.started_at_ms),
            took: duration(turn.ended_at_ms.unwrap_or(now_ms) - turn.started_at_ms),
            cost: turn.cost_usd.map(money),
            calls: turn.tool_call_count,
            words: cut(&last_line(said.unwrap_or_default()), MAX_WORDS_CHARS),
            changes: changing.contains(&turn.number),
        }
    }
}

/// Turns side by side, oldest first.
#[derive(Serialize)]
pub struct Strip {
    width: f64,
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct Bar {
    x: f64,
    width: f64,
    style: &'static str,
    words: String,
}

impl Strip {
    pub fn of(newest_first: &[Iteration], now_ms: i64) -> Self {
        let took = |turn: &Iteration| {
            let until = turn.ended_at_ms.unwrap_or(now_ms);
            (until - turn.started_at_ms).max(1) as f64
        };
        let whole: f64 = newest_first.iter().map(took).sum();
        let mut x = 0.0;
        let bars = newest_first.iter().rev().map(|turn| {
            let width = (took(turn) / whole * WIDTH).max(NARROWEST);
            let (verdict, style) = verdict_in_words(turn);
            let bar = Bar {
                x,
                width: (width - 1.0).round().max(1.0),
                style: style.as_str(),
                words: format!(
                    "iteration {}: {}, {}",
                    turn.number,
                    verdict.replace('_', " "),
                    duration(took(turn) as i64)
                ),
            };
            x = (x + width).round();
            bar
        });
        let bars = bars.collect();
        Self {
            width: x.max(1.0),
            bars,
        }
    }
}
