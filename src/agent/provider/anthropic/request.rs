//! A question as the body of a request for a message. Pure.

use super::super::Question;
use super::super::talk::{
    GO_ON, arguments_object, has_words, labelled_summary, needs_go_on, results,
};
use super::{ANSWER, answer_schema};
use crate::model::conversation::{History, Step};
use serde_json::{Value as Json, json};

/// The server takes no more marks than this.
#[cfg(test)]
const MAX_MARKS: usize = 4;

pub(super) fn body(model: &str, question: &Question<'_>) -> Json {
    let mut body = json!({
        "model": model,
        "max_tokens": question.max_output_tokens,
        "stream": true,
        "messages": messages(question.history),
    });
    let mut tools: Vec<Json> = question
        .tools
        .iter()
        .map(|card| {
            json!({ "name": card.name, "description": card.description, "input_schema": card.parameters })
        })
        .collect();
    if let Some(schema) = question.schema {
        let description = "Gives the answer.";
        tools.push(json!({ "name": ANSWER, "description": description, "input_schema": answer_schema(schema) }));
        body["tool_choice"] = json!({ "type": "tool", "name": ANSWER });
    }
    // What stands before a mark is cached with it, and tools stand before the system prompt.
    if has_words(Some(question.system)) {
        body["system"] = json!([marked(text(question.system))]);
    } else if let Some(last) = tools.last_mut() {
        mark(last);
    }
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    body
}

