//! Files an agent must not change to look finished: tests, the verify script. Their hashes before, compared with those after.

use super::fingerprint::hash_file;
use anyhow::{Context, Result};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// More protected files than this are a mistake in the globs.
const MAX_PROTECTED_FILES: usize = 50_000;

/// The hashes of all files in `workspace` that the globs match: `{path: hash}`.
pub fn snapshot(workspace: &Path, globs: &[String]) -> Result<Json> {
    let set = compile(globs)?;
    let mut hashes = Map::new();
    let mut directories = vec![workspace.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(listing) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in listing.flatten() {
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            let path = entry.path();
            if facts.is_dir() && entry.file_name() != ".git" {
                directories.push(path);
                continue;
            }
            let Ok(relative) = path.strip_prefix(workspace) else {
                continue;
            };
            if set.is_match(relative) {
                anyhow::ensure!(
                    hashes.len() < MAX_PROTECTED_FILES,
                    "protect matches more than {MAX_PROTECTED_FILES} files; name them more narrowly"
                );
                let name = relative.to_string_lossy().into_owned();
                hashes.insert(name, json!(hash_file(&path, &facts).unwrap_or(facts.len())));
            }
        }
    }
    Ok(Json::Object(hashes))
}

/// The files that were changed or removed since the snapshot. New files are no offence: an agent may add tests.
pub fn changed_since(workspace: &Path, globs: &[String], before: &Json) -> Result<Vec<String>> {
    let now = snapshot(workspace, globs)?;
    let Some(before) = before.as_object() else {
        return Ok(Vec::new());
    };
    Ok(before
        .iter()
        .filter(|(path, hash)| now.get(path.as_str()) != Some(hash))
        .map(|(path, _)| path.clone())
        .collect())
}

fn compile(globs: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(Glob::new(glob).with_context(|| format!("protect: '{glob}' is not a glob"))?);
    }
    Ok(set.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_read_without_end() {
        use rustix::fs::{CWD, FileType, Mode};
        let workspace = tempfile::tempdir().unwrap();
        let pipe = workspace.path().join("a");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink("a", workspace.path().join("b")).unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        let place = workspace.path().to_owned();
        std::thread::spawn(move || told.send(snapshot(&place, &["*".to_owned()])));
        let limit = std::time::Duration::from_secs(20);
        let snapshot = hears.recv_timeout(limit).expect("it hangs").unwrap();
        assert_eq!(snapshot, json!({"a": 0, "b": 1}));
    }

    #[test]
    fn changes_and_removals_are_seen_additions_are_not() {
        let workspace = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = workspace.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        let globs = vec!["tests/**".to_owned(), "*.sh".to_owned()];
        for name in ["tests/a.rs", "tests/deep/b.rs", "check.sh", "src/main.rs"] {
            write(name, "before");
        }
        let before = snapshot(workspace.path(), &globs).unwrap();
        assert_eq!(
            changed_since(workspace.path(), &globs, &before).unwrap(),
            Vec::<String>::new()
        );
        write("src/main.rs", "after");
        write("tests/new.rs", "new");
        assert_eq!(
            changed_since(workspace.path(), &globs, &before).unwrap(),
            Vec::<String>::new()
        );
        write("tests/deep/b.rs", "after");
        std::fs::remove_file(workspace.path().join("check.sh")).unwrap();
        let mut changed = changed_since(workspace.path(), &globs, &before).unwrap();
        changed.sort();
        assert_eq!(changed, ["check.sh", "tests/deep/b.rs"]);
    }
}
