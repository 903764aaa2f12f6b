//! OpenAI's chat completions, which most tools speak with any other provider.

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
    Asked::in_body(body, "messages", "\"role\":\"tool\"", |tool| {
        Offer::new(&tool["function"], "parameters")
    })
}

fn usage(tokens: Tokens) -> Json {
    let input = tokens.input();
    json!({
        "prompt_tokens": input,
        "prompt_tokens_details": { "cached_tokens": tokens.cache_read },
        "completion_tokens": tokens.output,
        "completion_tokens_details": { "reasoning_tokens": tokens.reasoning },
        "total_tokens": input + tokens.output,
    })
}

fn call(index: usize, name: &str, arguments: &str, asked: &Asked) -> Json {
    json!({
        "index": index,
        "id": format!("call_{}_{index}", asked.number),
        "type": "function",
        "function": { "name": name, "arguments": arguments },
    })
}

fn finish_reason(reply: &Reply) -> &'static str {
    reply.stop_or("tool_calls", "stop")
}

fn chunk(asked: &Asked, choices: Json, tokens: Tokens) -> Json {
    json!({
        "id": format!("chatcmpl-{}", tokens.fresh),
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": asked.model,
        "choices": choices,
    })
}

fn events(asked: &Asked, reply: &Reply, tokens: Tokens) -> Vec<String> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    if !reply.text.is_empty() {
        deltas.extend(pieces(&reply.text).map(|piece| json!({ "content": piece })));
    }
    for (index, (name, arguments)) in reply.calls.iter().enumerate() {
        let [first, second] = pieces(arguments);
        deltas.push(json!({ "tool_calls": [call(index, name, first, asked)] }));
        deltas.push(
            json!({ "tool_calls": [{ "index": index, "function": { "arguments": second } }] }),
        );
    }
    let mut events: Vec<Json> = deltas
        .into_iter()
        .map(|delta| json!([{ "index": 0, "delta": delta, "finish_reason": null }]))
        .map(|choices| chunk(asked, choices, tokens))
        .collect();
    let end = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason(reply) }]);
    events.push(chunk(asked, end, tokens));
    if tokens != Tokens::default() {
        let mut last = chunk(asked, json!([]), tokens);
        last["usage"] = usage(tokens);
        events.push(last);
    }
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn document(asked: &Asked, reply: &Reply, tokens: Tokens) -> Json {
    let calls: Vec<Json> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| call(index, name, arguments, asked))
        .collect();
    let mut message = json!({ "role": "assistant", "content": reply.text });
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    if reply.text.is_empty() {
        message["content"] = Json::Null;
    }
    let choices =
        json!([{ "index": 0, "message": message, "finish_reason": finish_reason(reply) }]);
    let mut document = chunk(asked, choices, tokens);
    document["object"] = json!("chat.completion");
    if tokens != Tokens::default() {
        document["usage"] = usage(tokens);
    }
    document
}
