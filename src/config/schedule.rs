//! `[[schedules]]`: requests that start by the clock, as they are configured. Nothing here looks at the clock.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::model::nearest::nearest;
use crate::model::period::Period;
use crate::model::request::Request;
use crate::model::schedule::{CatchUp, Overlap};

/// A request that starts by the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    #[schemars(extend("format" = "name"))]
    pub name: String,
    #[schemars(extend("format" = "cron"))]
    pub cron: String,
    /// A name of the IANA time zone database; the machine's own zone where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line"))]
    pub timezone: Option<String>,
    #[schemars(schema_with = "request_schema")]
    pub request: ScheduledRequest,
    #[serde(default)]
    pub overlap: Overlap,
    #[serde(default)]
    pub catch_up: CatchUp,
    #[serde(default)]
    pub jitter: Period,
    #[serde(default = "enabled")]
    pub enabled: bool,
}

/// What a schedule asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ScheduledRequest {
    File(PathBuf),
    Inline(Box<Request>),
}

impl Schedule {
    /// Its time zone; the error is the rest of a sentence about the key.
    pub fn zone(&self) -> Result<TimeZone, String> {
        zone_named(self.timezone.as_deref())
    }
}

/// The time zone of a name, or the machine's own; the error is the rest of a sentence about the key.
pub(super) fn zone_named(name: Option<&str>) -> Result<TimeZone, String> {
    let Some(name) = name else {
        return Ok(TimeZone::system());
    };
    let database = jiff::tz::db();
    database.get(name).map_err(|_| unknown_zone(name, database))
}

fn unknown_zone(name: &str, database: &TimeZoneDatabase) -> String {
    let known: Vec<String> = database.available().map(|zone| zone.to_string()).collect();
    let near = nearest(name, known.iter().map(String::as_str));
    let advice = near.map_or(
        "write a name such as Europe/Berlin or UTC".to_owned(),
        |near| format!("did you mean {near}?"),
    );
    format!("there is no time zone {name:?}; {advice}")
}

fn enabled() -> bool {
    true
}

fn request_schema(generator: &mut SchemaGenerator) -> Schema {
    let request = generator.subschema_for::<Request>();
    json_schema!({ "anyOf": [request, { "type": "string", "format": "path" }] })
}
