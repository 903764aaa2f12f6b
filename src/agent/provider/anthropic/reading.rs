//! The stream of one message, put together again. Pure.

use super::super::body::{Complaint, Reading};
use super::super::sse::Event;
use super::super::talk::arguments_text;
use crate::model::conversation::{Call, Reply, ReplyStop, StepUsage};
use serde_json::Value as Json;

#[derive(Default)]
pub(super) struct Messages {
    blocks: Vec<Block>,
    usage: Usage,
    model: Option<String>,
    stop: Option<ReplyStop>,
    is_over: bool,
}

struct Block {
    index: u64,
    content: Content,
}

enum Content {
    Text(String),
    Call {
        id: String,
        name: String,
        /// What the block began with.
        input: Json,
        pieces: String,
    },
    /// Thinking, and what comes after our time.
    Other,
}

/// Counted as the server counts: no token in two fields.
#[derive(Default)]
struct Usage {
    fresh: u64,
    cache_read: u64,
    cache_written: u64,
    output: u64,
}

impl Usage {
    /// Later counts include the earlier ones, and may leave out what has not changed.
    fn update(&mut self, told: &Json) {
        for (field, name) in [
            (&mut self.fresh, "input_tokens"),
            (&mut self.cache_read, "cache_read_input_tokens"),
            (&mut self.cache_written, "cache_creation_input_tokens"),
            (&mut self.output, "output_tokens"),
        ] {
            *field = told[name].as_u64().map_or(*field, |told| told.max(*field));
        }
    }
}

