//! The chunks of one completion, put together again, as many servers send them. Pure, but for the ids that some forget.

use super::super::body::{Complaint, Reading};
use super::super::sse::Event;
use super::super::talk::arguments_text;
use crate::clock;
use crate::model::conversation::{Call, Reply, ReplyStop, StepUsage};
use serde_json::Value as Json;

/// What a token weighs, about, where nobody counts.
const BYTES_PER_TOKEN: usize = 4;

pub(super) struct Completion {
    /// What went out, to guess its tokens.
    sent_bytes: usize,
    text: String,
    calls: Vec<Part>,
    model: Option<String>,
    usage: Option<StepUsage>,
    stop: Option<ReplyStop>,
    is_over: bool,
}

/// A call as far as it has come.
struct Part {
    index: Option<u64>,
    call: Call,
}

impl Completion {
    pub(super) fn new(sent_bytes: usize) -> Self {
        Self {
            sent_bytes,
            text: String::new(),
            calls: Vec::new(),
            model: None,
            usage: None,
            stop: None,
            is_over: false,
        }
    }

    fn take(&mut self, told: &Json) -> Result<(), Complaint> {
        if !told["error"].is_null() {
            return Err(Complaint::Told(told["error"].clone()));
        }
        if let Some(model) = told["model"].as_str().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        self.usage = usage_in(&told["usage"]).or(self.usage);
        let choice = &told["choices"][0];
        for said in [&choice["delta"], &choice["message"]] {
            self.grow(said);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            // A refusal was told before its end.
            let refused = self.stop == Some(ReplyStop::Refusal);
            self.stop = Some(if refused {
                ReplyStop::Refusal
            } else {
                stop_of(reason)
            });
        }
        Ok(())
    }

    fn grow(&mut self, said: &Json) {
        match &said["content"] {
            Json::String(text) => self.text.push_str(text),
            Json::Array(parts) => parts
                .iter()
                .filter(|part| part["type"] == "text")
                .filter_map(|part| part["text"].as_str())
                .for_each(|text| self.text.push_str(text)),
            _ => {}
        }
        if let Some(refusal) = said["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.text.push_str(refusal);
            self.stop = Some(ReplyStop::Refusal);
        }
        for call in said["tool_calls"].as_array().into_iter().flatten() {
            self.grow_call(call);
        }
    }

