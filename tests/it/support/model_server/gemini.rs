//! Google's generateContent and streamGenerateContent.

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

fn read(path: &str, body: &Json) -> Asked {
    let conversation = body["contents"].to_string();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let declared = tools
        .iter()
        .filter_map(|tool| tool["functionDeclarations"].as_array())
        .flatten();
    let model = path.rsplit('/').next().unwrap_or_default();
    Asked {
        number: 0,
        model: model.split(':').next().unwrap_or_default().to_owned(),
        streamed: path.ends_with(":streamGenerateContent"),
        has_result: conversation.contains("\"functionResponse\":"),
        tools: declared.map(offer).collect(),
        conversation,
    }
}

fn offer(tool: &Json) -> Offer {
    let schema = match tool["parametersJsonSchema"].is_null() {
        true => "parameters",
        false => "parametersJsonSchema",
    };
    Offer::new(tool, schema)
}

fn candidate(part: Json, is_last: bool) -> Json {
    let mut candidate = json!({ "content": { "role": "model", "parts": [part] }, "index": 0 });
    if is_last {
        candidate["finishReason"] = json!("STOP");
    }
    json!({ "candidates": [candidate] })
}

fn with_usage(mut document: Json, asked: &Asked, tokens: Tokens) -> Json {
    let input = tokens.input();
    document["modelVersion"] = json!(asked.model);
    document["responseId"] = json!(format!("response-{}", tokens.fresh));
    document["usageMetadata"] = json!({
        "promptTokenCount": input,
        "cachedContentTokenCount": tokens.cache_read,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "thoughtsTokenCount": tokens.reasoning,
        "totalTokenCount": input + tokens.output,
    });
    document
}

fn events(asked: &Asked, reply: &Reply, tokens: Tokens) -> Vec<String> {
    let events = match reply.calls.is_empty() {
        false => vec![document(asked, reply, tokens)],
        true => {
            let [first, second] = pieces(&reply.text);
            let last = candidate(json!({ "text": second }), true);
            vec![
                candidate(json!({ "text": first }), false),
                with_usage(last, asked, tokens),
            ]
        }
    };
    events
        .iter()
        .map(|event| format!("data: {event}\r\n\r\n"))
        .collect()
}

fn document(asked: &Asked, reply: &Reply, tokens: Tokens) -> Json {
    let part = match reply.parsed_calls().next() {
        Some((name, arguments)) => {
            json!({ "functionCall": { "name": name, "args": arguments } })
        }
        None => json!({ "text": reply.text }),
    };
    with_usage(candidate(part, true), asked, tokens)
}
