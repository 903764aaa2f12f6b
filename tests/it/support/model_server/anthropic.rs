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
    match reply {
        Reply::Call { .. } => "tool_use",
        Reply::Say(_) => "end_turn",
    }
}

fn events(asked: &Asked, reply: &Reply, tokens: Tokens) -> Vec<String> {
    let (block, deltas) = match reply {
        Reply::Call { name, arguments } => {
            let id = format!("toolu_{}", tokens.fresh);
            let text = arguments.to_string();
            (
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                pieces(&text)
                    .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })),
            )
        }
        Reply::Say(text) => (
            json!({ "type": "text", "text": "" }),
            pieces(text).map(|piece| json!({ "type": "text_delta", "text": piece })),
        ),
    };
    // The output is not known when the message starts.
    let at_start = usage(Tokens {
        output: 1,
        ..tokens
    });
    let mut events = vec![
        json!({ "type": "message_start", "message": message(asked, json!([]), Json::Null, at_start) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
    ];
    events.extend(
        deltas.map(|delta| json!({ "type": "content_block_delta", "index": 0, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": 0 }));
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
    let block = match reply {
        Reply::Call { name, arguments } => {
            json!({ "type": "tool_use", "id": format!("toolu_{}", tokens.fresh), "name": name, "input": arguments })
        }
        Reply::Say(text) => json!({ "type": "text", "text": text }),
    };
    message(
        asked,
        json!([block]),
        json!(stop_reason(reply)),
        usage(tokens),
    )
}