/// The objective, then each step: what the model said, and what it was told. Marked for the cache are the objective and the last words
/// of the last two steps, of which one was the last when the question before this one was asked.
fn messages(history: &History) -> Vec<Json> {
    let mut first = vec![marked(text(&history.objective))];
    first.extend(labelled_summary(history).map(|summary| text(&summary)));
    let mut messages = vec![user(first)];
    for step in &history.steps {
        let said = said(step);
        if !said.is_empty() {
            messages.push(json!({ "role": "assistant", "content": said }));
        }
        let told = told(step);
        if !told.is_empty() {
            messages.push(user(told));
        }
    }
    if needs_go_on(history) {
        messages.push(user(vec![text(GO_ON)]));
    }
    let from_users = messages
        .iter_mut()
        .filter(|message| message["role"] == "user");
    for message in from_users.rev().take(2) {
        if let Some(last) = message["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut())
        {
            mark(last);
        }
    }
    messages
}

fn said(step: &Step) -> Vec<Json> {
    let mut blocks = Vec::new();
    if has_words(Some(&step.reply.text)) {
        blocks.push(text(&step.reply.text));
    }
    blocks.extend(step.reply.calls.iter().map(|call| {
        let input = arguments_object(&call.arguments);
        json!({ "type": "tool_use", "id": plain_id(&call.id), "name": call.name, "input": input })
    }));
    blocks
}

fn told(step: &Step) -> Vec<Json> {
    let mut blocks: Vec<Json> = results(step)
        .map(|(call, text, ok)| {
            let mut block = json!({ "type": "tool_result", "tool_use_id": plain_id(&call.id) });
            if has_words(Some(text)) {
                block["content"] = json!(text);
            }
            if !ok {
                block["is_error"] = json!(true);
            }
            block
        })
        .collect();
    blocks.extend(
        step.remark
            .as_deref()
            .filter(|remark| has_words(Some(remark)))
            .map(text),
    );
    blocks
}

fn text(text: &str) -> Json {
    json!({ "type": "text", "text": text })
}

fn user(content: Vec<Json>) -> Json {
    json!({ "role": "user", "content": content })
}

fn marked(mut block: Json) -> Json {
    mark(&mut block);
    block
}

fn mark(block: &mut Json) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

/// Ids that other servers made may hold letters that this one refuses.
fn plain_id(id: &str) -> String {
    id.chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
            _ => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::tool::ToolCard;
    use crate::model::conversation::{Call, CallResult, Reply};

    fn history(steps: usize) -> History {
        let step = |number: usize| Step {
            reply: Reply {
                text: format!("words {number}"),
                calls: vec![
                    Call {
                        id: format!("call.{number}:a"),
                        name: "read".to_owned(),
                        arguments: r#"{"path":"a"}"#.to_owned(),
                    },
                    Call {
                        id: format!("call.{number}:b"),
                        name: "bash".to_owned(),
                        arguments: "{oops".to_owned(),
                    },
                ],
                ..Reply::default()
            },
            results: vec![
                CallResult {
                    call_id: format!("call.{number}:a"),
                    text: "content".to_owned(),
                    ok: true,
                    ..CallResult::default()
                },
                CallResult {
                    call_id: format!("call.{number}:b"),
                    text: "no JSON".to_owned(),
                    ..CallResult::default()
                },
            ],
            remark: Some(format!("remark {number}")),
        };
        History {
            objective: "the objective".to_owned(),
            summary: Some("the summary".to_owned()),
            steps: (0..steps).map(step).collect(),
        }
    }

    fn asked(history: &History, system: &str, schema: Option<&Json>) -> Json {
        let tools = [ToolCard {
            name: "read",
            description: "Reads.",
            parameters: json!({ "type": "object" }),
        }];
        let question = Question {
            system,
            history,
            tools: &tools,
            schema,
            max_output_tokens: 100,
        };
        body("m", &question)
    }

    #[test]
    fn a_step_is_an_assistant_and_a_user_message() {
        let body = asked(&history(1), "be good", None);
        assert_eq!(body["system"][0]["text"], "be good");
        assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
        assert_eq!(body["messages"][0]["content"][0]["text"], "the objective");
        let summary = body["messages"][0]["content"][1]["text"].as_str().unwrap();
        assert!(summary.starts_with("<summary>") && summary.contains("the summary"));
        let said = &body["messages"][1];
        assert_eq!(said["role"], "assistant");
        assert_eq!(said["content"][0]["text"], "words 0");
        assert_eq!(said["content"][1]["input"], json!({ "path": "a" }));
        assert_eq!(said["content"][1]["id"], "call_0_a");
        assert_eq!(
            said["content"][2]["input"],
            json!({ "invalid_json": "{oops" })
        );
        let told = &body["messages"][2];
        assert_eq!(told["role"], "user");
        assert_eq!(told["content"][0]["tool_use_id"], "call_0_a");
        assert_eq!(told["content"][0].get("is_error"), None);
        assert_eq!(told["content"][1]["is_error"], true);
        assert_eq!(told["content"][2]["text"], "remark 0");
        assert_eq!(body.get("tool_choice"), None);
    }

    #[test]
    fn marks_are_at_most_four_and_stand_at_the_ends() {
        for steps in 0..5 {
            for system in ["", "be good"] {
                let body = asked(&history(steps), system, None);
                let marks = body.to_string().matches("cache_control").count();
                let expected = match steps {
                    // The summary stands after the objective.
                    0 => 3,
                    1 => 4,
                    _ => 4,
                };
                assert_eq!(marks, expected, "{steps} {system:?}");
                assert!(marks <= MAX_MARKS);
                let last = body["messages"].as_array().unwrap().last().unwrap();
                let last = last["content"].as_array().unwrap().last().unwrap();
                assert_eq!(last["cache_control"]["type"], "ephemeral");
            }
        }
    }

    #[test]
    fn silence_is_not_sent() {
        let mut history = history(1);
        history.summary = None;
        history.steps = vec![Step::default()];
        let body = asked(&history, "", None);
        let roles: Vec<&Json> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["role"])
            .collect();
        assert_eq!(roles, ["user", "user"]);
        assert_eq!(body["messages"][1]["content"][0]["text"], GO_ON);
        assert_eq!(body.get("system"), None);
    }

    #[test]
    fn a_schema_forces_the_answering_tool() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let body = asked(&history(0), "", Some(&schema));
        assert_eq!(
            body["tool_choice"],
            json!({ "type": "tool", "name": "answer" })
        );
        assert_eq!(body["tools"][1]["input_schema"], schema);
    }
}
