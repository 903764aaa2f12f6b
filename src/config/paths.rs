//! Paths of the configuration: what `~/` and relative ones mean, and where the state lives. Nothing is
//! created here.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::Environment;
use crate::model::document::shape::{Kind, TableShape};
use crate::model::document::{Finding, Node, Place, Shape, Value};

/// The state directory: `--state`, else the configuration's `state`, else `$STATE_DIRECTORY`, else
/// `$XDG_STATE_HOME/ralphd`, else `~/.local/state/ralphd`.
pub fn state_directory(
    flag: Option<&Path>,
    configured: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf> {
    if let Some(path) = flag.or(configured) {
        return Ok(std::path::absolute(path)?);
    }
    if let Some(directory) = first_state_directory(environment) {
        return Ok(directory);
    }
    if let Some(directory) = environment.absolute_path("XDG_STATE_HOME") {
        return Ok(directory.join("ralphd"));
    }
    match environment.absolute_path("HOME") {
        Some(home) => Ok(home.join(".local/state/ralphd")),
        None => bail!(
            "no place for the state: HOME is not set; give --state DIR or set `state` in the configuration"
        ),
    }
}

/// systemd lists several directories with colons between them; the first is ours.
fn first_state_directory(environment: &Environment) -> Option<PathBuf> {
    let listed = environment.get("STATE_DIRECTORY")?;
    std::env::split_paths(listed).find(|path| path.is_absolute())
}

/// Where relative paths and `~/` begin.
pub(super) struct Bases {
    /// The directory of the configuration file.
    pub file: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Bases {
    /// Makes every path of the tree absolute: relative ones begin at the file's directory, those of a variable
    /// at the current one.
    pub(super) fn resolve(&self, node: &mut Node, shape: &Shape, key: &str) -> Vec<Finding> {
        match (&mut node.value, &shape.kind) {
            (
                Value::Text(text),
                Kind::Text(wanted)
                | Kind::Table(TableShape {
                    or_text: Some(wanted),
                    ..
                }),
            ) if matches!(wanted.format.as_deref(), Some("path" | "key-file")) => {
                // The name of a credential has its directory only while the daemon runs.
                let credential =
                    wanted.format.as_deref() == Some("key-file") && !text.starts_with(['/', '~']);
                let resolved = match credential {
                    true => Ok(text.clone()),
                    false => self.absolute(text, &node.place),
                };
                match resolved {
                    Ok(path) => *text = path,
                    Err(message) => {
                        let place = node.place.clone();
                        return vec![Finding {
                            place,
                            key: key.to_owned(),
                            message,
                        }];
                    }
                }
                Vec::new()
            }
            (Value::List(items), Kind::List(wanted)) => {
                let numbered = items.iter_mut().enumerate();
                numbered
                    .flat_map(|(index, item)| {
                        self.resolve(item, &wanted.item, &format!("{key}[{index}]"))
                    })
                    .collect()
            }
            (Value::Table(entries), Kind::Table(_)) => {
                let known = entries
                    .iter_mut()
                    .filter_map(|entry| Some((shape.entry(&entry.name)?, entry)));
                known
                    .flat_map(|(inner, entry)| {
                        let dot = if key.is_empty() { "" } else { "." };
                        self.resolve(&mut entry.node, inner, &format!("{key}{dot}{}", entry.name))
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn absolute(&self, text: &str, place: &Place) -> Result<String, String> {
        if text.trim().is_empty() {
            // Left for the checker, which knows what to say of a blank value.
            return Ok(text.to_owned());
        }
        let path = match text.strip_prefix("~/").or((text == "~").then_some("")) {
            Some(rest) => match &self.home {
                Some(home) => home.join(rest),
                None => return Err("begins with ~/ but HOME is not set".to_owned()),
            },
            None if text.starts_with('~') => {
                return Err(
                    "must not begin with ~ and a user's name; write the whole path".to_owned(),
                );
            }
            None => match (&self.file, place) {
                (Some(directory), Place::Line(_)) => directory.join(text),
                _ => PathBuf::from(text),
            },
        };
        let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
        let text = absolute.into_os_string().into_string();
        text.map_err(|_| "must be valid UTF-8".to_owned())
    }
}
