//! `spawn_agent`: leaves a piece of work for another agent, upon which the turn ends. What came of it is told at the beginning of the next
//! one. Whether there is such an agent, and whether it may be asked, is for the daemon to say.

use super::room::Den;
use super::{Fault, Tool, ToolCard, arguments, aside};
use crate::agent::Pending;
use crate::model::delegation::{Errand, MAX_TASK_CHARACTERS};
use crate::workspace::letters;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The name of the agent.
    agent: String,
    /// What it is to do, with all that it needs to know: it sees the same files and none of your words.
    task: String,
}

pub struct SpawnAgent(pub Arc<Den>);

impl Tool for SpawnAgent {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "spawn_agent",
            description: "Gives a piece of work to another agent and ends your turn; its answer comes with your next one. It works in the same workspace. Leave your handoff first.",
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
            let wanted: Arguments = arguments::take("spawn_agent", sent)?;
            aside(move || spawn(&den, wanted)).await
        })
    }
}

fn spawn(den: &Den, wanted: Arguments) -> Result<String, Fault> {
    let length = wanted.task.chars().count();
    let errand = Errand::read(&wanted.agent, &wanted.task).map_err(|wrong| {
        Fault::Wrong(match length > MAX_TASK_CHARACTERS {
            true => format!("{wrong} Put the rest into a file, and name that."),
            false => wrong,
        })
    })?;
    let letter = json!(errand);
    let path = letters::spawn_path();
    let destination = den.jail.destination(&path)?;
    destination.put(letter.to_string().as_bytes())?;
    Ok(format!(
        "The work is left for {}. Your turn ends here.",
        errand.agent
    ))
}
