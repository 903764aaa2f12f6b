//! `ralphd list`: sessions in a table, newest first. It only looks.

use super::arguments::Filter;
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output::{self, Look, Style};
use super::table::{Cell, Table};
use crate::clock::now_ms;
use crate::model::id::short;
use crate::model::session::SessionState;
use crate::report::standing::Standing;
use crate::store::sessions::{self, Session, Wanted};
use anyhow::{Result, anyhow};

const TITLES: &[&str] = &["ID", "STATUS", "ITER", "AGENT", "AGE", "COST", "OBJECTIVE"];

/// On a narrow terminal these are done without: cost, agent, iterations.
const EXPENDABLE: &[usize] = &[5, 3, 2];

/// Prints the sessions that the filter lets through.
pub fn list(desk: Desk, filter: Filter) -> Result<Exit> {
    let state = filter.status.as_deref().map(state_of).transpose()?;
    let store = desk.existing_store()?;
    let wanted = Wanted {
        status: state,
        ..Wanted::default()
    };
    let found = desk.block_on(store.read(move |sql| {
        let sessions = sessions::list(sql, &wanted, filter.limit)?;
        let standings = sessions
            .into_iter()
            .map(|session| Standing::of(sql, session));
        standings.collect::<Result<Vec<_>>>()
    }))?;
    if desk.global.json {
        output::print_json(&found)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() && !desk.global.quiet {
        output::remark(&nothing_found(state));
        return Ok(Exit::Done);
    }
    output::print_lines(&table(&found, now_ms()).lines(&Look::of_stdout()))?;
    Ok(Exit::Done)
}

fn state_of(word: &str) -> Result<SessionState> {
    word.parse().map_err(|_| {
        let known: Vec<&str> = SessionState::ALL
            .iter()
            .map(|state| state.as_str())
            .collect();
        anyhow!(Failure(format!(
            "no session is ever '{word}'; known states: {}",
            known.join(", ")
        )))
    })
}

fn nothing_found(state: Option<SessionState>) -> String {
    match state {
        Some(state) => format!("no session is {state}"),
        None => {
            "no sessions yet; 'ralphd submit FILE' or 'ralphd run OBJECTIVE' makes one".to_owned()
        }
    }
}

fn table(found: &[Standing], now_ms: i64) -> Table {
    let mut table = Table::new(TITLES, TITLES.len() - 1).expending(EXPENDABLE);
    for standing in found {
        table.row(row(standing, now_ms));
    }
    table
}

fn row(standing: &Standing, now_ms: i64) -> Vec<Cell> {
    let session = &standing.session;
    let cost = match session.cost_usd > 0.0 {
        true => output::money(session.cost_usd),
        false => String::new(),
    };
    vec![
        (short(&session.id).to_owned(), Style::Bold).into(),
        standing.in_words(now_ms).into(),
        format!("{}/{}", session.iteration_count, session.max_iterations).into(),
        standing.worker().into(),
        output::age(now_ms - session.created_at_ms).into(),
        cost.into(),
        objective(session).into(),
    ]
}

/// The work of a sub-agent is marked as a part of other work.
fn objective(session: &Session) -> String {
    let line = output::first_line(&session.objective);
    match session.parent_session_id {
        Some(_) => format!("↳ {line}"),
        None => line,
    }
}
