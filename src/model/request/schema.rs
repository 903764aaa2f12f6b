//! The JSON Schema of a request, which is also what a request is checked against.

use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Changes, Problem, Problems, Request};
use crate::model::document::{Node, Shape, check};

const LIST_ENTRIES: u64 = 1_000;
const LABELS: u64 = 64;
const LABEL_CHARACTERS: u64 = 256;

static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Request>);
static SHAPE_OF_CHANGES: LazyLock<Shape> = LazyLock::new(Shape::of::<Changes>);

/// The JSON Schema of a request.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Request).to_value()
}

/// The schema of defaults that are laid under requests: the same keys without `objective`.
pub fn defaults_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Request::json_schema(generator);
    schema.remove("required");
    schema.insert(
        "description".into(),
        "Defaults for the requests of this inbox.".into(),
    );
    let properties = schema.get_mut("properties");
    if let Some(properties) = properties.and_then(|properties| properties.as_object_mut()) {
        // Keeps the order of the others, which messages list.
        properties.shift_remove("objective");
    }
    schema
}

/// Checks a placed tree and makes a request of it.
pub(super) fn request_from(node: &Node) -> Result<Request, Problems> {
    checked(node, &SHAPE)
}

/// The same for some keys of a request.
pub(super) fn changes_from(node: &Node) -> Result<Request, Problems> {
    checked(node, &SHAPE_OF_CHANGES)
}

fn checked(node: &Node, shape: &Shape) -> Result<Request, Problems> {
    let (json, findings) = check(node, shape);
    match json {
        Some(json) if findings.is_empty() => {
            serde_json::from_value(json).map_err(|error| Problem::plain(error.to_string()).into())
        }
        _ => Err(Problems::from(findings)),
    }
}

impl JsonSchema for Changes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Changes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Request::json_schema(generator);
        schema.remove("required");
        schema.insert(
            "description".into(),
            "Keys of a request that win over those of an earlier one.".into(),
        );
        schema
    }
}

pub(super) fn globs(_: &mut SchemaGenerator) -> Schema {
    list_of("glob")
}

pub(super) fn lines(_: &mut SchemaGenerator) -> Schema {
    list_of("line")
}

pub(crate) fn names(_: &mut SchemaGenerator) -> Schema {
    list_of("name")
}

/// A list of names of environment variables.
pub(crate) fn env_names(_: &mut SchemaGenerator) -> Schema {
    list_of("env-name")
}

fn list_of(format: &str) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "string", "format": format },
        "maxItems": LIST_ENTRIES,
    })
}

/// What a workflow is given.
pub(super) fn inputs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "input-name" },
        "additionalProperties": { "type": "string", "format": "argument", "maxLength": 65_536 },
        "maxProperties": 100,
    })
}

pub(super) fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "label-name" },
        "additionalProperties": { "type": "string", "maxLength": LABEL_CHARACTERS },
        "maxProperties": LABELS,
    })
}
