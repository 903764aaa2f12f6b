//! The workspaces as a person sees them: which there are, who has them, what would be lost with each; and taking away what is safe to take.
//! Whether one may go is decided by one pure function.

use crate::clock::now_ms;
use crate::engine::House;
use crate::model::git::Source;
use crate::model::request::Request;
use crate::model::words::words;
use crate::store::driver::Sql;
use crate::store::sessions;
use crate::store::tasks;
use crate::store::workspaces::{self, Known};
use crate::workspace::{self, git, letters};
use anyhow::Result;
use serde::Serialize;
use std::path::{Path, PathBuf};

words! {
    /// What a directory is to its sessions.
    pub enum Kind {
        /// Named, and found again by its name.
        Session => "session",
        /// That of a planned session.
        Workflow => "workflow",
        /// That of one plain session.
        Run => "run",
        /// One task's, beside a workspace.
        Tree => "tree",
        /// A user's own checkout.
        InPlace => "in_place",
    }
}

/// A workspace, looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    #[serde(flatten)]
    pub known: Known,
    pub kind: Kind,
    /// By which it is called: its name, or the session whose it is.
    pub name: String,
    pub exists: bool,
    pub has_repository: bool,
    /// What would be lost with it.
    pub holds: Option<String>,
    /// A task of a session in it is at work.
    pub at_work: bool,
}

/// Why a workspace stays.
pub fn why_stays(place: &Place, force: bool) -> Option<String> {
    let workspace = &place.known.workspace;
    if place.kind == Kind::InPlace {
        return Some("it is a checkout of your own; ralphd never removes that".to_owned());
    }
    if place.at_work {
        let holder = workspace
            .holder_session_id
            .as_deref()
            .unwrap_or("a session");
        return Some(format!(
            "session {holder} is at work in it; cancel that first"
        ));
    }
    if force {
        return None;
    }
    if let Some(holder) = &workspace.holder_session_id {
        return Some(format!("it is locked by run {holder}"));
    }
    if place.known.open_count > 0 {
        let count = place.known.open_count;
        return Some(format!(
            "{count} sessions that have not ended are to work in it"
        ));
    }
    if place.kind == Kind::Tree {
        return Some("it is a tree of a task; it goes when its session is tidied up".to_owned());
    }
    place.holds.clone()
}

/// All workspaces, looked at one by one.
pub async fn places(house: &House) -> Result<Vec<Place>> {
    let known = house.store.read(workspaces::all).await?;
    let mut places = Vec::with_capacity(known.len());
    for known in known {
        places.push(look(house, known).await?);
    }
    Ok(places)
}

async fn look(house: &House, known: Known) -> Result<Place> {
    let path = PathBuf::from(&known.workspace.path);
    let (kind, name) = kind_of(house, &known);
    let (at_work, source) = facts(house, &known).await?;
    let exists = path.is_dir();
    let has_repository = path.join(git::DOT_GIT).is_dir();
    let holds = match has_repository && !matches!(kind, Kind::Tree | Kind::InPlace) {
        false => None,
        true => match holdings(house, &path, source.as_deref()).await {
            Ok(holds) => holds,
            // What cannot be looked at is not thrown away.
            Err(error) => Some(format!("it cannot be looked at: {error:#}")),
        },
    };
    Ok(Place {
        kind,
        name,
        exists,
        has_repository,
        holds,
        at_work,
        known,
    })
}

async fn holdings(house: &House, path: &Path, source: Option<&Path>) -> Result<Option<String>> {
    let Some(repository) = house.repository(path).await? else {
        return Ok(None);
    };
    let holdings = git::holdings(&repository, source, letters::DIRECTORY).await?;
    Ok(holdings.in_words())
}