impl Messages {
    fn start_block(&mut self, index: u64, block: &Json) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let content = match block["type"].as_str() {
            Some("text") => Content::Text(text("text")),
            Some("tool_use") => Content::Call {
                id: text("id"),
                name: text("name"),
                input: block["input"].clone(),
                pieces: String::new(),
            },
            _ => Content::Other,
        };
        self.blocks.push(Block { index, content });
    }

    fn grow_block(&mut self, index: u64, delta: &Json) {
        let block = self
            .blocks
            .iter_mut()
            .rev()
            .find(|block| block.index == index);
        match (
            block.map(|block| &mut block.content),
            delta["type"].as_str(),
        ) {
            (Some(Content::Text(text)), Some("text_delta")) => {
                text.push_str(delta["text"].as_str().unwrap_or_default());
            }
            (Some(Content::Call { pieces, .. }), Some("input_json_delta")) => {
                pieces.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn take_message(&mut self, message: &Json) {
        self.model = message["model"].as_str().map(str::to_owned);
        self.usage.update(&message["usage"]);
    }
}

impl Reading for Messages {
    fn event(&mut self, event: &Event) -> Result<(), Complaint> {
        let told: Json = serde_json::from_str(&event.text).map_err(|error| {
            Complaint::Malformed(format!("an event of the stream is no JSON: {error}"))
        })?;
        let index = told["index"].as_u64().unwrap_or_default();
        match told["type"].as_str().unwrap_or(&event.name) {
            "message_start" => self.take_message(&told["message"]),
            "content_block_start" => self.start_block(index, &told["content_block"]),
            "content_block_delta" => self.grow_block(index, &told["delta"]),
            "message_delta" => {
                self.usage.update(&told["usage"]);
                if let Some(reason) = told["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop_of(reason));
                }
            }
            "message_stop" => self.is_over = true,
            "error" => return Err(Complaint::Told(told["error"].clone())),
            _ => {}
        }
        Ok(())
    }

    fn document(&mut self, document: &Json) -> Result<(), Complaint> {
        if !document["error"].is_null() {
            return Err(Complaint::Told(document["error"].clone()));
        }
        let Some(blocks) = document["content"].as_array() else {
            return Err(Complaint::Malformed("the answer is no message".to_owned()));
        };
        self.take_message(document);
        for (index, block) in (0..).zip(blocks) {
            self.start_block(index, block);
        }
        self.stop = Some(stop_of(
            document["stop_reason"].as_str().unwrap_or_default(),
        ));
        self.is_over = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.is_over || self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn usage(&self) -> StepUsage {
        StepUsage {
            input_tokens: self.usage.fresh + self.usage.cache_read + self.usage.cache_written,
            cached_tokens: self.usage.cache_read,
            cache_written_tokens: self.usage.cache_written,
            output_tokens: self.usage.output,
        }
    }

    fn into_reply(self: Box<Self>) -> Reply {
        let mut reply = Reply {
            stop: self.stop.unwrap_or_default(),
            usage: self.usage(),
            model: self.model,
            ..Reply::default()
        };
        for block in self.blocks {
            match block.content {
                Content::Text(text) => reply.text.push_str(&text),
                Content::Call {
                    id,
                    name,
                    input,
                    pieces,
                } => reply.calls.push(Call {
                    id,
                    name,
                    arguments: match input.as_object() {
                        Some(begun) if pieces.is_empty() && !begun.is_empty() => input.to_string(),
                        _ => arguments_text(pieces),
                    },
                }),
                Content::Other => {}
            }
        }
        reply
    }
}

fn stop_of(reason: &str) -> ReplyStop {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => ReplyStop::MaxTokens,
        "refusal" => ReplyStop::Refusal,
        _ => ReplyStop::Finished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(events: &[Json]) -> Result<Reply, Complaint> {
        let mut messages = Box::<Messages>::default();
        for event in events {
            messages.event(&Event {
                name: String::new(),
                text: event.to_string(),
            })?;
        }
        assert!(messages.is_complete());
        Ok(messages.into_reply())
    }

    #[test]
    fn blocks_are_put_together_and_thinking_is_left_out() {
        let delta = |index: u64, delta: Json| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let start = |index: u64, block: Json| json!({ "type": "content_block_start", "index": index, "content_block": block });
        let reply = read(&[
            json!({ "type": "message_start", "message": { "model": "m-1", "usage": {
                "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1 } } }),
            json!({ "type": "ping" }),
            start(0, json!({ "type": "thinking", "thinking": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "hm" })),
            delta(0, json!({ "type": "signature_delta", "signature": "x" })),
            start(1, json!({ "type": "text", "text": "" })),
            delta(1, json!({ "type": "text_delta", "text": "Let me " })),
            delta(1, json!({ "type": "text_delta", "text": "look." })),
            json!({ "type": "content_block_stop", "index": 1 }),
            start(2, json!({ "type": "tool_use", "id": "t1", "name": "read", "input": {} })),
            delta(2, json!({ "type": "input_json_delta", "partial_json": "" })),
            delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"path\":" })),
            delta(2, json!({ "type": "input_json_delta", "partial_json": " \"a\"}" })),
            start(3, json!({ "type": "tool_use", "id": "t2", "name": "git_status", "input": {} })),
            json!({ "type": "something_new" }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 55 } }),
            json!({ "type": "message_stop" }),
        ])
        .unwrap();
        assert_eq!(reply.text, "Let me look.");
        assert_eq!(reply.model.as_deref(), Some("m-1"));
        let calls: Vec<_> = reply
            .calls
            .iter()
            .map(|call| {
                (
                    call.id.as_str(),
                    call.name.as_str(),
                    call.arguments.as_str(),
                )
            })
            .collect();
        assert_eq!(
            calls,
            [
                ("t1", "read", "{\"path\": \"a\"}"),
                ("t2", "git_status", "{}")
            ]
        );
        assert_eq!(
            reply.usage,
            StepUsage {
                input_tokens: 240,
                cached_tokens: 200,
                cache_written_tokens: 30,
                output_tokens: 55
            }
        );
    }

    #[test]
    fn reasons_to_stop() {
        for (reason, expected) in [
            ("end_turn", ReplyStop::Finished),
            ("tool_use", ReplyStop::Finished),
            ("stop_sequence", ReplyStop::Finished),
            ("pause_turn", ReplyStop::Finished),
            ("max_tokens", ReplyStop::MaxTokens),
            ("refusal", ReplyStop::Refusal),
        ] {
            let end = json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
            assert_eq!(read(&[end]).unwrap().stop, expected, "{reason}");
        }
    }

    #[test]
    fn servers_complain_in_the_stream() {
        let error = json!({ "type": "overloaded_error", "message": "Overloaded" });
        let told = json!({ "type": "error", "error": error });
        assert_eq!(read(&[told]), Err(Complaint::Told(error)));
        let mut messages = Messages::default();
        let broken = Event {
            name: "ping".to_owned(),
            text: "{".to_owned(),
        };
        assert!(matches!(
            messages.event(&broken),
            Err(Complaint::Malformed(_))
        ));
    }
}
