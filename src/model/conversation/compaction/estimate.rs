//! How many tokens a conversation may come to, guessed from its bytes and rather too high than too low.
//! It reads lengths only, never the texts, so that a long conversation can be measured after every step.

use crate::model::conversation::{CallResult, History, Step};

/// English and code come to about four bytes a token; dense text to fewer.
const BYTES_PER_TOKEN: u64 = 3;
/// What a dialect writes around each message.
pub(super) const MESSAGE_TOKENS: u64 = 8;
/// What a dialect writes around each call and each result, their ids aside.
const CALL_TOKENS: u64 = 16;
/// A summary is told with words around it that say what it is.
pub(super) const SUMMARY_TOKENS: u64 = 48;

/// The tokens of a text.
pub fn text_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The longest text that is estimated at no more than this.
pub(super) fn bytes_within(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// The tokens of a step: the reply and what came of it.
pub fn step_tokens(step: &Step) -> u64 {
    let calls = step.reply.calls.iter().map(|call| {
        CALL_TOKENS + text_tokens(&call.id) + text_tokens(&call.name) + text_tokens(&call.arguments)
    });
    MESSAGE_TOKENS + text_tokens(&step.reply.text) + calls.sum::<u64>() + after_reply_tokens(step)
}

/// The tokens of what a step adds once the model has spoken.
pub(super) fn after_reply_tokens(step: &Step) -> u64 {
    let result = |result: &CallResult| {
        CALL_TOKENS + text_tokens(&result.call_id) + text_tokens(&result.text)
    };
    let remark = |remark: &String| MESSAGE_TOKENS + text_tokens(remark);
    step.results.iter().map(result).sum::<u64>() + step.remark.as_ref().map_or(0, remark)
}

/// The tokens of a whole conversation, without the system prompt and the tools.
pub fn history_tokens(history: &History) -> u64 {
    let summary = |summary: &String| SUMMARY_TOKENS + text_tokens(summary);
    objective_tokens(history)
        + history.summary.as_ref().map_or(0, summary)
        + history.steps.iter().map(step_tokens).sum::<u64>()
}

/// The tokens of what no compaction can let go.
pub(super) fn objective_tokens(history: &History) -> u64 {
    MESSAGE_TOKENS + text_tokens(&history.objective)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::conversation::{Call, Reply};

    #[test]
    fn texts_are_counted_by_bytes_and_rounded_up() {
        for (text, tokens) in [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("日本", 2)] {
            assert_eq!(text_tokens(text), tokens, "{text}");
        }
    }

    #[test]
    fn every_part_of_a_conversation_counts() {
        let step = Step {
            reply: Reply {
                text: "abc".to_owned(),
                calls: vec![Call {
                    id: "id1".to_owned(),
                    name: "read".to_owned(),
                    arguments: "{}".to_owned(),
                }],
                ..Reply::default()
            },
            results: vec![CallResult {
                call_id: "id1".to_owned(),
                text: "x".repeat(300),
                ..CallResult::default()
            }],
            remark: Some("abc".to_owned()),
        };
        assert_eq!(after_reply_tokens(&step), 16 + 1 + 100 + 8 + 1);
        assert_eq!(step_tokens(&step), 8 + 1 + 16 + 1 + 2 + 1 + 126);
        let history = History {
            objective: "abc".to_owned(),
            summary: Some("abc".to_owned()),
            steps: vec![step.clone(), step],
        };
        assert_eq!(history_tokens(&history), 9 + 49 + 2 * 155);
    }
}
