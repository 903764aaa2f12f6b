//! Waiting for a session to come to rest: it has ended, is paused, or it (or a sub-agent of its) waits for a person. It only looks.

use super::Api;
use super::problem::Problem;
use crate::model::session::SessionState;
use crate::report::standing::Standing;
use crate::store::sessions::{self, Session};
use anyhow::Result;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How a session stands, and who of it waits for a person: itself, or a sub-agent.
pub struct Rest {
    pub standing: Standing,
    pub asking: Option<Session>,
}

impl Rest {
    /// It will not go on by itself.
    pub fn is_reached(&self) -> bool {
        let status = self.standing.session.status;
        self.asking.is_some() || status.is_terminal() || status == SessionState::Paused
    }
}

impl Api {
    /// How a session stands now.
    pub(super) async fn look(&self, id: &str) -> Result<Rest> {
        let id = id.to_owned();
        self.house
            .store
            .read(move |sql| {
                let session = sessions::expect(sql, &id)?;
                let asking = match session.status {
                    SessionState::AwaitingHuman => Some(session.clone()),
                    status if status.is_terminal() => None,
                    _ => sessions::asking_below(sql, &id)?,
                };
                let standing = Standing::of(sql, session)?;
                Ok(Rest { standing, asking })
            })
            .await
    }

    /// How a session stands once it rests, or when the time is up or the daemon goes down.
    pub(super) async fn rest_of(&self, id: &str, longest: Duration) -> Result<Rest, Problem> {
        let until = Instant::now() + longest;
        let mut shutdown = self.shutdown.clone();
        // From the last event on: the look comes after it and misses nothing.
        let after = self.house.store.read(crate::store::events::last).await?;
        let mut watcher = self.feed.watch(None, after);
        loop {
            let rest = self.look(id).await?;
            if rest.is_reached() || Instant::now() >= until || *shutdown.borrow() {
                return Ok(rest);
            }
            loop {
                let next = tokio::select! {
                    next = timeout_at(until, watcher.next()) => next,
                    _ = shutdown.changed() => break,
                };
                match next {
                    Err(_) => break,
                    Ok(tidings) => {
                        let matters = |kind: &str, of: Option<&str>| {
                            kind == "session.awaiting_human"
                                || (of == Some(id) && kind.starts_with("session."))
                        };
                        let mut tidings = tidings?.into_iter();
                        if tidings.any(|news| matters(&news.kind, news.session_id.as_deref())) {
                            break;
                        }
                    }
                }
            }
        }
    }
}
