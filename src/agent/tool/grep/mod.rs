//! `grep`: the lines of the workspace's text files that a regular expression matches. Ripgrep's parts do the work.

mod hits;

use super::room::Den;
use super::search::{Field, Patience, Wanted};
use super::{Fault, Tool, ToolCard, arguments, aside, show};
use crate::agent::Pending;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use hits::{Hits, MAX_KEPT_LINES, OfFile};
use ignore::WalkState;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;

/// A longer line is too much for a line, and for memory.
const MAX_BUFFERED_BYTES: usize = 32 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Regular expression, as ripgrep takes it; (?i) at its beginning ignores case.
    pattern: String,
    /// File or directory to search, relative to the workspace; the whole workspace unless told.
    path: Option<String>,
    /// Only files whose paths match this glob, like *.rs; with ! before it, all but those.
    glob: Option<String>,
}

pub struct Grep(pub Arc<Den>);

impl Tool for Grep {
    fn card(&self) -> ToolCard {
        ToolCard {
            name: "grep",
            description: "Searches the text files of the workspace for a regular expression and shows the lines as path:number:text, at most 200. What .gitignore names is left out.",
            parameters: arguments::schema::<Arguments>(),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn call(&self, sent: Json) -> Pending<'_, Result<String, Fault>> {
        let den = self.0.clone();
        Box::pin(async move {
            let wanted: Arguments = arguments::take("grep", sent)?;
            let (patience, _waiting) = Patience::new(den.timeout);
            aside(move || search(&den, &wanted, &patience)).await
        })
    }
}

fn search(den: &Den, wanted: &Arguments, patience: &Patience) -> Result<String, Fault> {
    let matcher = matcher(&wanted.pattern)?;
    let glob = wanted.glob.as_deref().filter(|glob| !glob.is_empty());
    let glob = glob
        .map(|glob| Wanted::parse(&den.jail, glob))
        .transpose()?;
    let place = wanted.path.as_deref().unwrap_or(".");
    let hits = Hits::default();
    let Some(directory) = den.jail.directory(place)? else {
        let opened = den.jail.read(place)?;
        let mut of_file = OfFile::new();
        let searched = searcher().search_file(&matcher, &opened.file, &mut of_file);
        if of_file.is_binary() {
            return Err(Fault::Wrong(format!(
                "{place} is a binary file: it is not searched."
            )));
        }
        searched.map_err(|error| {
            Fault::Wrong(format!(
                "{place} was not searched to the end: a line of it is longer than {} MB, or it cannot be read ({error}).",
                MAX_BUFFERED_BYTES >> 20
            ))
        })?;
        hits.add(Path::new(place), of_file);
        return Ok(hits.told(&wanted.pattern, |path| path.display().to_string(), false));
    };
    let field = Arc::new(Field::new(&den.jail, directory));
    field.walk(patience, || {
        let (matcher, mut searcher) = (matcher.clone(), searcher());
        let (field, glob, hits) = (&field, &glob, &hits);
        move |_, relative| {
            if glob.as_ref().is_some_and(|glob| !glob.matches(relative)) {
                return WalkState::Continue;
            }
            let Some(file) = field.directory.file(relative) else {
                return WalkState::Continue;
            };
            let mut of_file = OfFile::new();
            let searched = searcher.search_file(&matcher, &file, &mut of_file);
            if searched.is_err() {
                hits.miss();
            }
            match hits.add(relative, of_file) {
                kept if kept >= MAX_KEPT_LINES => WalkState::Quit,
                _ => WalkState::Continue,
            }
        }
    });
    Ok(hits.told(
        &wanted.pattern,
        |path| field.shown(path),
        patience.is_over(),
    ))
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_BUFFERED_BYTES))
        .line_number(true)
        .build()
}

fn matcher(pattern: &str) -> Result<RegexMatcher, Fault> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| {
            let why = show::line(&error.to_string(), 600).into_owned();
            Fault::Wrong(format!(
                "The pattern cannot be used: {why}\nIt is a regular expression of Rust's kind: one line at a time, no look-around, no back-references. To find ( ) [ ] {{ }} . * + ? | ^ $ \\ themselves, put \\ before them."
            ))
        })
}
