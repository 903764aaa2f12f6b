//! `[digest]`: when the morning paper is sent, to whom, and how far it looks back. Nothing here looks at the clock.

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schedule::zone_named;
use crate::model::period::Period;
use crate::model::request;

/// The morning paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Digest {
    /// It is sent only where this is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "cron"))]
    pub cron: Option<String>,
    /// A name of the IANA time zone database; the machine's own zone where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "line"))]
    pub timezone: Option<String>,
    #[schemars(schema_with = "request::names")]
    pub notify: Vec<String>,
    #[schemars(extend("format" = "positive-period"))]
    pub since: Period,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest {
            cron: None,
            timezone: None,
            notify: Vec::new(),
            since: Period::from_hours(24),
        }
    }
}

impl Digest {
    /// Its time zone; the error is the rest of a sentence about the key.
    pub fn zone(&self) -> Result<TimeZone, String> {
        zone_named(self.timezone.as_deref())
    }
}
