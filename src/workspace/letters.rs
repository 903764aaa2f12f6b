//! The letters between an agent and the daemon, under `state/` in the workspace: the handoff, the question and the task for another agent.
//! All are written by the agent, so nothing in them is trusted: no link is followed, no pipe waited for, no size taken for granted.

use crate::files::{self, Unreadable};
use crate::model::delegation::{Errand, Spawn};
use crate::model::handoff::{self, MAX_HANDOFF_BYTES};
use crate::model::mask::Mask;
use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The directory of the letters inside a workspace.
pub const DIRECTORY: &str = "state";
const HANDOFF: &str = "handoff.json";
const QUESTION: &str = "question.json";
const SPAWN: &str = "spawn.json";
/// All letters by name.
pub const NAMES: [&str; 3] = [HANDOFF, QUESTION, SPAWN];
const MAX_QUESTION_BYTES: u64 = 64 * 1024;
const MAX_SPAWN_BYTES: u64 = 256 * 1024;
/// Letters that are too long to be read are still cleared of secrets, up to this.
const MAX_LETTER_BYTES: u64 = 1024 * 1024;
/// Beyond this a question is cut: it is to be read by a person.
const MAX_QUESTION_CHARS: usize = 4000;
const MAX_OPTIONS: usize = 20;

fn path(workspace: &Path, name: &str) -> PathBuf {
    workspace.join(DIRECTORY).join(name)
}

/// Whether an agent has put a link in place of the directory: what lies behind it is not its own.
pub(super) fn lead_away(workspace: &Path) -> bool {
    workspace.join(DIRECTORY).is_symlink()
}

/// Whether this is the path of a letter, relative to the workspace.
pub(super) fn is_letter(path: &Path) -> bool {
    [HANDOFF, QUESTION, SPAWN]
        .iter()
        .any(|name| path == Path::new(DIRECTORY).join(name))
}

/// Where a question is left, relative to the workspace.
pub fn question_path() -> String {
    format!("{DIRECTORY}/{QUESTION}")
}

/// Where work for another agent is left, relative to the workspace.
pub fn spawn_path() -> String {
    format!("{DIRECTORY}/{SPAWN}")
}

/// Takes secrets out of what an agent has left: its letters stay in the workspace, and others read them.
pub fn mask(workspace: &Path, mask: &Mask) {
    if mask.is_empty() || lead_away(workspace) {
        return;
    }
    for name in NAMES {
        let path = path(workspace, name);
        let Ok(bytes) = files::read_regular(&path, MAX_LETTER_BYTES) else {
            continue;
        };
        if let Cow::Owned(clean) = mask.text(&String::from_utf8_lossy(&bytes))
            && let Err(error) = files::write_whole(&path, clean.as_bytes())
        {
            tracing::warn!("a secret stays in {}: {error:#}", path.display());
        }
    }
}

/// What the handoff file holds: nothing, something usable, or something broken (said why).
pub enum Handoff {
    None,
    Good(Json),
    Broken(String),
}

/// Reads the handoff as the agent left it.
pub fn read_handoff(workspace: &Path) -> Handoff {
    if lead_away(workspace) {
        return Handoff::Broken(format!("{DIRECTORY} is a symbolic link, not a directory"));
    }
    match files::read_regular(&path(workspace, HANDOFF), MAX_HANDOFF_BYTES as u64) {
        Err(Unreadable::Missing) => Handoff::None,
        Err(Unreadable::TooLarge { .. }) => Handoff::Broken(format!(
            "it is larger than {} KiB",
            MAX_HANDOFF_BYTES / 1024
        )),
        Err(other) => Handoff::Broken(other.to_string()),
        Ok(bytes) => match handoff::parse(&bytes) {
            Ok(handoff) => Handoff::Good(handoff),
            Err(problem) => Handoff::Broken(problem),
        },
    }
}

#[derive(Deserialize)]
struct Question {
    question: String,
    #[serde(default)]
    options: Vec<Json>,
}

