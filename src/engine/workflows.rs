//! The workflows that were written by hand: `NAME.toml` in a directory. It must not run them.

use crate::files;
use crate::model::nearest::nearest;
use crate::model::plan::{MAX_TASKS, Rules};
use crate::model::workflow::{Filled, Workflow};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ENDING: &str = "toml";
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// A directory of workflows.
#[derive(Clone, Debug)]
pub struct Workflows {
    pub directory: PathBuf,
}

impl Workflows {
    /// The names of all there are, sorted.
    pub fn names(&self) -> Result<Vec<String>> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let place = self.directory.display().to_string();
                return Err(error).with_context(|| format!("cannot read {place}"));
            }
        };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Where a workflow of this name lies.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.{ENDING}"))
    }

    /// The workflow of this name, checked.
    pub fn read(&self, name: &str, agents: &[String]) -> Result<Workflow> {
        if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            bail!("'{name}' cannot be the name of a workflow");
        }
        let path = self.path(name);
        if !path.exists() {
            bail!(self.unknown(name)?);
        }
        read_file(&path, agents)
    }

    /// The plan of a run with these inputs.
    pub fn fill(
        &self,
        name: &str,
        given: &BTreeMap<String, String>,
        agents: &[String],
    ) -> Result<Filled> {
        let workflow = self.read(name, agents)?;
        workflow
            .fill(given, &rules(agents))
            .map_err(|problems| anyhow!("workflow {name}: {problems}"))
    }

    fn unknown(&self, name: &str) -> Result<String> {
        let known = self.names()?;
        let place = self.directory.display();
        Ok(match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("no workflow is called '{name}'; did you mean {near}?"),
            None if known.is_empty() => {
                format!("no workflow is called '{name}'; there are none in {place}")
            }
            None => format!(
                "no workflow is called '{name}'; in {place} are: {}",
                known.join(", ")
            ),
        })
    }
}

/// A workflow in a file, checked.
pub fn read_file(path: &Path, agents: &[String]) -> Result<Workflow> {
    let place = path.display();
    let text = text_of(path).with_context(|| place.to_string())?;
    Workflow::read(&text, &rules(agents)).map_err(|problems| anyhow!("{place}: {problems}"))
}

/// The text of a workflow's file.
pub fn text_of(path: &Path) -> Result<String> {
    let bytes = files::read_regular(path, MAX_FILE_BYTES)
        .map_err(|unreadable| anyhow!(unreadable.to_string()))?;
    String::from_utf8(bytes).map_err(|_| anyhow!("not UTF-8 text"))
}

/// What a workflow is held to.
pub fn rules(agents: &[String]) -> Rules<'_> {
    Rules {
        agents,
        max_tasks: MAX_TASKS,
        kept: &[],
    }
}
