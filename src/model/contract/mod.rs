//! The history as a public contract: every type of event, what it tells of, and the fields of its data. The table is what
//! `ralphd schema events` prints and what the test suite holds every written event to. Fields may be added; none is renamed or removed.

mod table;

use super::session::SessionState;
use super::task::TaskState;
use serde_json::{Map, Value as Json, json};
use table::{CREATED, OTHERS, SESSION_END, SESSION_STEP, TASK_STEP};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    Whole,
    Number,
    Flag,
    Texts,
    Object,
}

/// A field of an event's data.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    form: Form,
    says: &'static str,
    /// It may be null.
    nullable: bool,
    /// It may be left out.
    optional: bool,
}

impl Field {
    const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    const fn or_absent(mut self) -> Self {
        self.optional = true;
        self
    }

    fn schema(&self) -> Json {
        let kind = match self.form {
            Form::Text => "string",
            Form::Whole => "integer",
            Form::Number => "number",
            Form::Flag => "boolean",
            Form::Texts => "array",
            Form::Object => "object",
        };
        let mut schema = json!({ "type": kind, "description": self.says });
        if self.nullable {
            schema["type"] = json!([kind, "null"]);
        }
        if self.form == Form::Texts {
            schema["items"] = json!({ "type": "string" });
        }
        schema
    }
}

const fn field(form: Form, name: &'static str, says: &'static str) -> Field {
    Field {
        name,
        form,
        says,
        nullable: false,
        optional: false,
    }
}

const fn text(name: &'static str, says: &'static str) -> Field {
    field(Form::Text, name, says)
}

const fn whole(name: &'static str, says: &'static str) -> Field {
    field(Form::Whole, name, says)
}

const fn number(name: &'static str, says: &'static str) -> Field {
    field(Form::Number, name, says)
}

const fn flag(name: &'static str, says: &'static str) -> Field {
    field(Form::Flag, name, says)
}

/// What the event of a session's step says.
fn of_session(to: SessionState) -> (String, &'static [Field]) {
    let fields = match to {
        SessionState::Created => CREATED,
        state if state.is_terminal() => SESSION_END,
        _ => SESSION_STEP,
    };
    (
        format!("A session is {}.", to.as_str().replace('_', " ")),
        fields,
    )
}

/// Every type of event there is, with what it says and its fields.
pub fn all() -> Vec<(String, String, &'static [Field])> {
    let sessions = SessionState::ALL.iter().map(|state| {
        let (says, fields) = of_session(*state);
        (format!("session.{state}"), says, fields)
    });
    let tasks = TaskState::ALL.iter().map(|state| {
        let says = format!("A task is {}.", state.as_str().replace('_', " "));
        (format!("task.{state}"), says, TASK_STEP)
    });
    let others = OTHERS
        .iter()
        .map(|(kind, says, fields)| (kind.to_string(), (*says).to_owned(), *fields));
    sessions.chain(tasks).chain(others).collect()
}

/// The JSON Schema of an event, as `/v1/events`, the mirror and `watch --json` have it.
pub fn schema() -> Json {
    let events = all().into_iter().map(|(kind, says, fields)| {
        let properties: Map<String, Json> = fields
            .iter()
            .map(|field| (field.name.to_owned(), field.schema()))
            .collect();
        let required: Vec<&str> = fields
            .iter()
            .filter(|field| !field.optional)
            .map(|field| field.name)
            .collect();
        json!({
            "title": kind,
            "description": says,
            "properties": {
                "type": { "const": kind },
                "data": { "type": "object", "properties": properties, "required": required },
            },
        })
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Event",
        "description": "One line of the history. Types and fields may be added; none is renamed or removed.",
        "type": "object",
        "properties": {
            "seq": { "type": "integer", "description": "Its number; later events have greater ones, and some may be missing." },
            "session_id": { "type": ["string", "null"], "description": "The session that it is about." },
            "task_id": { "type": ["string", "null"], "description": "The task that it is about." },
            "at_ms": { "type": "integer", "description": "When it happened, in milliseconds since 1970." },
            "type": { "type": "string" },
            "data": { "type": "object" },
        },
        "required": ["seq", "session_id", "task_id", "at_ms", "type", "data"],
        "oneOf": events.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EventType;
    use std::collections::BTreeSet;

    #[test]
    fn every_type_is_there_once_and_names_no_field_twice() {
        let all = all();
        let types: BTreeSet<&String> = all.iter().map(|(kind, _, _)| kind).collect();
        assert_eq!(types.len(), all.len());
        for kind in EventType::ALL {
            assert!(types.contains(&kind.to_string()), "{kind}");
        }
        for (kind, says, fields) in &all {
            let names: BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), fields.len(), "{kind}");
            assert!(says.ends_with('.'), "{kind}: {says}");
            let sentences = fields.iter().all(|field| field.says.ends_with('.'));
            assert!(sentences, "{kind}");
        }
    }
}
