//! `glob`: the files of the workspace whose paths match a pattern, the newest first.

use super::room::Den;
use super::search::{Field, Patience, Wanted};
use super::{Fault, Tool, ToolCard, arguments, aside, show};
use crate::agent::Pending;
use ignore::WalkState;
use rustix::fs::AtFlags;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

const MAX_SHOWN: usize = 200;
/// Of more files than this it is not known which are the newest.
const MAX_FOUND: usize = 200_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Glob like *.rs (in any directory), src/**/*.ts or docs/{a,b}*.md.
    pattern: String,
    /// Directory to look in, relative to the workspace; the whole workspace unless told.
    path: Option<String>,
}

pub struct Glob(pub Arc<Den>);

impl Tool for Glob {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "glob",
            description: "Lists the files of the workspace whose paths match a pattern, the newest first, at most 200. What .gitignore names is left out.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        let den = self.0.clone();
        Box::pin(async move {
            let wanted: Arguments = arguments::take("glob", sent)?;
            let (patience, _waiting) = Patience::new(den.timeout);
            aside(move || find(&den, &wanted, &patience)).await
        })
    }
}

type Found = (i64, i64, PathBuf);

fn find(den: &Den, wanted: &Arguments, patience: &Patience) -> Result<String, Fault> {
    let pattern = Wanted::parse(&den.jail, &wanted.pattern)?;
    let place = wanted.path.as_deref().unwrap_or(".");
    let Some(directory) = den.jail.directory(place)? else {
        return Err(Fault::Wrong(format!(
            "{place} is a file, not a directory. Give the directory to look in, or read the file."
        )));
    };
    let field = Arc::new(Field::new(&den.jail, directory));
    let found: Mutex<Vec<Found>> = Mutex::new(Vec::new());
    let deposit = |own: &mut Vec<Found>| {
        let mut all = found.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(own);
        all.len() >= MAX_FOUND
    };
    field.walk(patience, || {
        let mut batch = Batch {
            own: Vec::new(),
            deposit: &deposit,
        };
        let (field, pattern) = (&field, &pattern);
        move |_, relative| {
            if !pattern.matches(relative) {
                return WalkState::Continue;
            }
            let how = AtFlags::SYMLINK_NOFOLLOW;
            let Ok(facts) = rustix::fs::statat(&field.directory.descriptor, relative, how) else {
                return WalkState::Continue;
            };
            let age = (facts.st_mtime, facts.st_mtime_nsec.cast_signed());
            batch.add((age.0, age.1, relative.to_owned()))
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(told(&field, wanted, found, patience.is_over()))
}

/// What one thread has found and not yet handed over.
struct Batch<'a, D: Fn(&mut Vec<Found>) -> bool> {
    own: Vec<Found>,
    deposit: &'a D,
}

impl<D: Fn(&mut Vec<Found>) -> bool> Batch<'_, D> {
    fn add(&mut self, found: Found) -> WalkState {
        const BATCH: usize = 256;
        self.own.push(found);
        if self.own.len() >= BATCH && (self.deposit)(&mut self.own) {
            return WalkState::Quit;
        }
        WalkState::Continue
    }
}

impl<D: Fn(&mut Vec<Found>) -> bool> Drop for Batch<'_, D> {
    fn drop(&mut self) {
        (self.deposit)(&mut self.own);
    }
}

fn told(field: &Field, wanted: &Arguments, mut found: Vec<Found>, cut: bool) -> String {
    let all = found.len();
    found.sort_unstable_by(|one, other| {
        (other.0, other.1)
            .cmp(&(one.0, one.1))
            .then_with(|| one.2.cmp(&other.2))
    });
    let mut text = String::new();
    // A directory may have been swapped for a link while it was walked: told is only what lies beneath now.
    let beneath = found
        .iter()
        .filter(|(_, _, path)| field.directory.holds(path));
    let mut shown = 0;
    for (_, _, path) in beneath.take(MAX_SHOWN) {
        text.push_str(&field.shown(path));
        text.push('\n');
        shown += 1;
    }
    if cut {
        text.push_str("[the search was ended early: it took too long. Give a narrower path]\n");
    } else if shown == 0 {
        return format!(
            "No file matches {}. What .gitignore names, and .git, was not looked at.",
            wanted.pattern
        );
    }
    if all > MAX_SHOWN {
        let left = show::count(all - shown, "file");
        text.push_str(&format!(
            "[{left} more; give a narrower pattern or path to see them]\n"
        ));
    }
    text
}
