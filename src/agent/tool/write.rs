//! `write`: a file, whole. It must not leave half of one.

use super::room::Den;
use super::{Fault, Tool, ToolCard, arguments, aside, show};
use crate::agent::Pending;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::sync::Arc;

/// The largest file that is written, also by `edit`.
pub const MAX_FILE_BYTES: usize = 5 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Path of the file, relative to the workspace.
    path: String,
    /// All that the file shall hold.
    content: String,
}

pub struct Write(pub Arc<Den>);

impl Tool for Write {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "write",
            description: "Writes a file of the workspace, whole: makes it with its directories, or replaces what was in it. To change a part of a file, use edit.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        false
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        let den = self.0.clone();
        Box::pin(async move {
            let wanted: Arguments = arguments::take("write", sent)?;
            aside(move || write(&den, &wanted)).await
        })
    }
}

fn write(den: &Den, wanted: &Arguments) -> Result<String, Fault> {
    let bytes = wanted.content.len();
    check_size(bytes)?;
    let destination = den.jail.destination(&wanted.path)?;
    destination.put(wanted.content.as_bytes())?;
    let done = if destination.exists() {
        "Replaced"
    } else {
        "Wrote"
    };
    let lines = show::count(wanted.content.lines().count(), "line");
    Ok(format!(
        "{done} {}: {lines}, {}.",
        wanted.path,
        show::count(bytes, "byte")
    ))
}

/// Whether a file may be so large.
pub fn check_size(bytes: usize) -> Result<(), Fault> {
    if bytes <= MAX_FILE_BYTES {
        return Ok(());
    }
    Err(Fault::Wrong(format!(
        "That would be a file of {bytes} bytes; the limit is {} MB. Make large files by a program, with bash.",
        MAX_FILE_BYTES >> 20
    )))
}
