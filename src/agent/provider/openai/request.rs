//! A question as the body of a request for a completion. Pure.

use super::super::Question;
use super::super::talk::{
    GO_ON, arguments_object, has_words, labelled_summary, needs_go_on, results,
};
use super::wording::Wording;
use crate::model::conversation::{History, Step};
use serde_json::{Value as Json, json};

/// What the schema is called; the dialect wants a name.
const ANSWER: &str = "answer";

pub(super) fn body(model: &str, question: &Question<'_>, wording: Wording) -> Json {
    let mut body = json!({ "model": model, "stream": wording.stream });
    if wording.stream && wording.stream_options {
        body["stream_options"] = json!({ "include_usage": true });
    }
    let most = match wording.max_completion_tokens {
        true => "max_completion_tokens",
        false => "max_tokens",
    };
    body[most] = json!(question.max_output_tokens);
    let mut system = question.system.to_owned();
    match question.schema {
        Some(schema) if wording.response_format => {
            let format = json!({ "name": ANSWER, "schema": schema, "strict": true });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
        }
        Some(schema) => {
            let wanted =
                "Answer with one JSON document of this JSON Schema, and with nothing else:";
            system = format!("{system}\n\n{wanted}\n{schema}")
                .trim_start()
                .to_owned();
        }
        None => {}
    }
    if !question.tools.is_empty() {
        body["tools"] = question.tools.iter().map(tool).collect();
    }
    body["messages"] = Json::Array(messages(&system, question.history));
    body
}

fn tool(card: &crate::agent::tool::ToolCard) -> Json {
    let function = json!({ "name": card.name, "description": card.description, "parameters": card.parameters });
    json!({ "type": "function", "function": function })
}

fn messages(system: &str, history: &History) -> Vec<Json> {
    let mut messages = Vec::new();
    if has_words(Some(system)) {
        messages.push(message("system", system));
    }
    let objective = match labelled_summary(history) {
        Some(summary) => format!("{}\n\n{summary}", history.objective),
        None => history.objective.clone(),
    };
    messages.push(message("user", &objective));
    for step in &history.steps {
        messages.extend(said(step));
        messages.extend(results(step).map(
            |(call, text, _)| json!({ "role": "tool", "tool_call_id": call.id, "content": text }),
        ));
        let remark = step.remark.as_deref();
        messages.extend(
            remark
                .filter(|_| has_words(remark))
                .map(|remark| message("user", remark)),
        );
    }
    if needs_go_on(history) {
        messages.push(message("user", GO_ON));
    }
    messages
}

fn message(role: &str, content: &str) -> Json {
    json!({ "role": role, "content": content })
}

/// What the model said; nothing, where it said nothing.
fn said(step: &Step) -> Option<Json> {
    let reply = &step.reply;
    if reply.calls.is_empty() {
        return has_words(Some(&reply.text)).then(|| message("assistant", &reply.text));
    }
    let calls: Vec<Json> = reply
        .calls
        .iter()
        .map(|call| {
            // The templates of some servers read the arguments, and break off at what is no JSON.
            let arguments = arguments_object(&call.arguments).to_string();
            let function = json!({ "name": call.name, "arguments": arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        })
        .collect();
    let content = match has_words(Some(&reply.text)) {
        true => json!(reply.text),
        false => Json::Null,
    };
    Some(json!({ "role": "assistant", "content": content, "tool_calls": calls }))
}

/// The bytes of all that is said in a question, to guess its tokens where nobody counts them.
pub(super) fn weight(question: &Question<'_>) -> usize {
    let steps = question.history.steps.iter().map(|step| {
        let calls = step.reply.calls.iter();
        let results = step.results.iter().map(|result| result.text.len());
        step.reply.text.len()
            + calls
                .map(|call| call.name.len() + call.arguments.len())
                .sum::<usize>()
            + results.sum::<usize>()
            + step.remark.as_ref().map_or(0, String::len)
    });
    let tools = question
        .tools
        .iter()
        .map(|card| card.parameters.to_string().len() + card.description.len());
    question.system.len()
        + question.history.objective.len()
        + question.history.summary.as_ref().map_or(0, String::len)
        + steps.sum::<usize>()
        + tools.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tool::ToolCard;
    use crate::model::conversation::{Call, CallResult, Reply};

    fn history() -> History {
        History {
            objective: "the objective".to_owned(),
            summary: Some("the summary".to_owned()),
            steps: vec![Step {
                reply: Reply {
                    calls: vec![Call {
                        id: "c1".to_owned(),
                        name: "read".to_owned(),
                        arguments: "{oops".to_owned(),
                    }],
                    ..Reply::default()
                },
                results: vec![CallResult {
                    call_id: "c1".to_owned(),
                    text: "content".to_owned(),
                    ok: true,
                    ..CallResult::default()
                }],
                remark: Some("remark".to_owned()),
            }],
        }
    }

    fn asked(history: &History, schema: Option<&Json>, wording: Wording) -> Json {
        let tools = [ToolCard {
            name: "read",
            description: "Reads.",
            parameters: json!({ "type": "object" }),
        }];
        let question = Question {
            system: "be good",
            history,
            tools: &tools,
            schema,
            max_output_tokens: 100,
        };
        body("m", &question, wording)
    }

    #[test]
    fn a_step_is_an_assistant_message_and_its_results() {
        let wording = Wording::for_host("h");
        let body = asked(&history(), None, wording);
        let messages = body["messages"].as_array().unwrap();
        let roles: Vec<&Json> = messages.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
        let objective = messages[1]["content"].as_str().unwrap();
        assert!(objective.starts_with("the objective\n\n<summary>"));
        assert_eq!(messages[2]["content"], Json::Null);
        let call = &messages[2]["tool_calls"][0];
        assert_eq!(call["function"]["arguments"], r#"{"invalid_json":"{oops"}"#);
        assert_eq!(messages[3]["tool_call_id"], "c1");
        assert_eq!(body["tools"][0]["function"]["name"], "read");
        assert_eq!(body["max_tokens"], 100);
        assert_eq!(body["stream_options"]["include_usage"], true);
    }

    #[test]
    fn wording_changes_where_things_stand() {
        let schema = json!({ "type": "object", "title": "T" });
        let newer = Wording {
            max_completion_tokens: true,
            ..Wording::for_host("h")
        };
        let body = asked(&history(), Some(&schema), newer);
        assert_eq!(body["max_completion_tokens"], 100);
        assert_eq!(body.get("max_tokens"), None);
        assert_eq!(body["response_format"]["json_schema"]["schema"], schema);
        let plain = Wording {
            stream: true,
            response_format: false,
            stream_options: false,
            max_completion_tokens: false,
        };
        let body = asked(&history(), Some(&schema), plain);
        assert_eq!(body.get("response_format"), None);
        assert_eq!(body.get("stream_options"), None);
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.starts_with("be good") && system.ends_with(&schema.to_string()));
    }
}
