//! `[hooks.NAME]`: what may be sent to `POST /hooks/NAME`, by whom, and what request it becomes. Secrets are only named here.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::PathBuf;

use crate::model::request::{Request, Workspace};
use crate::model::webhook::Scheme;

/// Whatever is longer is no template but a text.
const TEMPLATE_CHARACTERS: u64 = 10_000;

/// A webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// How a delivery shows where it comes from.
    pub verify: Scheme,
    /// Variables that hold the secret; several while it is changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "variables_schema")]
    pub secret_env: Vec<String>,
    /// Files that hold the secret; several while it is changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "files_schema")]
    pub secret_file: Vec<PathBuf>,
    #[serde(default = "max_bytes")]
    #[schemars(range(min = 1, max = 104_857_600))]
    pub max_bytes: u64,
    /// An expression over `payload` and `headers`; what it is not true for is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "text", "maxLength" = TEMPLATE_CHARACTERS))]
    pub filter: Option<String>,
    /// By what a delivery is known again; the sender's own id where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line", "maxLength" = TEMPLATE_CHARACTERS))]
    pub dedupe: Option<String>,
    /// The request it becomes; some of its keys are templates.
    #[schemars(schema_with = "request_schema")]
    pub request: Request,
}

fn max_bytes() -> u64 {
    1_048_576
}

fn variables_schema(_: &mut SchemaGenerator) -> Schema {
    one_or_several("env-name")
}

fn files_schema(_: &mut SchemaGenerator) -> Schema {
    one_or_several("key-file")
}

fn one_or_several(format: &str) -> Schema {
    let one = json_schema!({ "type": "string", "format": format });
    json_schema!({ "anyOf": [{ "type": "array", "items": one, "maxItems": 10 }, one] })
}

/// The keys of a request, where those that may be templates are held to their form only when they are filled.
fn request_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Request::json_schema(generator);
    let mut workspace = Workspace::json_schema(generator);
    set(&mut workspace, "/properties/session/format", "line".into());
    let longest = Json::from(TEMPLATE_CHARACTERS);
    set(
        &mut workspace,
        "/properties/session/maxLength",
        longest.clone(),
    );
    set(&mut schema, "/properties/workspace", workspace.to_value());
    set(
        &mut schema,
        "/properties/idempotency_key/maxLength",
        longest.clone(),
    );
    set(
        &mut schema,
        "/properties/labels/additionalProperties/maxLength",
        longest,
    );
    schema
}

fn set(schema: &mut Schema, pointer: &str, value: Json) {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        return;
    };
    let parent = schema.pointer_mut(parent).and_then(Json::as_object_mut);
    if let Some(parent) = parent {
        parent.insert(key.to_owned(), value);
    }
}

pub(super) fn hooks_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "name" },
        "additionalProperties": generator.subschema_for::<Hook>(),
        "maxProperties": 1_000,
    })
}
