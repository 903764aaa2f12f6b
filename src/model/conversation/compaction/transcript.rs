//! The older part of a conversation as one text, cut so that it fits into the call that sums it up.
//! Old steps are cut harder than new ones; it must never be longer than it was allowed.

use crate::model::conversation::{Call, CallResult, Step};
use crate::model::shorten::{head, head_and_tail};
use std::fmt::Write;

/// The parts of the room that the task and the earlier summary may take at most: one in so many.
const TASK_SHARE: usize = 8;
const SUMMARY_SHARE: usize = 2;
/// The newest step is cut to this many times the length of the oldest.
const NEWEST_WEIGHT: usize = 4;
/// Pieces are not cut below this; the oldest steps are left out instead.
const LEAST_PIECE_BYTES: usize = 48;
/// A tool's name is short, unless a model made it up.
const MAX_NAME_BYTES: usize = 64;
/// More than the words around one piece come to.
const AROUND_PIECE_BYTES: usize = 32;
/// Six bytes are a word, and a summary shall end before it is cut.
const TOKENS_PER_WORD: u64 = 2;

/// What is to be written down.
pub(super) struct Matter<'a> {
    pub objective: &'a str,
    pub earlier: Option<&'a str>,
    pub steps: &'a [Step],
    pub summary_max_tokens: u64,
}

/// Writes it, in at most `max_bytes`.
pub(super) fn write(matter: &Matter<'_>, max_bytes: usize) -> String {
    let words = matter.summary_max_tokens / TOKENS_PER_WORD;
    let mut text =
        format!("Sum up in at most {words} words.\n\n[THE TASK, kept beside your summary]\n");
    text.push_str(&head_and_tail(matter.objective, max_bytes / TASK_SHARE));
    if let Some(earlier) = matter.earlier {
        text.push_str("\n\n[EARLIER SUMMARY]\n");
        text.push_str(&head_and_tail(earlier, max_bytes / SUMMARY_SHARE));
    }
    text.push_str("\n\n[TRANSCRIPT]\n");
    let room = max_bytes.saturating_sub(text.len());
    text.push_str(&steps_within(matter.steps, room));
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

fn steps_within(steps: &[Step], max_bytes: usize) -> String {
    let (piece_bytes, left_out) = fit(steps, max_bytes);
    let mut text = String::new();
    if left_out > 0 {
        let _ = writeln!(text, "[the oldest {left_out} steps are left out]");
    }
    for (index, step) in steps.iter().enumerate().skip(left_out) {
        write_step(
            &mut text,
            index,
            step,
            scaled(piece_bytes, index, steps.len()),
        );
    }
    if text.len() > max_bytes {
        return head_and_tail(&text, max_bytes).into_owned();
    }
    text
}

/// How long the pieces of the oldest step may be, and how many steps have no room even then.
fn fit(steps: &[Step], max_bytes: usize) -> (usize, usize) {
    let sizes = |piece_bytes: usize| {
        let size = move |(index, step)| step_bytes(step, scaled(piece_bytes, index, steps.len()));
        steps.iter().enumerate().map(size)
    };
    let fits = |piece_bytes: usize| sizes(piece_bytes).sum::<usize>() <= max_bytes;
    if !fits(LEAST_PIECE_BYTES) {
        let mut room = max_bytes.saturating_sub(AROUND_PIECE_BYTES * 2);
        let kept = sizes(LEAST_PIECE_BYTES).rev().take_while(|size| {
            let fits = *size <= room;
            room = room.saturating_sub(*size);
            fits
        });
        // The newest step is never left out: too long, it is cut as a whole.
        let kept = kept.count().max(1).min(steps.len());
        return (LEAST_PIECE_BYTES, steps.len() - kept);
    }
    let (mut fitting, mut beyond) = (LEAST_PIECE_BYTES, max_bytes.max(LEAST_PIECE_BYTES) + 1);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            beyond = middle;
        }
    }
    (fitting, 0)
}

/// The length of a piece of this step, between once and `NEWEST_WEIGHT` times that of the oldest.
fn scaled(piece_bytes: usize, index: usize, steps: usize) -> usize {
    let last = steps.saturating_sub(1).max(1);
    piece_bytes.saturating_add(piece_bytes.saturating_mul((NEWEST_WEIGHT - 1) * index) / last)
}

/// At least what `write_step` will write.
fn step_bytes(step: &Step, piece_bytes: usize) -> usize {
    let piece = |text: &str| AROUND_PIECE_BYTES + text.len().min(piece_bytes);
    let calls = step.reply.calls.iter();
    let results = step.results.iter();
    AROUND_PIECE_BYTES
        + piece(&step.reply.text)
        + calls
            .map(|call| MAX_NAME_BYTES + piece(&call.arguments))
            .sum::<usize>()
        + results.map(|result| piece(&result.text)).sum::<usize>()
        + step.remark.as_deref().map_or(0, piece)
}

fn write_step(text: &mut String, index: usize, step: &Step, piece_bytes: usize) {
    let _ = writeln!(text, "--- step {}", index + 1);
    if !step.reply.text.is_empty() {
        let _ = writeln!(
            text,
            "said: {}",
            head_and_tail(&step.reply.text, piece_bytes)
        );
    }
    for Call {
        name, arguments, ..
    } in &step.reply.calls
    {
        let arguments = head_and_tail(arguments, piece_bytes);
        let _ = writeln!(text, "called: {} {arguments}", head(name, MAX_NAME_BYTES));
    }
    for CallResult {
        text: result, ok, ..
    } in &step.results
    {
        let what = if *ok { "result" } else { "failed" };
        let _ = writeln!(text, "{what}: {}", head_and_tail(result, piece_bytes));
    }
    if let Some(remark) = &step.remark {
        let _ = writeln!(text, "was told: {}", head_and_tail(remark, piece_bytes));
    }
}
