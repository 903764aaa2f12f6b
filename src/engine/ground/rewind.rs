//! Going back to a point of a session, and forward again: its files, its handoff, its count of iterations. Nothing is lost by it: what was
//! there before is a point too, or is made one.

use crate::clock::now_ms;
use crate::engine::House;
use crate::model::event::EventType;
use crate::model::id::short;
use crate::model::session::SessionState;
use crate::store::driver::Sql;
use crate::store::events::{self, About};
use crate::store::restore_points::{self, RestorePoint};
use crate::store::sessions::{self, Session};
use crate::store::workspaces::{self, Acquired};
use crate::store::{iterations, tasks};
use crate::workspace::git::{self, Point};
use crate::workspace::letters;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::Path;

/// Why a session cannot be taken back just now, or to there.
#[derive(Debug)]
pub struct NotRewindable(pub String);

impl std::fmt::Display for NotRewindable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotRewindable {}

/// What was done.
#[derive(Debug, serde::Serialize)]
pub struct Rewound {
    pub session_id: String,
    pub number: i64,
    pub workspace: String,
    /// The ref that keeps what was there and is in no point.
    pub kept: Option<String>,
    /// It has ended: it goes on as a new session.
    pub ended: bool,
}

/// Takes a session back to a point, or forward to one.
pub async fn rewind(house: &House, id: &str, number: i64) -> Result<Rewound> {
    let wanted = id.to_owned();
    let take = move |sql: &mut dyn Sql| take_hold(sql, &wanted, number);
    let (session, point, is_ours) = house.store.write(take).await?;
    let restored = restore(house, &session, &point).await;
    let (done, at_ms) = (point.clone(), now_ms());
    let succeeded = restored.is_ok();
    let conclude = move |sql: &mut dyn Sql| {
        if succeeded {
            restore_points::rewind(sql, &done, at_ms)?;
            let facts = json!({"to": done.number, "commit": done.commit_id});
            let about = About::session(&done.session_id);
            events::add(sql, about, EventType::SessionRewound, at_ms, &facts)?;
        }
        match is_ours {
            true => workspaces::release_one(sql, &done.place, &done.session_id, at_ms),
            false => Ok(()),
        }
    };
    house.store.write(conclude).await?;
    Ok(Rewound {
        session_id: session.id,
        number,
        workspace: point.place,
        kept: restored?,
        ended: session.ended_at_ms.is_some(),
    })
}

/// Sees that nobody works there, and that nobody begins to. True when the workspace was taken only for this.
fn take_hold(sql: &mut dyn Sql, id: &str, number: i64) -> Result<(Session, RestorePoint, bool)> {
    let session = sessions::expect(sql, id)?;
    let short = short(id);
    let point = restore_points::find(sql, id, Some(number))?;
    if session.plan.is_some() {
        bail!(NotRewindable(format!(
            "session {id} is worked through as a plan; go on from that point in a session of its own: 'ralphd fork {short}@{number}'"
        )));
    }
    let rests = session.ended_at_ms.is_some()
        || matches!(
            session.status,
            SessionState::Paused | SessionState::AwaitingHuman
        );
    if !rests || tasks::any_running(sql, id)? || iterations::under_way(sql, id)?.is_some() {
        bail!(NotRewindable(format!(
            "session {id} is {}: pause it first, 'ralphd pause {short} --now'",
            session.status
        )));
    }
    if session.status == SessionState::AwaitingHuman {
        bail!(NotRewindable(format!(
            "session {id} waits for an answer: pause it first, 'ralphd pause {short}'"
        )));
    }
    let held = workspaces::get(sql, &point.place)?.and_then(|place| place.holder_session_id);
    if let Acquired::HeldBy(holder) = workspaces::acquire(sql, &point.place, id, now_ms())? {
        bail!(NotRewindable(holder.to_string()));
    }
    Ok((session, point, held.is_none()))
}

async fn restore(house: &House, session: &Session, point: &RestorePoint) -> Result<Option<String>> {
    let place = Path::new(&point.place);
    let ground = super::of_point(&house.git, &house.state, session, point).await?;
    let facts: git::Facts = serde_json::from_value(point.facts.clone()).unwrap_or_default();
    let to = Point {
        session: &session.id,
        commit: &point.commit_id,
        head: facts.head.as_deref(),
        branch: facts.branch.as_deref(),
        at_ms: now_ms(),
    };
    let restored = git::restore(&ground, &to)
        .await
        .with_context(|| format!("point {} cannot be restored", point.number))?;
    let (id, number) = (session.id.clone(), point.number);
    let handoff = move |sql: &mut dyn Sql| restore_points::handoff(sql, &id, number);
    match house.store.read(handoff).await? {
        Some(handoff) => letters::put_handoff(place, &handoff)?,
        None => letters::clear_handoff(place),
    }
    Ok(restored.abandoned)
}
