//! `[events]`: the history as a file of lines beside the database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mirror of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    pub mirror: bool,
    #[schemars(range(min = 4096, max = 1_099_511_627_776_u64))]
    pub max_bytes: u64,
    /// So many older files are kept; at least one, for it says where to go on.
    #[schemars(range(min = 1, max = 1000))]
    pub keep: u32,
}

impl Default for Events {
    fn default() -> Events {
        Events {
            mirror: false,
            max_bytes: 67_108_864,
            keep: 5,
        }
    }
}