/// The question an agent left for a person. A broken file is still a question: the person sees what was in it.
pub fn read_question(workspace: &Path) -> Option<Json> {
    if lead_away(workspace) {
        return None;
    }
    let bytes = match files::read_regular(&path(workspace, QUESTION), MAX_QUESTION_BYTES) {
        Ok(bytes) => bytes,
        Err(Unreadable::Missing) => return None,
        Err(problem) => {
            let text = format!("The agent left a question that cannot be read: {problem}.");
            return Some(json!({"question": text, "options": []}));
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let parsed = serde_json::from_str::<Question>(&text)
        .ok()
        .filter(|asked| !asked.question.trim().is_empty());
    let (question, options) = match parsed {
        Some(asked) => (asked.question, asked.options),
        None => (text.into_owned(), Vec::new()),
    };
    let question: String = question.trim().chars().take(MAX_QUESTION_CHARS).collect();
    let options: Vec<String> = options
        .into_iter()
        .take(MAX_OPTIONS)
        .map(|option| {
            option
                .as_str()
                .map_or_else(|| option.to_string(), str::to_owned)
        })
        .collect();
    Some(json!({"question": question, "options": options}))
}

/// The work an agent left for another one; a letter that cannot be used says why.
pub fn read_spawn(workspace: &Path) -> Option<Spawn> {
    if lead_away(workspace) {
        return None;
    }
    let read = match files::read_regular(&path(workspace, SPAWN), MAX_SPAWN_BYTES) {
        Err(Unreadable::Missing) => return None,
        Err(problem) => Err(problem.to_string()),
        Ok(bytes) => serde_json::from_slice::<Errand>(&bytes)
            .map_err(|error| format!("it is no JSON object with `agent` and `task`: {error}"))
            .and_then(|errand| Errand::read(&errand.agent, &errand.task)),
    };
    Some(match read {
        Ok(errand) => Spawn::Errand(errand),
        Err(problem) => Spawn::Unusable { problem },
    })
}

/// Puts back the handoff that a task had left, where others have worked since.
pub fn put_handoff(workspace: &Path, handoff: &Json) -> Result<()> {
    if lead_away(workspace) {
        return Ok(());
    }
    files::write_whole(&path(workspace, HANDOFF), handoff.to_string().as_bytes())
}

/// Removes the handoff that another task left.
pub fn clear_handoff(workspace: &Path) {
    if !lead_away(workspace) {
        let _ = std::fs::remove_file(path(workspace, HANDOFF));
    }
}

/// Removes an old question or task, so that it is not taken for one of the iteration that starts now.
pub fn clear_requests(workspace: &Path) {
    if !lead_away(workspace) {
        let _ = std::fs::remove_file(path(workspace, QUESTION));
        let _ = std::fs::remove_file(path(workspace, SPAWN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace_with(name: &str, content: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(DIRECTORY)).unwrap();
        std::fs::write(path(directory.path(), name), content).unwrap();
        directory
    }

    #[test]
    fn questions_in_all_conditions() {
        for (content, expected) in [
            (
                r#"{"question": "Which?", "options": ["a", 2]}"#,
                json!({"question": "Which?", "options": ["a", "2"]}),
            ),
            (
                r#"{"question": "Why?"}"#,
                json!({"question": "Why?", "options": []}),
            ),
            (
                "Just words",
                json!({"question": "Just words", "options": []}),
            ),
        ] {
            let workspace = workspace_with(QUESTION, content);
            assert_eq!(read_question(workspace.path()), Some(expected));
            clear_requests(workspace.path());
            assert_eq!(read_question(workspace.path()), None);
        }
    }

    #[test]
    fn work_for_others_in_all_conditions() {
        for (content, expected) in [
            (
                r#"{"agent": " scout ", "task": "Look.", "why": "because"}"#,
                json!({"agent": "scout", "task": "Look."}),
            ),
            (
                r#"{"agent": "scout", "task": ""}"#,
                json!({"problem": "The task is empty."}),
            ),
            (
                r#"{"agent": "scout"}"#,
                json!({"problem": "it is no JSON object with `agent` and `task`: missing field `task` at line 1 column 18"}),
            ),
        ] {
            let workspace = workspace_with(SPAWN, content);
            assert_eq!(json!(read_spawn(workspace.path())), expected);
            clear_requests(workspace.path());
            assert_eq!(read_spawn(workspace.path()), None);
        }
    }

    #[test]
    fn secrets_are_taken_out_of_letters() {
        let secret = Mask::new(["sk-0123456789".to_owned()]);
        let workspace = workspace_with(HANDOFF, r#"{"phase": "with sk-0123456789"}"#);
        mask(workspace.path(), &secret);
        let left = std::fs::read_to_string(path(workspace.path(), HANDOFF)).unwrap();
        assert_eq!(left, r#"{"phase": "with [masked]"}"#);
    }

    #[test]
    fn letters_of_others_are_left_alone() {
        let others = workspace_with(HANDOFF, r#"{"phase": "sk-0123456789"}"#);
        std::fs::write(path(others.path(), QUESTION), "Theirs?").unwrap();
        let workspace = tempfile::tempdir().unwrap();
        let state = workspace.path().join(DIRECTORY);
        std::os::unix::fs::symlink(others.path().join(DIRECTORY), &state).unwrap();
        mask(workspace.path(), &Mask::new(["sk-0123456789".to_owned()]));
        clear_requests(workspace.path());
        assert!(
            matches!(read_handoff(workspace.path()), Handoff::Broken(why) if why.contains("symbolic link"))
        );
        assert_eq!(read_question(workspace.path()), None);
        let left = std::fs::read_to_string(path(others.path(), HANDOFF)).unwrap();
        assert_eq!(left, r#"{"phase": "sk-0123456789"}"#);
        assert!(path(others.path(), QUESTION).exists());
        crate::workspace::prepare(workspace.path()).unwrap();
        assert!(state.is_dir() && !state.is_symlink(), "the link is gone");
        assert!(path(others.path(), HANDOFF).exists());
    }

    #[test]
    fn a_linked_handoff_is_not_followed() {
        let workspace = workspace_with("real.json", "{}");
        std::os::unix::fs::symlink("real.json", path(workspace.path(), HANDOFF)).unwrap();
        assert!(
            matches!(read_handoff(workspace.path()), Handoff::Broken(why) if why.contains("symbolic link"))
        );
    }
}
