//! `[notify.NAME]` and `[callbacks]`: who is told of sessions, and how. Nothing here looks whether a variable is set or a program exists.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::model::notice::{OF_SESSIONS, Occasion};
use crate::model::period::Period;
use crate::model::words::words;

words! {
    /// How somebody is told.
    pub enum TargetKind {
        Webhook => "webhook",
        Ntfy => "ntfy",
        Slack => "slack",
        Exec => "exec",
    }
}

/// Who is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub kind: TargetKind,
    /// Where it is posted to; for ntfy the address of a topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "http-url", "maxLength" = 2000))]
    pub url: Option<String>,
    /// The variable that holds the address, where that is a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "env-name"))]
    pub url_env: Option<String>,
    /// What a webhook is signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "env-name"))]
    pub secret_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "key-file"))]
    pub secret_file: Option<PathBuf>,
    /// What an ntfy server wants to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "env-name"))]
    pub token_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "key-file"))]
    pub token_file: Option<PathBuf>,
    /// What a tap on a message of ntfy opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "http-url", "maxLength" = 2000))]
    pub click: Option<String>,
    /// The program that is told, and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "super::agent::command_schema")]
    pub command: Vec<String>,
    #[serde(default = "every_occasion")]
    #[schemars(schema_with = "occasions_schema")]
    pub on: Vec<Occasion>,
    /// Whether it may be on this machine or in a network of its own.
    #[serde(default)]
    pub allow_private: bool,
    /// How long one try may take.
    #[serde(default = "usual_timeout")]
    #[schemars(extend("format" = "positive-period"))]
    pub timeout: Period,
    /// The wait before the second try; it doubles.
    #[serde(default = "usual_backoff")]
    #[schemars(extend("format" = "positive-period"))]
    pub backoff: Period,
}

/// How the `callback_url` of a request is posted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Callbacks {
    pub allow_private: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "env-name"))]
    pub secret_env: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "key-file"))]
    pub secret_file: Option<PathBuf>,
    #[schemars(extend("format" = "positive-period"))]
    pub timeout: Period,
    #[schemars(extend("format" = "positive-period"))]
    pub backoff: Period,
}

impl Default for Callbacks {
    fn default() -> Callbacks {
        Callbacks {
            allow_private: false,
            secret_env: None,
            secret_file: None,
            timeout: usual_timeout(),
            backoff: usual_backoff(),
        }
    }
}

impl Target {
    /// The variables that hold something nobody may read.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let variables = [&self.url_env, &self.secret_env, &self.token_env];
        variables.into_iter().flatten().map(String::as_str)
    }
}

fn every_occasion() -> Vec<Occasion> {
    OF_SESSIONS.to_vec()
}

fn usual_timeout() -> Period {
    Period::from_secs(10)
}

fn usual_backoff() -> Period {
    Period::from_secs(5)
}

fn occasions_schema(_: &mut SchemaGenerator) -> Schema {
    let known = OF_SESSIONS.map(Occasion::as_str);
    json_schema!({
        "type": "array",
        "items": { "type": "string", "enum": known },
        "minItems": 1,
        "maxItems": 4,
    })
}

/// By name, as agents are.
pub(super) fn targets_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "name" },
        "additionalProperties": generator.subschema_for::<Target>(),
        "maxProperties": 100,
    })
}
