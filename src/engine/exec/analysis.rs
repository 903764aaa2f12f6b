//! `analysis`: a decision by a model. Where several answers are equally right, a person chooses.

use crate::engine::prompt::AnalystPrompt;
use crate::engine::work::{Consulted, Question, Trouble, Work};
use crate::model::policy::ErrorClass;
use crate::model::role::{Analysis, Role, json_in};
use anyhow::Result;

pub async fn run(mut work: Work) -> Result<()> {
    let schema = Analysis::schema();
    let material = work.material().await?.for_answer_of(&schema);
    let house = work.house.clone();
    let question = Question {
        role: Role::Analyst,
        in_workspace: false,
        schema: Some(schema),
        prompt: &|problem| {
            let material = material.clone().after(problem);
            house.prompts.analyst(&AnalystPrompt { material })
        },
        read: &|text| Analysis::read(&json_in(text)?),
    };
    match work.consult(&question).await? {
        Consulted::Answer(analysis) if analysis.needs_a_person() => {
            let trouble = Trouble {
                question: analysis.question.clone(),
                options: analysis.options.clone(),
                ..Trouble::new(ErrorClass::Ambiguous, why_ambiguous(&analysis))
            };
            work.setback(trouble).await
        }
        Consulted::Answer(analysis) => {
            let summary = match &analysis.decision {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            work.complete(serde_json::to_value(&analysis)?, &summary)
                .await
        }
        other => work.without_answer(other).await,
    }
}

fn why_ambiguous(analysis: &Analysis) -> String {
    match analysis.reasoning.trim() {
        "" => format!("several are equally right: {}", analysis.options.join(", ")),
        reasoning => reasoning.to_owned(),
    }
}
