//! `[git]` and `[workspaces]`: how agents' work on repositories is kept, and how much room it may take. Nothing here calls git.

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::model::period::Period;

/// What becomes of the work in a git repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Git {
    pub auto_branch: bool,
    pub auto_commit: bool,
    pub push: bool,
    pub require_approval: bool,
    #[schemars(extend("format" = "author"))]
    pub author: String,
    #[schemars(extend("format" = "positive-period"))]
    pub timeout: Period,
    #[schemars(range(min = 1, max = 1_099_511_627_776_u64))]
    pub large_file_bytes: u64,
    /// Settings of git over all others, by their names.
    #[schemars(schema_with = "settings_schema")]
    pub settings: IndexMap<String, String>,
}

impl Default for Git {
    fn default() -> Git {
        Git {
            auto_branch: true,
            auto_commit: true,
            push: false,
            require_approval: false,
            author: "ralphd <ralphd@localhost>".to_owned(),
            timeout: Period::from_hours(1),
            large_file_bytes: 10_485_760,
            settings: IndexMap::new(),
        }
    }
}

fn settings_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "format": "git-setting" },
        "additionalProperties": { "type": "string", "format": "argument", "maxLength": 4096 },
        "maxProperties": 100,
    })
}

/// How much room workspaces may take, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workspaces {
    pub restore_points: bool,
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub min_free_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "positive-period"))]
    pub cleanup_after: Option<Period>,
}

impl Default for Workspaces {
    fn default() -> Workspaces {
        Workspaces {
            restore_points: true,
            min_free_bytes: 104_857_600,
            cleanup_after: None,
        }
    }
}
