//! The prompt of an iteration, from a template and what is known.
//! Values are text: whatever an objective or a handoff holds, it is never read as a template.

use anyhow::{Context, Result};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::path::Path;

const ITERATION: &str = "iteration.md";
const SUMMARIZER: &str = "summarizer.md";
const BUILT_IN: &[(&str, &str)] = &[
    (ITERATION, include_str!("../../config/prompts/iteration.md")),
    (
        SUMMARIZER,
        include_str!("../../config/prompts/summarizer.md"),
    ),
];

/// Everything the iteration's template can show.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IterationPrompt {
    pub objective: String,
    pub continuing: bool,
    pub handoff: Vec<String>,
    pub handoff_problem: Option<String>,
    pub previous: Option<PreviousIteration>,
    pub answers: Vec<Answered>,
    pub guidance: Vec<String>,
    pub verify: Option<String>,
    pub verify_failure: Option<String>,
    pub facts: Vec<String>,
    pub iteration: i64,
    pub max_iterations: i64,
    pub workspace: String,
    pub promise: String,
}

/// What the summarizer says of the run before.
#[derive(Clone, Debug, Serialize)]
pub struct PreviousIteration {
    pub number: i64,
    pub agent: String,
    pub lines: Vec<String>,
}

/// Everything the summarizer's template can show.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SummarizerPrompt {
    pub objective: String,
    pub number: i64,
    pub verdict: String,
    pub transcript: String,
    /// A line that stands around strangers' text and cannot be in it.
    pub boundary: String,
}

/// A question and what a person said to it.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    pub question: String,
    pub answer: String,
}

/// The templates: built in, each replaceable by a file of the same name.
pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
    /// Loads the templates; `overrides` is a directory whose files win over the built-in ones.
    pub fn load(overrides: Option<&Path>) -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, built_in) in BUILT_IN {
            let own = overrides
                .map(|directory| directory.join(name))
                .filter(|path| path.exists());
            let text = match &own {
                None => (*built_in).to_owned(),
                Some(path) => std::fs::read_to_string(path).with_context(|| {
                    format!("cannot read the prompt template {}", path.display())
                })?,
            };
            let place = own.map_or("built in".to_owned(), |path| path.display().to_string());
            environment
                .add_template_owned(*name, text)
                .with_context(|| format!("the prompt template {name} ({place}) is broken"))?;
        }
        let prompts = Self { environment };
        prompts
            .iteration(&IterationPrompt::default())
            .and_then(|_| prompts.summarizer(&SummarizerPrompt::default()))
            .context("a prompt template does not render")?;
        Ok(prompts)
    }

    /// Writes the prompt of one iteration.
    pub fn iteration(&self, values: &IterationPrompt) -> Result<String> {
        self.render(ITERATION, values)
    }

    /// Writes the prompt of a summary.
    pub fn summarizer(&self, values: &SummarizerPrompt) -> Result<String> {
        self.render(SUMMARIZER, values)
    }

    fn render(&self, name: &str, values: &impl Serialize) -> Result<String> {
        let template = self.environment.get_template(name)?;
        Ok(template.render(minijinja::value::Serde(values))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> IterationPrompt {
        IterationPrompt {
            objective: "Make {{ it }} work".to_owned(),
            iteration: 1,
            max_iterations: 10,
            promise: "ALL GREEN".to_owned(),
            ..IterationPrompt::default()
        }
    }

    #[test]
    fn the_first_prompt_has_no_past() {
        let text = Prompts::load(None).unwrap().iteration(&first()).unwrap();
        assert!(text.starts_with("Make {{ it }} work"), "{text}");
        assert!(text.contains("iteration 1 of at most 10"));
        for absent in [
            "continuing",
            "[RESUMED STATE]",
            "[FACTS]",
            "[VERIFICATION FAILED]",
            "[ANSWERS",
        ] {
            assert!(!text.contains(absent), "{absent}");
        }
    }

    #[test]
    fn a_later_prompt_has_all_of_it() {
        let later = IterationPrompt {
            continuing: true,
            handoff: vec!["Phase: two".to_owned()],
            handoff_problem: Some("it is not valid JSON".to_owned()),
            answers: vec![Answered {
                question: "Which?".to_owned(),
                answer: "the blue one".to_owned(),
            }],
            previous: Some(PreviousIteration {
                number: 1,
                agent: "scribe".to_owned(),
                lines: vec!["Half is done.".to_owned(), "## House rules".to_owned()],
            }),
            verify: Some("make check".to_owned()),
            verify_failure: Some("error: 1 failed".to_owned()),
            facts: vec!["iteration 1: unfinished".to_owned()],
            iteration: 2,
            ..first()
        };
        let text = Prompts::load(None).unwrap().iteration(&later).unwrap();
        for wanted in [
            "continuing a long-running task",
            "[RESUMED STATE]\nPhase: two",
            "it is not valid JSON",
            "Answer: the blue one",
            "[PREVIOUS ITERATION]\nWhat scribe read in the transcript of run 1",
            "> Half is done.\n> ## House rules\n",
            "error: 1 failed",
            "- iteration 1: unfinished",
            "iteration 2 of at most 10",
        ] {
            assert!(text.contains(wanted), "{wanted} in\n{text}");
        }
    }

    #[test]
    fn own_templates_win_and_broken_ones_are_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(ITERATION), "Hello {{ objective }}").unwrap();
        let own = Prompts::load(Some(directory.path())).unwrap();
        assert_eq!(own.iteration(&first()).unwrap(), "Hello Make {{ it }} work");
        std::fs::write(directory.path().join(ITERATION), "{% if %}").unwrap();
        let refusal = format!("{:#}", Prompts::load(Some(directory.path())).err().unwrap());
        assert!(
            refusal.contains(directory.path().to_str().unwrap()),
            "{refusal}"
        );
        std::fs::write(directory.path().join(ITERATION), "{{ no_such_value }}").unwrap();
        assert!(Prompts::load(Some(directory.path())).is_err());
    }
}
