//! Sessions in which something goes wrong, as rows of a table: what each is, and what it must come to.

use super::example::CUSTOMERS;
use super::stage::{Stage, plan};
use crate::support::{Session, Site};
use serde_json::Value as Json;

/// One session in which something goes wrong.
pub struct Row {
    name: &'static str,
    front: &'static str,
    tasks: Json,
    /// Roles and what they say.
    says: Vec<(&'static str, String)>,
    /// Status and reason of the session.
    ending: (&'static str, &'static str),
    /// The states of its tasks.
    states: &'static str,
    /// What was decided about each failure.
    decisions: &'static str,
    /// How often the first task was tried again.
    retries: i64,
}

impl Row {
    /// A session of these tasks, which goes well in the end.
    pub fn new(name: &'static str, tasks: Json) -> Self {
        Self {
            name,
            front: "autonomy: 4",
            tasks,
            says: Vec::new(),
            ending: ("completed", "completed"),
            states: "completed completed",
            decisions: "",
            retries: 0,
        }
    }

    pub fn front(self, front: &'static str) -> Self {
        Self { front, ..self }
    }

    pub fn says(mut self, role: &'static str, words: impl Into<String>) -> Self {
        self.says.push((role, words.into()));
        self
    }

    pub fn decides(self, decisions: &'static str, retries: i64) -> Self {
        Self {
            decisions,
            retries,
            ..self
        }
    }

    pub fn comes_to(self, states: &'static str) -> Self {
        Self { states, ..self }
    }

    pub fn fails(self, states: &'static str) -> Self {
        let ending = ("failed", "task_failed");
        Self {
            ending,
            states,
            ..self
        }
    }

    pub fn asks(self, states: &'static str) -> Self {
        let ending = ("awaiting_human", "-");
        Self {
            ending,
            states,
            ..self
        }
    }

    fn submit(&self, stage: &Stage) {
        let mut case = stage.case(self.name).front(self.front);
        if self.tasks.to_string().contains("SELECT") {
            let path = stage.file("customers.csv").display().to_string();
            case = case.front(&format!("datasets: [{path}]"));
        }
        case = case.says("planner.1", &plan(self.tasks.clone()));
        for (role, words) in &self.says {
            case = case.says(role, words);
        }
        case.submit();
    }

    fn assert(&self, stage: &Stage) -> Session {
        let session = match self.ending.0 {
            "awaiting_human" => stage.in_state(self.name, "awaiting_human"),
            _ => stage.ended(self.name),
        };
        let name = self.name;
        assert_eq!(session.ending(), self.ending, "{name}: {session:?}");
        assert_eq!(stage.states(&session), self.states, "{name}");
        assert_eq!(stage.decisions(&session), self.decisions, "{name}");
        assert_eq!(stage.task(&session, 1)["retries"], self.retries, "{name}");
        session
    }
}

/// Runs all rows at once on one stage, and looks at each.
pub fn play(rows: Vec<Row>) -> (Stage, Vec<Session>) {
    let site = Site::new();
    std::fs::write(site.file("customers.csv"), CUSTOMERS).unwrap();
    let stage = Stage::on(site, "");
    rows.iter().for_each(|row| row.submit(&stage));
    let sessions = rows.iter().map(|row| row.assert(&stage)).collect();
    (stage, sessions)
}
