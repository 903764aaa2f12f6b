//! The event shape that Claude Code made and others copied: assistant and user messages of content blocks, a result at the end.
//! It must not decide how a turn ended; each tool lies about that differently.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::calls::{ARGUMENTS_MAX_BYTES, RESULT_HEAD_MAX_BYTES};
use super::json::{Leaf, cut, head, part};
use super::sheet::Sheet;

/// How many messages back a repeated usage is known again: sub-agents interleave theirs.
const SEEN_MESSAGES_MAX: usize = 64;

/// Any event; `type` may stand anywhere in it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) r#type: Leaf<'a>,
    #[serde(borrow)]
    pub(super) subtype: Leaf<'a>,
    #[serde(borrow)]
    pub(super) session_id: Leaf<'a>,
    #[serde(borrow)]
    pub(super) model: Leaf<'a>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow)]
    pub(super) parent_tool_use_id: Leaf<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Leaf<'a>,
    pub(super) is_api_error_message: Leaf<'a>,
    pub(super) is_error: Leaf<'a>,
    #[serde(borrow)]
    pub(super) result: Leaf<'a>,
    #[serde(borrow)]
    pub(super) errors: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Leaf<'a>,
    #[serde(borrow)]
    pub(super) terminal_reason: Leaf<'a>,
    pub(super) api_error_status: Leaf<'a>,
    pub(super) error_status: Leaf<'a>,
    #[serde(borrow)]
    pub(super) api_error: Leaf<'a>,
    pub(super) total_cost_usd: Leaf<'a>,
    pub(super) num_turns: Leaf<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<Usage<'a>>,
    #[serde(borrow, rename = "modelUsage")]
    pub(super) model_usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) permission_denials: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) rate_limit_info: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    id: Leaf<'a>,
    #[serde(borrow)]
    model: Leaf<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    usage: Option<Usage<'a>>,
}

/// Tokens as Anthropic counts them, under its names.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage<'a> {
    input_tokens: Leaf<'a>,
    #[serde(borrow)]
    output_tokens: Leaf<'a>,
    cache_read_input_tokens: Leaf<'a>,
    cache_creation_input_tokens: Leaf<'a>,
}

impl Usage<'_> {
    /// Input, output and cached tokens, where the input leaves out what a cache read or wrote.
    pub(super) fn cached_apart(&self) -> (u64, u64, u64) {
        let cached = self.cache_read_input_tokens.count().unwrap_or(0);
        let written = self.cache_creation_input_tokens.count().unwrap_or(0);
        let (input, output, _) = self.cached_within();
        (input + cached + written, output, cached)
    }

    /// Input, output and cached tokens, where the input counts the cached ones in.
    pub(super) fn cached_within(&self) -> (u64, u64, u64) {
        let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
        (
            count(&self.input_tokens),
            count(&self.output_tokens),
            count(&self.cache_read_input_tokens),
        )
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Leaf<'a>,
    #[serde(borrow)]
    text: Leaf<'a>,
    #[serde(borrow)]
    id: Leaf<'a>,
    #[serde(borrow)]
    name: Leaf<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Leaf<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Leaf<'a>,
}

/// A message's content: a text, or blocks.
#[derive(Default)]
struct Content<'a>(Vec<Block<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a text or content blocks")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let text = Leaf::Text(text.to_owned().into());
        Ok(Content(vec![Block {
            r#type: Leaf::Text("text".into()),
            text,
            ..Block::default()
        }]))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = sequence.next_element()? {
            blocks.push(block);
        }
        Ok(Content(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::default())
    }
}

/// What has to be remembered from message to message.
#[derive(Default)]
pub(super) struct Conversation {
    message_id: String,
    seen: VecDeque<String>,
}