    fn grow_call(&mut self, told: &Json) {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&told["id"]), text(&told["function"]["name"]));
        let arguments = match &told["function"]["arguments"] {
            Json::String(piece) => piece.clone(),
            whole @ Json::Object(_) => whole.to_string(),
            _ => String::new(),
        };
        let index = told["index"].as_u64();
        let at = self.place_of(index, &id, &name).unwrap_or_else(|| {
            self.calls.push(Part {
                index,
                call: Call::default(),
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at].call;
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
    }

    /// The call that a piece belongs to; none: a new one begins. Some servers number no call, or all of them with 0.
    fn place_of(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let fits = |part: &Part| match index {
            Some(_) => {
                part.index == index
                    && (id.is_empty() || part.call.id.is_empty() || part.call.id == id)
            }
            None if !id.is_empty() => part.call.id == id,
            None => name.is_empty(),
        };
        self.calls.iter().rposition(fits)
    }

    fn guessed_usage(&self) -> StepUsage {
        let calls = self.calls.iter().map(|part| &part.call);
        let said = self.text.len()
            + calls
                .map(|call| call.name.len() + call.arguments.len())
                .sum::<usize>();
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        StepUsage {
            input_tokens: tokens(self.sent_bytes),
            output_tokens: tokens(said),
            ..StepUsage::default()
        }
    }
}

impl Reading for Completion {
    fn event(&mut self, event: &Event) -> Result<(), Complaint> {
        let text = event.text.trim();
        match text {
            "" => return Ok(()),
            "[DONE]" => {
                self.is_over = true;
                return Ok(());
            }
            _ => {}
        }
        let told: Json = serde_json::from_str(text).map_err(|error| {
            Complaint::Malformed(format!("an event of the stream is no JSON: {error}"))
        })?;
        if event.name == "error" && told["error"].is_null() {
            return Err(Complaint::Told(told));
        }
        self.take(&told)
    }

    fn document(&mut self, document: &Json) -> Result<(), Complaint> {
        self.take(document)?;
        if !document["choices"][0].is_object() {
            return Err(Complaint::Malformed(
                "the answer is no completion".to_owned(),
            ));
        }
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
        self.usage.unwrap_or_default()
    }

    fn into_reply(self: Box<Self>) -> Reply {
        let usage = self.usage.unwrap_or_else(|| self.guessed_usage());
        let calls = self.calls.into_iter().map(|Part { mut call, .. }| {
            if call.id.is_empty() {
                call.id = format!("call_{}", clock::new_id());
            }
            call.arguments = arguments_text(call.arguments);
            call
        });
        Reply {
            text: self.text,
            calls: calls.collect(),
            stop: self.stop.unwrap_or_default(),
            usage,
            model: self.model,
        }
    }
}

fn usage_in(told: &Json) -> Option<StepUsage> {
    let input_tokens = told["prompt_tokens"].as_u64()?;
    Some(StepUsage {
        input_tokens,
        cached_tokens: told["prompt_tokens_details"]["cached_tokens"]
            .as_u64()
            .unwrap_or(0),
        cache_written_tokens: 0,
        output_tokens: told["completion_tokens"].as_u64().unwrap_or(0),
    })
}

fn stop_of(reason: &str) -> ReplyStop {
    match reason {
        "length" | "max_tokens" => ReplyStop::MaxTokens,
        "content_filter" => ReplyStop::Refusal,
        _ => ReplyStop::Finished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(chunks: &[Json]) -> Reply {
        let mut completion = Box::new(Completion::new(400));
        for chunk in chunks {
            let event = Event {
                name: String::new(),
                text: chunk.to_string(),
            };
            completion.event(&event).unwrap();
        }
        completion.into_reply()
    }

    fn delta(delta: Json) -> Json {
        json!({ "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
    }

    fn calls(deltas: &[Json]) -> Vec<(String, String, String)> {
        let chunks: Vec<Json> = deltas
            .iter()
            .map(|calls| delta(json!({ "tool_calls": calls })))
            .collect();
        let told = |call: Call| (call.id, call.name, call.arguments);
        read(&chunks).calls.into_iter().map(told).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn calls_come_in_many_ways() {
        let function =
            |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
        let pieces = [
            json!([{ "index": 0, "id": "a", "type": "function", "function": function("read", "") }]),
            json!([{ "index": 0, "function": { "arguments": "{\"p\":" } }]),
            json!([{ "index": 1, "id": "b", "function": function("bash", "{\"c\"") }]),
            json!([{ "index": 0, "function": { "arguments": "1}" } }, { "index": 1, "function": { "arguments": ":2}" } }]),
        ];
        assert_eq!(
            calls(&pieces),
            [
                call("a", "read", "{\"p\":1}"),
                call("b", "bash", "{\"c\":2}")
            ]
        );
        let all_number_0 = [
            json!([{ "index": 0, "id": "a", "function": function("read", "{}") }]),
            json!([{ "index": 0, "id": "b", "function": function("bash", "{}") }]),
        ];
        assert_eq!(
            calls(&all_number_0),
            [call("a", "read", "{}"), call("b", "bash", "{}")]
        );
        let whole =
            [json!([{ "id": "a", "function": { "name": "read", "arguments": { "p": 1 } } }])];
        assert_eq!(calls(&whole), [call("a", "read", "{\"p\":1}")]);
        let nothing_but_names =
            [json!([{ "function": function("read", "") }, { "function": function("bash", "{}") }])];
        let made_up = calls(&nothing_but_names);
        assert_eq!(made_up.len(), 2);
        assert!(
            made_up
                .iter()
                .all(|(id, _, arguments)| id.starts_with("call_") && arguments == "{}")
        );
        assert_ne!(made_up[0].0, made_up[1].0);
    }

    #[test]
    fn words_are_put_together_and_reasoning_is_left_out() {
        let reply = read(&[
            delta(json!({ "role": "assistant", "content": null, "reasoning_content": "hm" })),
            delta(json!({ "content": "Hel" })),
            delta(
                json!({ "content": [{ "type": "thinking", "thinking": "x" }, { "type": "text", "text": "lo" }] }),
            ),
            json!({ "choices": [{ "delta": {}, "finish_reason": "length" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 4 } } }),
        ]);
        assert_eq!(
            (reply.text.as_str(), reply.stop),
            ("Hello", ReplyStop::MaxTokens)
        );
        assert_eq!(
            reply.usage,
            StepUsage {
                input_tokens: 9,
                cached_tokens: 4,
                cache_written_tokens: 0,
                output_tokens: 2
            }
        );
    }

    #[test]
    fn tokens_are_guessed_where_nobody_counts() {
        let reply = read(&[
            delta(json!({ "content": "12345" })),
            json!({ "choices": [], "usage": null }),
        ]);
        assert_eq!(
            (reply.usage.input_tokens, reply.usage.output_tokens),
            (100, 2)
        );
    }

    #[test]
    fn reasons_to_stop() {
        for (reason, expected) in [
            ("stop", ReplyStop::Finished),
            ("tool_calls", ReplyStop::Finished),
            ("length", ReplyStop::MaxTokens),
            ("content_filter", ReplyStop::Refusal),
        ] {
            let end = json!({ "choices": [{ "delta": {}, "finish_reason": reason }] });
            assert_eq!(read(&[end]).stop, expected, "{reason}");
        }
        let refused = [
            delta(json!({ "refusal": "I can't." })),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
        ];
        let reply = read(&refused);
        assert_eq!(
            (reply.text.as_str(), reply.stop),
            ("I can't.", ReplyStop::Refusal)
        );
    }

    #[test]
    fn servers_complain_in_the_stream() {
        let error = json!({ "message": "it broke", "type": "server_error" });
        let event = Event {
            name: String::new(),
            text: json!({ "error": error }).to_string(),
        };
        let mut completion = Completion::new(0);
        assert_eq!(completion.event(&event), Err(Complaint::Told(error)));
        let document = json!({ "object": "list" });
        assert!(matches!(
            completion.document(&document),
            Err(Complaint::Malformed(_))
        ));
    }
}
