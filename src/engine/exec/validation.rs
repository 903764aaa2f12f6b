//! `validation`: a model judges results. What is not valid is a failure, and no second opinion is asked: that would only be shopping for a yes.

use crate::engine::prompt::ValidatorPrompt;
use crate::engine::work::{Consulted, Question, Trouble, Work};
use crate::model::policy::ErrorClass;
use crate::model::role::{Role, Validity, json_in};
use anyhow::Result;

pub async fn run(mut work: Work) -> Result<()> {
    let schema = Validity::schema();
    let material = work.material().await?.for_answer_of(&schema);
    let house = work.house.clone();
    let question = Question {
        role: Role::Validator,
        in_workspace: false,
        schema: Some(schema),
        prompt: &|problem| {
            let material = material.clone().after(problem);
            house.prompts.validator(&ValidatorPrompt { material })
        },
        read: &|text| Validity::read(&json_in(text)?),
    };
    match work.consult(&question).await? {
        Consulted::Answer(validity) => {
            let result = serde_json::to_value(&validity)?;
            if validity.is_valid {
                return work.complete(result, &validity.message).await;
            }
            let message = format!("not valid: {}", validity.message);
            let trouble = Trouble {
                result: Some(result),
                ..Trouble::new(ErrorClass::Format, message)
            };
            work.setback(trouble).await
        }
        other => work.without_answer(other).await,
    }
}