impl Conversation {
    /// An assistant's message, or the next block of the last one. Messages the tool made up itself to show an error are none.
    pub(super) fn assistant(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        let Some(message) = &event.message else {
            return;
        };
        if message.model.text() == "<synthetic>" || event.is_api_error_message.flag() == Some(true)
        {
            return;
        }
        let of_sub_agent = !event.parent_tool_use_id.text().is_empty();
        for block in &message.content.0 {
            match block.r#type.text() {
                "text" if !of_sub_agent => self.say(message.id.text(), block.text.text(), sheet),
                "tool_use" => {
                    let arguments = block
                        .input
                        .map_or("", |raw| cut(raw.get(), ARGUMENTS_MAX_BYTES));
                    sheet.start_call(
                        block.id.text(),
                        block.name.text(),
                        arguments,
                        time_ms(&event.timestamp),
                    );
                    if !of_sub_agent {
                        sheet.work();
                    }
                }
                _ => {}
            }
        }
    }

    /// The usage of a message, once for all its blocks.
    pub(super) fn usage_of<'e>(&mut self, event: &'e Event<'_>) -> Option<&'e Usage<'e>> {
        let message = event.message.as_ref()?;
        let id = message.id.text();
        if self.seen.iter().any(|seen| seen == id) {
            return None;
        }
        if self.seen.len() == SEEN_MESSAGES_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(id.to_owned());
        message.usage.as_ref()
    }

    /// The results of tools, which come as messages of the user.
    pub(super) fn user(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        let Some(message) = &event.message else {
            return;
        };
        for block in message
            .content
            .0
            .iter()
            .filter(|block| block.r#type.text() == "tool_result")
        {
            let result = head(block.content, RESULT_HEAD_MAX_BYTES);
            let ok = block.is_error.flag() != Some(true);
            sheet.calls.end(
                block.tool_use_id.text(),
                &result,
                ok,
                time_ms(&event.timestamp),
            );
        }
    }

    fn say(&mut self, id: &str, text: &str, sheet: &mut Sheet) {
        if !id.is_empty() && self.message_id == id {
            sheet.say_more("\n");
            sheet.say_more(text);
        } else {
            self.message_id = id.to_owned();
            sheet.say(text);
        }
    }
}

/// Milliseconds since 1970 of a time as text.
pub(super) fn time_ms(leaf: &Leaf<'_>) -> Option<i64> {
    leaf.text()
        .parse::<jiff::Timestamp>()
        .ok()
        .map(|stamp| stamp.as_millisecond())
}

/// The first word of a session: its id and model.
pub(super) fn introduce(event: &Event<'_>, sheet: &mut Sheet) {
    let report = &mut sheet.report;
    if report.agent_session_id.is_none() {
        report.agent_session_id = event.session_id.some_text();
    }
    if event.r#type.text() == "system" && report.model.is_none() {
        report.model = event.model.some_text();
    }
}

/// A warning for each tool the agent was not allowed to use.
pub(super) fn warn_of_denials(event: &Event<'_>, sheet: &mut Sheet) {
    #[derive(Deserialize)]
    struct Denial<'a> {
        #[serde(borrow, default)]
        tool_name: Leaf<'a>,
    }
    for denial in part::<Vec<Denial>>(event.permission_denials).unwrap_or_default() {
        sheet.warn(&format!("permission denied: {}", denial.tool_name.text()));
    }
}

/// Usage and main model out of `modelUsage`: every model that was asked, sub-agents and side requests too.
pub(super) fn set_model_usage(event: &Event<'_>, sheet: &mut Sheet) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Share<'a> {
        #[serde(borrow)]
        input_tokens: Leaf<'a>,
        output_tokens: Leaf<'a>,
        cache_read_input_tokens: Leaf<'a>,
        cache_creation_input_tokens: Leaf<'a>,
    }
    let shares: BTreeMap<String, Share> = part(event.model_usage).unwrap_or_default();
    let mut sum = (0, 0, 0);
    let mut most = 0;
    for (model, share) in &shares {
        let count = |leaf: &Leaf<'_>| leaf.count().unwrap_or(0);
        let cached = count(&share.cache_read_input_tokens);
        let input = count(&share.input_tokens) + cached + count(&share.cache_creation_input_tokens);
        sum = (
            sum.0 + input,
            sum.1 + count(&share.output_tokens),
            sum.2 + cached,
        );
        if input > most {
            most = input;
            sheet.report.model = Some(model.clone());
        }
    }
    if !shares.is_empty() {
        sheet.set_tokens(sum.0, sum.1, sum.2);
    }
    !shares.is_empty()
}
