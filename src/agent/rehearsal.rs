//! The built-in agent that needs no account: a fixed little job over three iterations, so that the program can be tried as it is.
//! It really writes files, leaves a handoff, and says the promise only when its own check passes. It must not pretend to more.

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use std::io::Read;
use std::path::Path;

/// What the rehearsal builds, line by line; the check wants all of it.
const HAIKU: &[&str] = &[
    "A long night of work",
    "the loop forgets, the files stay",
    "morning finds it done",
];
const FILE: &str = "haiku.txt";
/// The check that the demo gives as `verify`.
pub const VERIFY: &str = "test \"$(wc -l < haiku.txt)\" -eq 3";

/// Plays one iteration in the current directory; the prompt comes on stdin, the final words go to stdout.
pub fn play() -> Result<String> {
    let mut prompt = String::new();
    std::io::stdin()
        .read_to_string(&mut prompt)
        .context("cannot read the prompt")?;
    let workspace = std::env::current_dir().context("no workspace")?;
    play_in(&workspace, &promise_in(&prompt))
}

/// The words after which the house rules want the work to be over.
fn promise_in(prompt: &str) -> String {
    let rule = prompt
        .rsplit("nothing but the words ")
        .next()
        .unwrap_or_default();
    let promise = rule.split(" (exactly so").next().unwrap_or_default();
    match promise.lines().next() {
        Some(promise) if !promise.trim().is_empty() && rule.len() < prompt.len() => {
            promise.trim().to_owned()
        }
        _ => "TASK_COMPLETE".to_owned(),
    }
}

fn play_in(workspace: &Path, promise: &str) -> Result<String> {
    let written = std::fs::read_to_string(workspace.join(FILE)).unwrap_or_default();
    let done = written.lines().count().min(HAIKU.len());
    let Some(line) = HAIKU.get(done) else {
        return Ok(format!(
            "The file {FILE} has all its lines:\n\n{written}\n{promise}\n"
        ));
    };
    let text = format!(
        "{}{line}\n",
        HAIKU[..done]
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    );
    std::fs::write(workspace.join(FILE), &text).with_context(|| format!("cannot write {FILE}"))?;
    leave_handoff(workspace, done + 1)?;
    if done + 1 < HAIKU.len() {
        return Ok(format!(
            "I wrote line {} of {} into {FILE}: «{line}»\n",
            done + 1,
            HAIKU.len()
        ));
    }
    Ok(format!("The haiku is complete:\n\n{text}\n{promise}\n"))
}

fn leave_handoff(workspace: &Path, lines: usize) -> Result<()> {
    let handoff = handoff(lines);
    let directory = workspace.join("state");
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("handoff.json"), handoff.to_string())
        .context("cannot write the handoff")
}

fn handoff(lines: usize) -> Json {
    json!({
        "phase": format!("line {lines} of {}", HAIKU.len()),
        "completed": HAIKU[..lines],
        "next_step": HAIKU.get(lines).map_or("nothing: say the promise".to_owned(), |_| format!("write line {}", lines + 1)),
        "critical_files": [FILE],
        "memory_notes": "one line per iteration",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_turns_then_the_promise() {
        let workspace = tempfile::tempdir().unwrap();
        for turn in 1..=4 {
            let said = play_in(workspace.path(), "ALL GREEN").unwrap();
            assert_eq!(
                said.lines().any(|line| line == "ALL GREEN"),
                turn >= 3,
                "{turn}: {said}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(workspace.path().join(FILE))
                .unwrap()
                .lines()
                .count(),
            3
        );
    }

    #[test]
    fn the_promise_is_taken_from_the_house_rules() {
        let prompt = "x\n- end with a line that holds nothing but the words ALL GREEN (exactly so, alone on that line).";
        assert_eq!(promise_in(prompt), "ALL GREEN");
        assert_eq!(promise_in("no rules"), "TASK_COMPLETE");
    }
}
