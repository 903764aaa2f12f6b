//! What a conversation came to, told without a model: for the time when the one that was asked has nothing to say.
//! It must not judge; it lists.

use crate::model::conversation::{Call, Step};
use crate::model::shorten::head_and_tail;
use indexmap::{IndexMap, IndexSet};
use serde_json::Value as Json;

const MAX_FILES: usize = 40;
const MAX_NAME_BYTES: usize = 200;
const MAX_TOOLS: usize = 20;

/// A plain account of these steps and of the summary before them, in about `max_bytes`.
pub(super) fn digest(earlier: Option<&str>, steps: &[Step], max_bytes: usize) -> String {
    let calls = || steps.iter().flat_map(|step| &step.reply.calls);
    let mut parts = vec!["No summary could be had. What the log shows:".to_owned()];
    if let Some(earlier) = earlier {
        parts.push(head_and_tail(earlier, max_bytes / 2).into_owned());
    }
    parts.extend(listed("Tools called", tools(calls())));
    parts.extend(listed(
        "Files touched, the latest first",
        files(calls().rev()),
    ));
    if let Some(words) = last_words(steps) {
        parts.push(format!(
            "Last words: {}",
            head_and_tail(words, max_bytes / 4)
        ));
    }
    parts.join("\n")
}

fn listed(title: &str, items: Vec<String>) -> Option<String> {
    (!items.is_empty()).then(|| format!("{title}: {}", items.join(", ")))
}

fn tools<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<String> {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for call in calls {
        *counts.entry(&call.name).or_default() += 1;
    }
    let told =
        |(name, times): (&str, usize)| format!("{} ×{times}", head_and_tail(name, MAX_NAME_BYTES));
    counts.into_iter().take(MAX_TOOLS).map(told).collect()
}

fn files<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<String> {
    let path = |call: &Call| {
        let arguments: Json = serde_json::from_str(&call.arguments).ok()?;
        let path = arguments.get("path")?.as_str()?;
        Some(head_and_tail(path, MAX_NAME_BYTES).into_owned())
    };
    let distinct: IndexSet<String> = calls.filter_map(path).collect();
    distinct.into_iter().take(MAX_FILES).collect()
}

fn last_words(steps: &[Step]) -> Option<&str> {
    let words = steps.iter().rev().map(|step| step.reply.text.trim());
    words.into_iter().find(|text| !text.is_empty())
}
