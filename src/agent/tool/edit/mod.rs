//! `edit`: one exact piece of a file for another. It must not guess: a piece that is not there, or there more than once,
//! is refused with what would help to name it better.

mod replace;

use super::jail::Opened;
use super::room::Den;
use super::write::{MAX_FILE_BYTES, check_size};
use super::{Fault, Tool, ToolCard, arguments, aside, show};
use crate::agent::Pending;
use replace::{Refused, replace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::io::Read;
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Path of the file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as the file has it, with its indentation and without line numbers.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence; otherwise old_string must occur just once.
    replace_all: Option<bool>,
}

pub struct Edit(pub Arc<Den>);

impl Tool for Edit {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "edit",
            description: "Replaces one exact piece of a file of the workspace. old_string must occur exactly once, unless replace_all is true: give enough lines around the change.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        false
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        let den = self.0.clone();
        Box::pin(async move {
            let wanted: Arguments = arguments::take("edit", sent)?;
            aside(move || edit(&den, &wanted)).await
        })
    }
}

fn edit(den: &Den, wanted: &Arguments) -> Result<String, Fault> {
    let path = &wanted.path;
    let before = whole(path, den.jail.read(path)?)?;
    let all = wanted.replace_all.unwrap_or(false);
    let edited = replace(&before, &wanted.old_string, &wanted.new_string, all)
        .map_err(|refused| Fault::Wrong(in_words(path, refused)))?;
    check_size(edited.content.len())?;
    den.jail.destination(path)?.put(&edited.content)?;
    let lines = show::places(&edited.lines);
    Ok(match edited.lines.len() {
        1 => format!("Changed {path} at line {lines}."),
        many => format!("Changed {path} in {many} places, at lines {lines}."),
    })
}

fn whole(path: &str, opened: Opened) -> Result<Vec<u8>, Fault> {
    let max = MAX_FILE_BYTES as u64;
    if opened.bytes > max {
        return Err(Fault::Wrong(format!(
            "{path} has {} bytes; files up to {} MB can be edited. Change it by a program, with bash.",
            opened.bytes,
            max >> 20
        )));
    }
    let mut content = Vec::new();
    opened
        .file
        .take(max + 1)
        .read_to_end(&mut content)
        .map_err(|error| Fault::Passing(format!("{path} could not be read: {error}")))?;
    check_size(content.len())?;
    if show::is_binary(&content) {
        return Err(Fault::Wrong(format!(
            "{path} is a binary file: it cannot be edited as text."
        )));
    }
    Ok(content)
}

fn in_words(path: &str, refused: Refused) -> String {
    match refused {
        Refused::Empty => "old_string is empty: name the text to replace. For a new file, or a whole one, use write.".to_owned(),
        Refused::Same => "old_string and new_string are the same: nothing would change.".to_owned(),
        Refused::Ambiguous(lines) => format!(
            "old_string occurs {} times in {path}, at lines {}. Add lines around it until it occurs once, or set replace_all to true.",
            lines.len(),
            show::places(&lines)
        ),
        Refused::Numbered => format!(
            "old_string is not in {path} as it stands, but it is without the line numbers at its beginnings: those are only shown by read. Leave them out."
        ),
        Refused::Spaced { line, text } => format!(
            "old_string is not in {path}. At line {line} stands text that differs from it only in white space (→ is a tab). Copy it exactly:\n{text}"
        ),
        Refused::Missing(near) if near.is_empty() => format!(
            "old_string is not in {path}, nor anything like it. Read the file again and copy the text exactly."
        ),
        Refused::Missing(near) => {
            let near: Vec<String> = near
                .into_iter()
                .map(|(line, text)| format!("line {line}:\n{text}"))
                .collect();
            format!(
                "old_string is not in {path}. The nearest to it (copy exactly what is there):\n{}",
                near.join("\n")
            )
        }
    }
}
