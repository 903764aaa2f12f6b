//! Datasets and repositories that a person names by a path of their own: seen from where the person is, not from a workspace that does not
//! exist yet.

use crate::model::git;
use crate::model::request::Workspace;
use std::path::Path;

/// The same datasets, those that lie below `base` by their whole path; all others are left as they are.
pub fn seen_from(base: &Path, named: Vec<String>) -> Vec<String> {
    named
        .into_iter()
        .map(|name| whole(base, &name).unwrap_or(name))
        .collect()
}

/// The same workspace, with its repository by its whole path.
pub fn workspace_seen_from(base: &Path, workspace: Workspace) -> Workspace {
    let base = std::path::absolute(base).or_else(|_| std::env::current_dir());
    match (&workspace.repo, base) {
        (Some(repo), Ok(base)) => Workspace {
            repo: Some(git::seen_from(&base, repo)),
            ..workspace
        },
        _ => workspace,
    }
}

fn whole(base: &Path, name: &str) -> Option<String> {
    if name.contains("://") || Path::new(name).is_absolute() {
        return None;
    }
    let path = std::path::absolute(base.join(name)).ok()?;
    let path = path.exists().then_some(path)?;
    // A name that is no text could not be stored in a request.
    path.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_named_whole() {
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("a.csv"), "x\n1\n").unwrap();
        let whole = here.path().join("a.csv").to_str().unwrap().to_owned();
        let named = ["a.csv", "./a.csv", "b.csv", "/c.csv", "postgres://u@h/d"];
        let seen = seen_from(here.path(), named.map(str::to_owned).to_vec());
        assert_eq!(
            seen,
            [&whole, &whole, "b.csv", "/c.csv", "postgres://u@h/d"]
        );
    }
}
