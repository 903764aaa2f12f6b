//! How ralphd is reached over HTTP. Only the words of it; `api/` does the listening.

use crate::model::period::Period;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// What `listen` says where nobody is to listen.
pub const OFF: &str = "off";

/// How ralphd is reached over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    #[schemars(extend("format" = "listen"))]
    pub listen: String,
    /// Names beside `localhost` under which it may be asked without a token.
    #[schemars(schema_with = "hosts")]
    pub hosts: Vec<String>,
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub max_body_bytes: u64,
    #[schemars(range(min = 1, max = 100_000))]
    pub max_connections: u32,
    #[schemars(extend("format" = "positive-period"))]
    pub client_timeout: Period,
    #[schemars(extend("format" = "positive-period"))]
    pub heartbeat: Period,
    #[schemars(range(min = 1, max = 10_000_000))]
    pub requests_per_minute: u32,
}

impl Default for Http {
    fn default() -> Http {
        Http {
            listen: "127.0.0.1:7717".to_owned(),
            hosts: Vec::new(),
            max_body_bytes: 1_048_576,
            max_connections: 4_096,
            client_timeout: Period::from_secs(10),
            heartbeat: Period::from_secs(15),
            requests_per_minute: 1_200,
        }
    }
}

impl Http {
    /// Where to listen; nothing where it is off.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listen.parse().ok()
    }
}

fn hosts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "string", "format": "line", "maxLength": 253 },
        "maxItems": 100,
    })
}
