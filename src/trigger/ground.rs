//! What a request may want of its workspace: the keys that go together, and what can be seen of a repository before anybody clones it.

use super::intake::{problem, refuse};
use crate::model::git::Source;
use crate::model::request::{Collaboration, Problem, Workspace};
use anyhow::Result;
use std::path::PathBuf;

/// What could not be worked in.
pub fn unworkable(wanted: &Workspace, planned: bool) -> Vec<Problem> {
    let parallel = wanted.collaboration == Some(Collaboration::Parallel);
    let in_place = wanted.in_place == Some(true);
    let without_repo = [
        ("workspace.ref", wanted.reference.is_some()),
        ("workspace.shallow", wanted.shallow == Some(true)),
        ("workspace.in_place", in_place),
        ("workspace.collaboration", parallel),
    ];
    let mut problems = Vec::new();
    if wanted.repo.is_none() {
        for (key, _) in without_repo.iter().filter(|(_, given)| *given) {
            problems.push(problem(
                key,
                "needs a repository; add workspace.repo".to_owned(),
            ));
        }
    }
    if parallel && !planned {
        let message = "parallel is for planned sessions; add plan: auto, or the name of a workflow";
        problems.push(problem("workspace.collaboration", message.to_owned()));
    }
    if in_place && wanted.session.is_some() {
        let message =
            "the directory of workspace.repo is the workspace then; leave workspace.session out";
        problems.push(problem("workspace.in_place", message.to_owned()));
    }
    if in_place && parallel {
        let message = "parallel work needs a copy of the repository; leave workspace.in_place out";
        problems.push(problem("workspace.in_place", message.to_owned()));
    }
    if let Some(repo) = &wanted.repo {
        problems.extend(unreachable(repo, in_place));
    }
    problems
}

/// A repository that is not where it is said to be. What is on another machine is seen when it is fetched.
fn unreachable(repo: &str, in_place: bool) -> Option<Problem> {
    let message = match Source::read(repo) {
        Err(message) => message,
        Ok(Source::Path(path)) if !path.is_dir() => {
            format!("there is no directory {}", path.display())
        }
        Ok(Source::Url(_)) if in_place => {
            "must be a directory of this machine to be worked on in place".to_owned()
        }
        Ok(_) => return None,
    };
    Some(problem("workspace.repo", message))
}

/// The directory itself, by its one true path: two names of it are one workspace.
pub fn in_place(wanted: &mut Workspace) -> Result<PathBuf> {
    let repo = wanted.repo.clone().unwrap_or_default();
    let path = match std::fs::canonicalize(&repo) {
        Ok(path) => path,
        Err(error) => {
            let message = format!("cannot be used: {error}");
            refuse(vec![problem("workspace.repo", message)])?;
            PathBuf::new()
        }
    };
    wanted.repo = Some(path.to_string_lossy().into_owned());
    Ok(path)
}
