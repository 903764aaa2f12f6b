//! The prompts of iterations and roles, from templates and what is known.
//! Values are text: whatever an objective or a handoff holds, it is never read as a template.

mod earlier;
mod iteration;
mod roles;

pub use earlier::{EarlierTask, MAX_RESULTS_BYTES, sharing};
pub use iteration::{
    IterationPrompt, PreviousIteration, StepPrompt, SubAgentReport, SummarizerPrompt,
};
pub use roles::{
    AnalystPrompt, AnswerPrompt, ErrorAnalyzerPrompt, Material, MergerPrompt, PlannerPrompt,
    QueryPrompt, TaskCard, ValidatorPrompt,
};

use anyhow::{Context, Result};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::path::Path;

/// The file of a template and its built-in text.
macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../config/prompts/", $name)))),+]
    };
}

const BUILT_IN: &[(&str, &str)] = built_in![
    "iteration.md",
    "summarizer.md",
    "planner.md",
    "analyst.md",
    "query.md",
    "validator.md",
    "error_analyzer.md",
    "answer.md",
    "merger.md",
    // Parts of the ones above.
    "material.md",
    "json.md",
];

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
            .try_each()
            .context("a prompt template does not render")?;
        Ok(prompts)
    }

    /// A template that names a value which is not there shall fail now, and not at night.
    fn try_each(&self) -> Result<()> {
        self.iteration(&IterationPrompt::default())?;
        self.summarizer(&SummarizerPrompt::default())?;
        self.planner(&PlannerPrompt::default())?;
        self.analyst(&AnalystPrompt::default())?;
        self.query(&QueryPrompt::default())?;
        self.validator(&ValidatorPrompt::default())?;
        self.error_analyzer(&ErrorAnalyzerPrompt::default())?;
        self.answer(&AnswerPrompt::default())?;
        self.merger(&MergerPrompt::default())?;
        Ok(())
    }

    /// Writes the prompt of one iteration.
    pub fn iteration(&self, values: &IterationPrompt) -> Result<String> {
        self.render("iteration.md", values)
    }

    /// Writes the prompt of a summary.
    pub fn summarizer(&self, values: &SummarizerPrompt) -> Result<String> {
        self.render("summarizer.md", values)
    }

    /// Writes the prompt of a plan.
    pub fn planner(&self, values: &PlannerPrompt) -> Result<String> {
        self.render("planner.md", values)
    }

    /// Writes the prompt of an `analysis` task.
    pub fn analyst(&self, values: &AnalystPrompt) -> Result<String> {
        self.render("analyst.md", values)
    }

    /// Writes the prompt for a query.
    pub fn query(&self, values: &QueryPrompt) -> Result<String> {
        self.render("query.md", values)
    }

    /// Writes the prompt of a `validation` task.
    pub fn validator(&self, values: &ValidatorPrompt) -> Result<String> {
        self.render("validator.md", values)
    }

    /// Writes the prompt about a failure.
    pub fn error_analyzer(&self, values: &ErrorAnalyzerPrompt) -> Result<String> {
        self.render("error_analyzer.md", values)
    }

    /// Writes the prompt of the final answer.
    pub fn answer(&self, values: &AnswerPrompt) -> Result<String> {
        self.render("answer.md", values)
    }

    /// Writes the prompt about a conflict of branches.
    pub fn merger(&self, values: &MergerPrompt) -> Result<String> {
        self.render("merger.md", values)
    }

    fn render(&self, name: &str, values: &impl Serialize) -> Result<String> {
        let template = self.environment.get_template(name)?;
        Ok(template.render(minijinja::value::Serde(values))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_templates_win_and_broken_ones_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text);
        let values = IterationPrompt {
            objective: "Make {{ it }} work".to_owned(),
            ..IterationPrompt::default()
        };
        write("iteration.md", "Hello {{ objective }}").unwrap();
        let own = Prompts::load(Some(directory.path())).unwrap();
        assert_eq!(own.iteration(&values).unwrap(), "Hello Make {{ it }} work");
        write("iteration.md", "{% if %}").unwrap();
        let refusal = format!("{:#}", Prompts::load(Some(directory.path())).err().unwrap());
        assert!(
            refusal.contains(directory.path().to_str().unwrap()),
            "{refusal}"
        );
        write("iteration.md", "{{ no_such_value }}").unwrap();
        assert!(Prompts::load(Some(directory.path())).is_err());
    }

    #[test]
    fn every_role_may_have_a_template_of_its_own() {
        for (name, _) in BUILT_IN {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(name), "{{ no_such_value }}").unwrap();
            assert!(Prompts::load(Some(directory.path())).is_err(), "{name}");
        }
    }
}
