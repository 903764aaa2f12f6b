//! `shell`: a command in the workspace. It reads the results of the tasks it depends on as JSON, and finds the workflow's inputs in its
//! environment. It outlives the daemon, and a daemon that comes later finds how it ended.

use super::material::results_of;
use crate::engine::command_turn;
use crate::engine::work::{Command, CommandEnd, Trouble, Work};
use crate::files;
use crate::model::policy::ErrorClass;
use crate::model::workflow;
use crate::process::Exit;
use anyhow::Result;
use serde_json::{Value as Json, json};
use std::path::Path;

/// A command that was found and may not be run, as shells tell it.
const NOT_ALLOWED: i32 = 126;
/// Output that is kept as the result, and read as JSON where it is some.
const MAX_RESULT_BYTES: u64 = 1024 * 1024;

pub async fn run(work: Work) -> Result<()> {
    let step = work.step.as_ref();
    let text = step
        .and_then(|step| step.command.clone())
        .unwrap_or_default();
    let logs = work.house.log_directory(&work.session.id);
    files::make_private_directory(&logs)?;
    // Each try has a turn of its own; whoever takes over after a crash goes on with the same try.
    let tries = work.task.failure_count + 1;
    let stem = format!("T{:03}.shell.{tries:02}", work.task.task_order);
    let log = logs.join(format!("{stem}.log"));
    let stdin = logs.join(format!("{stem}.input.json"));
    let results = results_of(&work.dependencies().await?);
    files::write_whole(&stdin, json!(results).to_string().as_bytes())?;
    let inputs = work.mission.inputs.iter();
    let turn = command_turn(&work.task.id, tries);
    let command = Command {
        turn: turn.clone(),
        text: &text,
        log: log.clone(),
        stdin: Some(stdin),
        time: work.time_within(work.mission.iteration_timeout),
        environment: inputs
            .map(|(name, value)| (workflow::variable(name), value.clone()))
            .collect(),
    };
    let end = work.run_command(command).await?;
    let passed = end.passed();
    let house = work.house.clone();
    let CommandEnd::Ended {
        exit,
        timed_out,
        tail,
    } = end
    else {
        return work.stop().await;
    };
    let left = match passed {
        true => {
            let result = result_of(&log)?;
            let summary = last_line(&tail);
            work.commit_tree().await?;
            work.complete(result, &summary).await
        }
        false => work.setback(trouble_of(&exit, timed_out, &tail)).await,
    };
    if left.is_ok() {
        house.forget_turn(&turn);
    }
    left
}

fn result_of(log: &Path) -> Result<Json> {
    let output = files::read_tail(log, MAX_RESULT_BYTES)?;
    let mut result = json!({"exit_code": 0, "output": output});
    if let Ok(json) = serde_json::from_str::<Json>(&output) {
        result["json"] = json;
    }
    Ok(result)
}

fn trouble_of(exit: &Exit, timed_out: bool, tail: &str) -> Trouble {
    let (class, what) = match exit {
        _ if timed_out => (ErrorClass::Timeout, "the command took too long".to_owned()),
        Exit::Code(NOT_ALLOWED) => (
            ErrorClass::Permission,
            "the command may not be run".to_owned(),
        ),
        Exit::Code(code) => (
            ErrorClass::Other,
            format!("the command ended with exit code {code}"),
        ),
        Exit::Signal(signal) => (
            ErrorClass::Other,
            format!("the command died of signal {signal}"),
        ),
        Exit::NotStarted(reason) => (ErrorClass::Other, reason.clone()),
    };
    let code = match exit {
        Exit::Code(code) => json!(code),
        _ => Json::Null,
    };
    let message = match tail.trim() {
        "" => what,
        tail => format!("{what}\n{tail}"),
    };
    Trouble {
        result: Some(json!({"exit_code": code, "output": tail})),
        ..Trouble::new(class, message)
    }
}

fn last_line(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    line.unwrap_or("done").trim().to_owned()
}
