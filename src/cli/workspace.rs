//! `ralphd workspace list | show | delete | cleanup`: the directories that sessions work in. Which of them may go is `engine/ground`'s word.

use super::arguments::WorkspaceVerb;
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output::{self, Look, Style};
use super::table::{Cell, Table};
use crate::clock::now_ms;
use crate::engine::House;
use crate::engine::ground::cleanup::{self, Place, why_stays};
use crate::model::id::short;
use crate::model::period::Period;
use crate::store::restore_points::NoPoint;
use anyhow::{Result, bail};
use serde_json::json;

const TITLES: &[&str] = &["NAME", "KIND", "BRANCH", "HELD BY", "USED", "STANDS"];

pub fn workspace(desk: Desk, verb: WorkspaceVerb) -> Result<Exit> {
    desk.block_on(async {
        // Looking makes nothing: without a state there is nothing to look at.
        drop(desk.existing_store()?);
        let house = desk.house()?;
        match verb {
            WorkspaceVerb::List => list(&desk, &house).await,
            WorkspaceVerb::Show { id } => show(&desk, &house, &id).await,
            WorkspaceVerb::Delete { id, force } => delete(&desk, &house, &id, force).await,
            WorkspaceVerb::Cleanup { older_than, force } => {
                clean(&desk, &house, older_than, force).await
            }
        }
    })
}

async fn list(desk: &Desk, house: &House) -> Result<Exit> {
    let places = cleanup::places(house).await?;
    if desk.global.json {
        output::print_json(&places)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(TITLES, 5);
    for place in &places {
        table.row(row(place));
    }
    output::print_lines(&table.lines(&Look::of_stdout()))?;
    Ok(Exit::Done)
}

fn row(place: &Place) -> Vec<Cell> {
    let workspace = &place.known.workspace;
    let holder = workspace.holder_session_id.as_deref().map_or("", short);
    let stands = match (&place.holds, place.exists) {
        (_, false) => ("gone".to_owned(), Style::Dim),
        (Some(holds), _) => (holds.clone(), Style::Bold),
        (None, _) if place.has_repository => ("clean".to_owned(), Style::Plain),
        (None, _) => (String::new(), Style::Plain),
    };
    vec![
        (name_of(place), Style::Bold).into(),
        place.kind.as_str().into(),
        workspace.branch.clone().unwrap_or_default().into(),
        holder.into(),
        output::local_time(workspace.used_at_ms).into(),
        stands.into(),
    ]
}

/// How a person calls it: by its name, its session's short id, or its path.
fn name_of(place: &Place) -> String {
    use cleanup::Kind;
    match place.kind {
        Kind::Session => place.name.clone(),
        Kind::Run | Kind::Workflow => short(&place.name).to_owned(),
        Kind::Tree | Kind::InPlace => place.known.workspace.path.clone(),
    }
}

async fn show(desk: &Desk, house: &House, id: &str) -> Result<Exit> {
    let place = find(house, id).await?;
    if desk.global.json {
        output::print_json(&place)?;
        return Ok(Exit::Done);
    }
    let workspace = &place.known.workspace;
    let mut lines = vec![
        format!("path      {}", workspace.path),
        format!("kind      {}", place.kind),
    ];
    if let Some(branch) = &workspace.branch {
        lines.push(format!("branch    {branch}"));
    }
    if let Some(holder) = &workspace.holder_session_id {
        let since = workspace.held_since_ms.map(output::local_time);
        lines.push(format!(
            "held by   {holder} since {}",
            since.unwrap_or_default()
        ));
    }
    if let Some(last) = &place.known.last_session_id {
        lines.push(format!("last      session {last}"));
    }
    lines.push(format!(
        "used      {}",
        output::local_time(workspace.used_at_ms)
    ));
    lines.push(match why_stays(&place, false) {
        Some(why) => format!("cleanup   stays: {why}"),
        None => "cleanup   may go".to_owned(),
    });
    output::print_lines(&lines)?;
    Ok(Exit::Done)
}

async fn find(house: &House, id: &str) -> Result<Place> {
    let places = cleanup::places(house).await?;
    let meant: Vec<Place> = places
        .into_iter()
        .filter(|place| {
            place.name == id
                || place.known.workspace.path == id
                || name_of(place) == id
                || (place.name.starts_with(id) && id.len() >= 4)
        })
        .collect();
    match meant.as_slice() {
        [] => bail!(NoPoint(format!(
            "there is no workspace '{id}'; see 'ralphd workspace list'"
        ))),
        [one] => Ok(one.clone()),
        several => {
            let exact: Vec<&Place> = several.iter().filter(|place| place.name == id).collect();
            if let [one] = exact.as_slice() {
                return Ok((*one).clone());
            }
            let names: Vec<&str> = several
                .iter()
                .map(|place| place.known.workspace.path.as_str())
                .collect();
            bail!(Failure(format!(
                "'{id}' may be any of {}; give the path",
                names.join(", ")
            )))
        }
    }
}

async fn delete(desk: &Desk, house: &House, id: &str, force: bool) -> Result<Exit> {
    let place = find(house, id).await?;
    let path = place.known.workspace.path.clone();
    if let Some(why) = why_stays(&place, force) {
        let advice = match force || why_stays(&place, true).is_some() {
            true => "",
            false => "; --force removes it all the same",
        };
        bail!("{path} stays: {why}{advice}");
    }
    cleanup::remove(house, &place).await?;
    if desk.global.json {
        output::print_json(&json!({"removed": [path]}))?;
    } else if !desk.global.quiet {
        output::print_line(&format!("removed {path}"))?;
    }
    Ok(Exit::Done)
}

async fn clean(desk: &Desk, house: &House, older_than: Period, force: bool) -> Result<Exit> {
    let before_ms = now_ms() - older_than.as_millis();
    let (gone, stays) = cleanup::cleanup(house, before_ms, force).await?;
    if desk.global.json {
        let path = |place: &Place| place.known.workspace.path.clone();
        let removed: Vec<String> = gone.iter().map(path).collect();
        let kept: Vec<_> = stays
            .iter()
            .map(|(place, why)| json!({"path": path(place), "why": why}))
            .collect();
        output::print_json(&json!({"removed": removed, "kept": kept}))?;
        return Ok(Exit::Done);
    }
    for place in &gone {
        output::print_line(&format!("removed {}", place.known.workspace.path))?;
    }
    if !desk.global.quiet {
        for (place, why) in &stays {
            output::print_line(&format!("kept    {}: {why}", place.known.workspace.path))?;
        }
    }
    Ok(Exit::Done)
}
