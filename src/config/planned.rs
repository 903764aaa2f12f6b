//! `[planner]`, `[roles]` and `[workflows]`: what planned sessions go by. Nothing here looks whether an agent or a directory exists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::model::period::Period;
use crate::model::role::Role;

/// What a planner is held to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Planner {
    #[schemars(range(min = 1, max = 10_000))]
    pub max_tasks: u32,
}

impl Default for Planner {
    fn default() -> Planner {
        Planner { max_tasks: 6 }
    }
}

/// Which agents play the roles of planned sessions; where none is named, the session's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Roles {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub planner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub analyst: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub validator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub error_analyzer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub summarizer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "name"))]
    pub merger: Option<String>,
    #[schemars(extend("format" = "positive-period"))]
    pub timeout: Period,
}

impl Default for Roles {
    fn default() -> Roles {
        Roles {
            planner: None,
            analyst: None,
            validator: None,
            error_analyzer: None,
            summarizer: None,
            merger: None,
            timeout: Period::from_mins(10),
        }
    }
}

impl Roles {
    /// The agent that is named for a role.
    pub fn of(&self, role: Role) -> Option<&str> {
        let name = match role {
            Role::Planner => &self.planner,
            Role::Analyst => &self.analyst,
            Role::Validator => &self.validator,
            Role::ErrorAnalyzer => &self.error_analyzer,
            Role::Summarizer => &self.summarizer,
            Role::Merger => &self.merger,
        };
        name.as_deref()
    }
}

/// Where workflows come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workflows {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub dir: Option<PathBuf>,
}
