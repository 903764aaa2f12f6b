//! Anthropic's Messages.

use super::Tokens;
use super::door::Dialect;
use super::play::{Asked, Offer, Reply, pieces};
use serde_json::{Value as Json, json};

pub const DIALECT: Dialect = Dialect {
    read,
    tokens: Tokens::with_cache_written,
    events,
    document,
};

fn read(_: &str, body: &Json) -> Asked {
    Asked::in_body(body, "messages", "\"type\":\"tool_result\"", |tool| {
        Offer::new(tool, "input_schema")
    })
}

fn usage(tokens: Tokens) -> Json {
    json!({
        "input_tokens": tokens.fresh,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_written,
        "output_tokens": tokens.output,
    })
}

fn message(asked: &Asked, content: Json, stop_reason: Json, usage: Json) -> Json {
    json!({
        "id": format!("msg_{}", usage["input_tokens"]),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    reply.stop_or("tool_use", "end_turn")
}

/// The blocks of an answer: each as it starts, and the pieces in which the rest of it comes.
fn blocks(asked: &Asked, reply: &Reply) -> Vec<(Json, Vec<Json>)> {
    let mut blocks = Vec::new();
    if !reply.text.is_empty() || reply.calls.is_empty() {
        let delta = |piece: &str| json!({ "type": "text_delta", "text": piece });
        blocks.push((
            json!({ "type": "text", "text": "" }),
            pieces(&reply.text).map(delta).to_vec(),
        ));
    }
    for (index, (name, arguments)) in reply.calls.iter().enumerate() {
        let delta = |piece: &str| json!({ "type": "input_json_delta", "partial_json": piece });
        blocks.push((
            json!({ "type": "tool_use", "id": call_id(asked, index), "name": name, "input": {} }),
            pieces(arguments).map(delta).to_vec(),
        ));
    }
    blocks
}

fn call_id(asked: &Asked, index: usize) -> String {
    format!("toolu_{}_{index}", asked.number)
}

fn events(asked: &Asked, reply: &Reply, tokens: Tokens) -> Vec<String> {
    // The output is not known when the message starts.
    let at_start = usage(Tokens {
        output: 1,
        ..tokens
    });
    let mut events = vec![
        json!({ "type": "message_start", "message": message(asked, json!([]), Json::Null, at_start) }),
        json!({ "type": "ping" }),
    ];
    for (index, (block, deltas)) in blocks(asked, reply).into_iter().enumerate() {
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop_reason(reply), "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": tokens.output } }));
    events.push(json!({ "type": "message_stop" }));
    events
        .iter()
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        })
        .collect()
}

fn document(asked: &Asked, reply: &Reply, tokens: Tokens) -> Json {
    let mut content = Vec::new();
    if !reply.text.is_empty() {
        content.push(json!({ "type": "text", "text": reply.text }));
    }
    for (index, (name, input)) in reply.parsed_calls().enumerate() {
        content.push(
            json!({ "type": "tool_use", "id": call_id(asked, index), "name": name, "input": input }),
        );
    }
    message(
        asked,
        json!(content),
        json!(stop_reason(reply)),
        usage(tokens),
    )
}