fn kind_of(house: &House, known: &Known) -> (Kind, String) {
    let path = Path::new(&known.workspace.path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let roots = house.state.join("workspaces");
    let kind = match path.strip_prefix(&roots) {
        _ if known.workspace.main_path.is_some() => Kind::Tree,
        Ok(below) if below.starts_with("session") => Kind::Session,
        Ok(below) if below.starts_with("workflow") => Kind::Workflow,
        Ok(below) if below.starts_with("run") => Kind::Run,
        Ok(below) if below.starts_with("tree") => Kind::Tree,
        _ => Kind::InPlace,
    };
    (kind, name.into_owned())
}

/// Whether anybody is at work there, and where its repository was cloned from.
async fn facts(house: &House, known: &Known) -> Result<(bool, Option<PathBuf>)> {
    let holder = known.workspace.holder_session_id.clone();
    let last = known.last_session_id.clone();
    let read = move |sql: &mut dyn Sql| {
        let at_work = match &holder {
            Some(holder) => tasks::any_running(sql, holder)?,
            None => false,
        };
        let last = last
            .as_ref()
            .map(|last| sessions::get(sql, last))
            .transpose()?;
        Ok((at_work, last.flatten()))
    };
    let (at_work, last) = house.store.read(read).await?;
    let request: Option<Request> = last.and_then(|last| serde_json::from_value(last.request).ok());
    let repo = request.and_then(|request| request.workspace?.repo);
    let source = match repo.map(|repo| Source::read(&repo)) {
        Some(Ok(Source::Path(path))) => Some(path),
        _ => None,
    };
    Ok((at_work, source))
}

/// Takes a workspace away, with what is kept beside it. The rows of its sessions stay.
pub async fn remove(house: &House, place: &Place) -> Result<()> {
    let path = PathBuf::from(&place.known.workspace.path);
    let claimed = place.known.workspace.path.clone();
    let holder = place.known.workspace.holder_session_id.clone();
    // Out of the rows first, and only while nobody has it: a session that comes now makes it anew.
    let forget = move |sql: &mut dyn Sql| {
        if let Some(holder) = &holder {
            workspaces::release_one(sql, &claimed, holder, now_ms())?;
        }
        workspaces::forget(sql, &claimed)
    };
    if !house.store.write(forget).await? {
        anyhow::bail!("{} was taken by a session meanwhile", path.display());
    }
    let shadow = workspace::places::shadow_of(&house.state, &path);
    for directory in [path, shadow] {
        match std::fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                anyhow::bail!("cannot remove {}: {error}", directory.display());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes away what may go and was last used before a time; returns what went, and what stays and why.
pub async fn cleanup(
    house: &House,
    before_ms: i64,
    force: bool,
) -> Result<(Vec<Place>, Vec<(Place, String)>)> {
    let (mut gone, mut stays) = (Vec::new(), Vec::new());
    for place in places(house).await? {
        if place.known.workspace.used_at_ms >= before_ms {
            stays.push((place, "it was used since".to_owned()));
            continue;
        }
        match why_stays(&place, force) {
            Some(why) => stays.push((place, why)),
            None => match remove(house, &place).await {
                Ok(()) => gone.push(place),
                Err(error) => stays.push((place, format!("{error:#}"))),
            },
        }
    }
    Ok((gone, stays))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::workspaces::Workspace;

    fn place(kind: Kind) -> Place {
        Place {
            known: Known {
                workspace: Workspace {
                    path: "/w".to_owned(),
                    branch: None,
                    main_path: None,
                    task_id: None,
                    holder_session_id: None,
                    held_since_ms: None,
                    untidy_session_id: None,
                    created_at_ms: 0,
                    used_at_ms: 0,
                },
                open_count: 0,
                last_session_id: None,
            },
            kind,
            name: "w".to_owned(),
            exists: true,
            has_repository: false,
            holds: None,
            at_work: false,
        }
    }

    #[test]
    fn what_may_go_and_what_stays() {
        let mut locked = place(Kind::Session);
        locked.known.workspace.holder_session_id = Some("s".to_owned());
        let mut at_work = locked.clone();
        at_work.at_work = true;
        let mut waited_for = place(Kind::Session);
        waited_for.known.open_count = 1;
        let mut dirty = place(Kind::Run);
        dirty.holds = Some("uncommitted: a".to_owned());
        for (name, place, goes, goes_by_force) in [
            ("run", place(Kind::Run), true, true),
            ("workflow", place(Kind::Workflow), true, true),
            ("named", place(Kind::Session), true, true),
            ("locked", locked, false, true),
            ("at work", at_work, false, false),
            ("waited for", waited_for, false, true),
            ("dirty", dirty, false, true),
            ("tree", place(Kind::Tree), false, true),
            ("in place", place(Kind::InPlace), false, false),
        ] {
            assert_eq!(why_stays(&place, false).is_none(), goes, "{name}");
            assert_eq!(
                why_stays(&place, true).is_none(),
                goes_by_force,
                "{name}, by force"
            );
        }
    }
}
