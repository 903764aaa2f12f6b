//! Answers as models write them, and the schemas that models are held to.

use super::*;
use crate::model::document::{Node, Shape, check, shape::tests::assert_checkable};
use crate::model::policy::AnalyzerChoice;
use serde_json::json;

fn refused<T: std::fmt::Debug>(answer: Result<T, String>, expected: &str) {
    assert_eq!(answer.unwrap_err(), expected);
}

#[test]
fn a_decision_is_any_plain_value() {
    for (given, expected) in [
        (json!(" customers "), json!("customers")),
        (json!(42), json!(42)),
        (json!(0.5), json!(0.5)),
        (json!(false), json!(false)),
    ] {
        let answer =
            json!({ "decision": given, "reasoning": "r", "confidence": " HIGH ", "mood": "good" });
        let analysis = Analysis::read(&answer).unwrap();
        assert!(!analysis.needs_a_person());
        let result = json!({ "decision": expected, "reasoning": "r", "confidence": "high" });
        assert_eq!(json!(analysis), result);
    }
    let wrapped =
        json!({ "answer": { "Decision": "a", "confidence": "**low**.", "options": null } });
    assert_eq!(
        Analysis::read(&wrapped).unwrap().confidence,
        Confidence::Low
    );
}

#[test]
fn several_options_are_a_question_to_a_person() {
    let answer = json!({ "decision": null, "options": ["orders", 7, "orders", " "], "question": "Which?", "confidence": "low" });
    let analysis = Analysis::read(&answer).unwrap();
    assert!(analysis.needs_a_person());
    assert_eq!(analysis.options, ["orders", "7"]);
    assert_eq!(analysis.question.as_deref(), Some("Which?"));
    let unsure = Analysis::read(&json!({ "decision": "", "options": ["a", "b"] })).unwrap();
    assert_eq!(
        (unsure.decision, unsure.confidence),
        (Json::Null, Confidence::Low)
    );
    let one = json!({ "decision": "a", "options": "a", "confidence": "medium" });
    assert!(!Analysis::read(&one).unwrap().needs_a_person());
}

#[test]
fn what_is_wrong_with_an_analysis_is_told_at_once() {
    for (answer, expected) in [
        (
            json!({ "reasoning": "r", "confidence": "sure" }),
            "decision: missing; give one value, or at least two options for a person to choose from; confidence: must be high or medium or low, is \"sure\"",
        ),
        (
            json!({ "decision": ["a", "b"] }),
            "decision: must be one value (text, a number, true or false), is a list; confidence: missing; write high or medium or low",
        ),
        (
            json!({ "decision": "a", "confidence": 0.9 }),
            "confidence: must be high or medium or low, is \"0.9\"",
        ),
        (
            json!({ "decision": "a", "confidence": ["high"], "reasoning": {} }),
            "reasoning: must be text, is a table of keys; confidence: must be text, is a list",
        ),
        (
            json!({ "decision": "a", "confidence": "high", "options": [{}, 1] }),
            "options: each must be text, one is a table of keys",
        ),
        (
            json!({ "confidence": "low", "options": (0..30).collect::<Vec<_>>() }),
            "options: must be at most 20, are 30; keep the likeliest",
        ),
        (
            json!([1]),
            "the answer must be a JSON object with decision, reasoning, confidence and options, is a list",
        ),
    ] {
        refused(Analysis::read(&answer), expected);
    }
    let essay = json!({ "decision": "x".repeat(100_001), "confidence": "low" });
    assert!(Analysis::read(&essay).is_err());
    let talkative =
        json!({ "decision": "x", "reasoning": "é".repeat(20_000), "confidence": "low" });
    assert_eq!(Analysis::read(&talkative).unwrap().reasoning.len(), 20_000);
}

