//! OpenAI's Responses.

use super::Tokens;
use super::door::Dialect;
use super::play::{Asked, Offer, Reply, pieces};
use serde_json::{Value as Json, json};

pub const DIALECT: Dialect = Dialect {
    read,
    tokens: |tokens| tokens,
    events,
    document,
};

fn read(_: &str, body: &Json) -> Asked {
    Asked::in_body(body, "input", "\"type\":\"function_call_output\"", |tool| {
        Offer::new(tool, "parameters")
    })
}

fn item(reply: &Reply, tokens: Tokens) -> Json {
    match reply.calls.first() {
        Some((name, arguments)) => json!({
            "type": "function_call",
            "id": format!("fc_{}", tokens.fresh),
            "call_id": format!("call_{}", tokens.fresh),
            "name": name,
            "arguments": arguments,
        }),
        None => json!({
            "type": "message",
            "id": format!("msg_{}", tokens.fresh),
            "role": "assistant",
            "content": [{ "type": "output_text", "text": reply.text, "annotations": [] }],
        }),
    }
}

fn response(asked: &Asked, status: &str, output: Json, tokens: Tokens) -> Json {
    let input = tokens.input();
    json!({
        "id": format!("resp_{}", tokens.fresh),
        "object": "response",
        "status": status,
        "model": asked.model,
        "output": output,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": tokens.cache_read },
            "output_tokens": tokens.output,
            "output_tokens_details": { "reasoning_tokens": tokens.reasoning },
            "total_tokens": input + tokens.output,
        },
    })
}

fn events(asked: &Asked, reply: &Reply, tokens: Tokens) -> Vec<String> {
    let id = format!("resp_{}", tokens.fresh);
    let item = item(reply, tokens);
    let mut events = vec![
        json!({ "type": "response.created", "response": { "id": id, "object": "response", "status": "in_progress", "output": [] } }),
    ];
    if reply.calls.is_empty() {
        let empty =
            json!({ "type": "message", "id": item["id"], "role": "assistant", "content": [] });
        events.push(
            json!({ "type": "response.output_item.added", "output_index": 0, "item": empty }),
        );
        events.extend(pieces(&reply.text).map(|piece| {
            json!({ "type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": piece })
        }));
    }
    events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    events.push(json!({ "type": "response.completed", "response": response(asked, "completed", json!([item]), tokens) }));
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
    response(asked, "completed", json!([item(reply, tokens)]), tokens)
}
