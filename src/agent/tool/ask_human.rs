//! `ask_human`: leaves a question for a person, upon which the turn ends. The answer comes with the next one.

use super::room::Den;
use super::{Fault, Tool, ToolCard, arguments, aside};
use crate::agent::Pending;
use crate::workspace::letters;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

const MAX_QUESTION_CHARACTERS: usize = 4_000;
const MAX_OPTIONS: usize = 20;
const MAX_OPTION_CHARACTERS: usize = 500;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The question, with all that a person needs to know to answer it.
    question: String,
    /// Answers to choose from, if there are any.
    options: Option<Vec<String>>,
}

pub struct AskHuman(pub Arc<Den>);

impl Tool for AskHuman {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "ask_human",
            description: "Asks a person and ends your turn; the answer comes with your next one. Only for what you can neither find out nor decide yourself.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        false
    }

    fn ends_turn(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        let den = self.0.clone();
        Box::pin(async move {
            let asked: Arguments = arguments::take("ask_human", sent)?;
            aside(move || ask(&den, &asked)).await
        })
    }
}

fn ask(den: &Den, asked: &Arguments) -> Result<String, Fault> {
    let question = asked.question.trim();
    let options = asked.options.as_deref().unwrap_or_default();
    let too_long = |option: &String| option.chars().count() > MAX_OPTION_CHARACTERS;
    let wrong = match question.chars().count() {
        0 => Some("The question is empty.".to_owned()),
        length if length > MAX_QUESTION_CHARACTERS => Some(format!(
            "The question has {length} characters; a person reads at most {MAX_QUESTION_CHARACTERS}. Make it shorter."
        )),
        _ if options.len() > MAX_OPTIONS => {
            Some(format!("At most {MAX_OPTIONS} options may be given."))
        }
        _ if options.iter().any(too_long) => Some(format!(
            "An option may have at most {MAX_OPTION_CHARACTERS} characters; put the rest into the question."
        )),
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(Fault::Wrong(wrong));
    }
    let letter = json!({"question": question, "options": options});
    let path = letters::question_path();
    let destination = den.jail.destination(&path)?;
    destination.put(letter.to_string().as_bytes())?;
    Ok("The question is left for a person. Your turn ends here.".to_owned())
}