#[test]
fn a_verdict_says_what_is_wrong() {
    for (answer, expected) in [
        (
            json!({ "is_valid": true, "message": "42 is fine" }),
            Ok((true, "42 is fine")),
        ),
        (json!({ "is_valid": "Yes" }), Ok((true, ""))),
        (
            json!({ "is_valid": "FALSE", "message": "negative" }),
            Ok((false, "negative")),
        ),
        (
            json!({ "is_valid": false, "message": " " }),
            Err("message: missing; say what is wrong with the results"),
        ),
        (
            json!({ "message": "well" }),
            Err("is_valid: missing; write true or false"),
        ),
        (
            json!({ "is_valid": "mostly", "message": "well" }),
            Err("is_valid: must be true or false, is text \"mostly\""),
        ),
        (
            json!({ "is_valid": [] }),
            Err("is_valid: must be true or false, is a list"),
        ),
    ] {
        match (Validity::read(&answer), expected) {
            (Ok(found), Ok(wanted)) => assert_eq!((found.is_valid, &found.message[..]), wanted),
            (found, Err(wanted)) => refused(found, wanted),
            (found, Ok(_)) => panic!("{answer}: {found:?}"),
        }
    }
}

#[test]
fn advice_has_a_choice_and_a_reason() {
    let answer = json!({ "decision": "Human", "reasoning": "unclear", "fix": null, "question": "Which year?", "options": [2024, 2025] });
    let advice = Advice::read(&answer).unwrap();
    assert_eq!(advice.decision, AnalyzerChoice::Human);
    assert_eq!(advice.options, ["2024", "2025"]);
    assert_eq!(advice.fix, None);
    refused(
        Advice::read(&json!({ "decision": "give up" })),
        "decision: must be retry or skip or stop or human or replan, is \"give up\"; reasoning: missing; say why",
    );
}

#[test]
fn a_query_may_stand_in_a_fence() {
    for (sql, expected) in [
        ("SELECT 1", "SELECT 1"),
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("```\nSELECT 1```", "SELECT 1"),
        ("```SQL SELECT 1", "SELECT 1"),
    ] {
        assert_eq!(Query::read(&json!({ "sql": sql })).unwrap().sql, expected);
    }
    refused(
        Query::read(&json!({ "sql": null })),
        "sql: missing; write one SELECT",
    );
    refused(
        Query::read(&json!({ "sql": "```sql\n```" })),
        "sql: is empty; write one SELECT",
    );
    refused(
        Query::read(&json!({ "sql": ["SELECT 1"] })),
        "sql: must be text, is a list",
    );
}

#[test]
fn schemas_are_strict_and_checkable() {
    for schema in [
        Analysis::schema(),
        Validity::schema(),
        Advice::schema(),
        Query::schema(),
        plan_schema(),
    ] {
        assert_checkable(&schema);
        assert_strict(&schema);
    }
    let advice = Advice::schema();
    assert_eq!(advice.get("description"), None);
    assert_eq!(
        advice["properties"]["fix"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(
        advice["properties"]["decision"]["enum"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    let task = &plan_schema()["$defs"]["PlanTask"];
    assert_eq!(task["required"].as_array().unwrap().len(), 13);
    assert_eq!(task["properties"]["type"]["type"], "string");
}

/// The rules of the dialect: all properties required, no others, no word that it does not know.
fn assert_strict(schema: &Json) {
    match schema {
        Json::Object(words) => {
            for word in ["$schema", "default", "format", "maxLength"] {
                assert!(words.get(word).is_none(), "{word} in {schema}");
            }
            if let Some(Json::Object(properties)) = words.get("properties") {
                let names: Vec<&String> = properties.keys().collect();
                assert_eq!(words["required"], json!(names));
                assert_eq!(words["additionalProperties"], false);
                assert!(
                    properties
                        .values()
                        .all(|property| property.get("description").is_some())
                );
            }
            words.values().for_each(assert_strict);
        }
        Json::Array(items) => items.iter().for_each(assert_strict),
        _ => {}
    }
}

#[test]
fn what_fits_the_strict_schema_of_plans_is_a_plan() {
    let answer = json!({
        "plan_summary": "Count.", "complexity": null,
        "tasks": [{
            "order": 1, "type": "sql_aggregate", "description": "Count them", "depends_on": null, "agent": null, "critical": false,
            "on_failure": null, "target": null, "sql": "SELECT count(*) AS total FROM customers", "filter": null, "command": null,
            "expected_output": null, "reasoning": null,
        }],
    });
    let (_, findings) = check(
        &Node::from(answer.clone()),
        &Shape::from_schema(&plan_schema()),
    );
    assert_eq!(findings, []);
    let rules = plan::Rules {
        agents: &[],
        max_tasks: 6,
        kept: &[],
    };
    assert_eq!(plan::from_value(answer, &rules).unwrap().tasks.len(), 1);
}
