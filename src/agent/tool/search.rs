//! Walking a directory for `glob` and `grep`: in parallel, as git sees it (what is ignored is left out), through no link.
//! The walk itself goes by names, so whatever it brings is opened beneath the directory before anything is told of it.

use super::Fault;
use super::jail::{Directory, Jail};
use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder, WalkParallel, WalkState};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MAX_IGNORE_BYTES: u64 = 1 << 20;

/// When to stop searching: nobody waits any more, or it took too long.
#[derive(Clone)]
pub struct Patience {
    until: Instant,
    unwanted: Arc<AtomicBool>,
}

/// While it lives, somebody waits.
pub struct Waiting(Arc<AtomicBool>);

impl Patience {
    pub fn new(longest: Duration) -> (Self, Waiting) {
        let unwanted = Arc::new(AtomicBool::new(false));
        let waiting = Waiting(unwanted.clone());
        let until = Instant::now() + longest;
        (Self { until, unwanted }, waiting)
    }

    pub fn is_over(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory to search, with the rules that hold in it.
pub struct Field {
    pub directory: Directory,
    pinned: PathBuf,
    ignored_above: Vec<Gitignore>,
}

impl Field {
    pub fn new(jail: &Jail, directory: Directory) -> Self {
        Self {
            pinned: directory.pinned(),
            ignored_above: ignored_above(jail, &directory.path),
            directory,
        }
    }

    /// A path of the walk, relative to the directory.
    pub fn relative<'a>(&self, walked: &'a Path) -> &'a Path {
        walked.strip_prefix(&self.pinned).unwrap_or(walked)
    }

    /// A path relative to the directory as the model knows it.
    pub fn shown(&self, relative: &Path) -> String {
        self.directory.path.join(relative).display().to_string()
    }

    /// Calls one visitor a thread with every file, until there are no more or one says that it is enough.
    pub fn walk<V>(self: &Arc<Self>, patience: &Patience, visitor: impl Fn() -> V)
    where
        V: FnMut(&DirEntry, &Path) -> WalkState + Send,
    {
        self.walker().run(|| {
            let mut visit = visitor();
            Box::new(move |entry| {
                if patience.is_over() {
                    return WalkState::Quit;
                }
                match &entry {
                    Ok(entry) if entry.file_type().is_some_and(|kind| !kind.is_dir()) => {
                        visit(entry, self.relative(entry.path()))
                    }
                    _ => WalkState::Continue,
                }
            })
        });
    }

    fn walker(self: &Arc<Self>) -> WalkParallel {
        let field = self.clone();
        WalkBuilder::new(&self.pinned)
            .follow_links(false)
            .hidden(false)
            .parents(false)
            .git_global(false)
            .require_git(false)
            .filter_entry(move |entry| field.wants(entry))
            .build_parallel()
    }

    fn wants(&self, entry: &DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        if entry.file_name() == ".git" {
            return false;
        }
        if self.ignored_above.is_empty() {
            return true;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = self.directory.path.join(self.relative(entry.path()));
        let rules = self.ignored_above.iter().rev();
        let ruling = rules
            .map(|rules| rules.matched(&path, is_directory))
            .find(|ruling| !ruling.is_none());
        !ruling.is_some_and(|ruling| ruling.is_ignore())
    }
}

/// The ignore files between the workspace and the directory, the nearest last.
fn ignored_above(jail: &Jail, directory: &Path) -> Vec<Gitignore> {
    let mut found = Vec::new();
    if directory.is_absolute() || directory.as_os_str().is_empty() {
        return found;
    }
    let mut above = PathBuf::new();
    for part in directory.components() {
        for name in [".gitignore", ".ignore"] {
            let path = above.join(name);
            if let Ok(opened) = jail.read(&path.display().to_string()) {
                found.extend(rules(&above, opened.file));
            }
        }
        above.push(part);
    }
    found
}

fn rules(above: &Path, file: std::fs::File) -> Option<Gitignore> {
    let mut text = Vec::new();
    file.take(MAX_IGNORE_BYTES).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(above);
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that is no pattern is git's to complain about.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

/// Which files are meant.
pub struct Wanted {
    matcher: GlobMatcher,
    /// A pattern of one part is meant at any depth.
    by_name: bool,
    but: bool,
}

impl Wanted {
    pub fn parse(jail: &Jail, pattern: &str) -> Result<Self, Fault> {
        let (but, rest) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let own = format!("{}/", jail.workspace().display());
        let rest = rest.strip_prefix(&own).unwrap_or(rest);
        let rest = rest.strip_prefix("./").unwrap_or(rest);
        let path = Path::new(rest);
        let upwards = path.components().any(|part| part == Component::ParentDir);
        if path.is_absolute() || upwards || rest.starts_with("~/") {
            return Err(Fault::Wrong(format!(
                "The pattern {pattern} leads out of the workspace. Give one relative to it, like src/**/*.rs."
            )));
        }
        let glob = compile(rest).map_err(|error| {
            Fault::Wrong(format!(
                "{pattern} is no glob: {}. * stands for a part of a name, ** for any directories, {{a,b}} for either, [ab] for one character; escape those by \\.",
                error.kind()
            ))
        })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            by_name: !rest.contains('/'),
            but,
        })
    }

    pub fn matches(&self, relative: &Path) -> bool {
        let looked_at = match (self.by_name, relative.file_name()) {
            (true, Some(name)) => Path::new(name),
            _ => relative,
        };
        self.matcher.is_match(looked_at) != self.but
    }
}

fn compile(pattern: &str) -> Result<Glob, globset::Error> {
    let whole = match pattern.strip_suffix('/') {
        Some(directory) => format!("{directory}/**"),
        None => pattern.to_owned(),
    };
    GlobBuilder::new(&whole)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
}
