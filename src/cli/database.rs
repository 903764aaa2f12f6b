//! `ralphd db`: check, back up, prune. The database itself is reached through the store alone.

use super::arguments::Db;
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output;
use crate::clock::now_ms;
use crate::model::period::Period;
use crate::store::{health, schedules, sessions, workspaces};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const PRUNED_PER_TRANSACTION: u32 = 100;

/// Looks after the database.
pub fn database(desk: Desk, what: Db) -> Result<Exit> {
    match what {
        Db::Check => check(&desk),
        Db::Backup { file } => backup(&desk, &file),
        Db::Prune { older_than } => prune(&desk, older_than),
    }
}

fn check(desk: &Desk) -> Result<Exit> {
    let store = desk.existing_store()?;
    let problems = desk.block_on(store.read(|sql| {
        let mut problems = health::integrity_check(sql)?;
        problems.extend(health::foreign_key_check(sql)?);
        Ok(problems)
    }))?;
    if desk.global.json {
        output::print_json(&json!({"ok": problems.is_empty(), "problems": problems}))?;
    } else if problems.is_empty() && !desk.global.quiet {
        output::print_line("ok")?;
    } else {
        let shown: Vec<String> = problems
            .iter()
            .map(|problem| output::harmless(problem))
            .collect();
        output::print_lines(&shown)?;
    }
    match problems.is_empty() {
        true => Ok(Exit::Done),
        false => Ok(Exit::Failed),
    }
}

fn backup(desk: &Desk, file: &Path) -> Result<Exit> {
    let file = std::path::absolute(file)?;
    if file.symlink_metadata().is_ok() {
        bail!(Failure(format!(
            "{} exists already: name another file",
            file.display()
        )));
    }
    let store = desk.existing_store()?;
    desk.block_on(store.backup(file.clone()))?;
    let bytes = std::fs::metadata(&file)
        .with_context(|| format!("cannot look at {}", file.display()))?
        .len();
    match desk.global.json {
        true => output::print_json(&json!({"file": file, "bytes": bytes}))?,
        false => output::print_line(&format!("{}  {}", file.display(), output::size(bytes)))?,
    }
    Ok(Exit::Done)
}

fn prune(desk: &Desk, older_than: Period) -> Result<Exit> {
    let store = desk.existing_store()?;
    let before_ms = now_ms() - older_than.as_millis();
    let runs = desk.state.join("workspaces").join("run");
    let pruned = desk.block_on(async {
        let mut pruned = 0;
        loop {
            let ids = store
                .write(move |sql| sessions::prune(sql, before_ms, PRUNED_PER_TRANSACTION))
                .await?;
            for id in &ids {
                remove(&desk.state.join("logs").join(id));
            }
            pruned += ids.len();
            if ids.len() < PRUNED_PER_TRANSACTION as usize {
                break;
            }
        }
        store
            .write(move |sql| schedules::prune(sql, before_ms))
            .await?;
        // A continued session goes on in the workspace of the one before: it stays until the last of them is gone.
        let directory = runs.to_string_lossy().into_owned();
        let unused = store
            .read(move |sql| workspaces::unused(sql, &directory))
            .await?;
        for path in unused
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.parent() == Some(&runs))
        {
            remove(&path);
        }
        Ok(pruned)
    })?;
    match desk.global.json {
        true => output::print_json(&json!({"pruned": pruned}))?,
        false if pruned == 1 => output::print_line("1 session deleted")?,
        false => output::print_line(&format!("{pruned} sessions deleted"))?,
    }
    Ok(Exit::Done)
}

/// What cannot be removed is said; the rows are gone already, so it is no reason to stop.
fn remove(directory: &Path) {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            output::remark(&format!("cannot remove {}: {error}", directory.display()));
        }
        _ => {}
    }
}
