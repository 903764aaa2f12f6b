//! The history as an event stream (`text/event-stream`): of one session or of all, from where the caller left off.

use super::Api;
use super::auth::Caller;
use super::call::Call;
use super::feed::{Tiding, Watcher};
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use crate::model::session::SessionState;
use crate::model::token::Scope;
use crate::store::events::{self, Event};
use crate::store::sessions;
use anyhow::Result;
use futures_util::stream::{Stream, unfold};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a client is asked to wait before it comes back, in milliseconds.
pub const COME_BACK: &str = "retry: 2000\n\n";
/// What a silent stream says.
pub const SIGN_OF_LIFE: &[u8] = b": alive\n\n";

pub fn routes() -> Vec<Route> {
    let stream = |path, name, summary, action| {
        let seq = json!({ "type": "integer", "minimum": 0 });
        Route::new(Method::GET, path, name, summary, action)
            .needs(Scope::Read)
            .query("after", seq.clone(), "Only events with a greater number.")
            .header(
                "Last-Event-ID",
                seq,
                "The same, as browsers send it when they come back.",
            )
            .answers_stream::<Event>("Events as they happen, each with its number as id.")
    };
    vec![
        stream(
            "/v1/events",
            "events",
            "Follow what happens from now on.",
            |api, call| Box::pin(all(api, call)),
        ),
        stream(
            "/v1/sessions/{id}/events",
            "session_events",
            "Follow one session, from its beginning to its end.",
            |api, call| Box::pin(of_session(api, call)),
        )
        .answers_nothing(
            StatusCode::NO_CONTENT,
            "The session has ended, and all of it was told: do not come back.",
        ),
    ]
}

async fn all(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let after = match position(&call)? {
        Some(after) => after,
        None => api.house.store.read(events::last).await?,
    };
    Ok(stream(&api, call.caller, None, after))
}

async fn of_session(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let after = position(&call)?;
    let given = call.part().to_owned();
    let (id, ended, told) = api
        .house
        .store
        .read(move |sql| {
            let id = sessions::resolve(sql, &given)?;
            let ended = sessions::expect(sql, &id)?.status.is_terminal();
            let more = events::after(sql, Some(&id), after.unwrap_or(0), 1)?;
            Ok((id, ended, ended && more.is_empty()))
        })
        .await?;
    Ok(match told {
        true => Reply::empty(StatusCode::NO_CONTENT),
        false => stream(&api, call.caller, Some((id, ended)), after.unwrap_or(0)),
    })
}

/// Where the caller left off.
fn position(call: &Call) -> Result<Option<i64>, Problem> {
    let after = call.number("after", 0..=i64::MAX)?;
    let number = |header: &HeaderValue| -> Option<i64> {
        let number = header.to_str().ok()?.parse().ok();
        number.filter(|number| *number >= 0)
    };
    let told = match call.headers.get("last-event-id") {
        None => None,
        Some(header) => Some(
            number(header)
                .ok_or_else(|| Problem::unfit("Last-Event-ID: must be the number of an event"))?,
        ),
    };
    // A browser that comes back asks for the same address as at first, with how far it came.
    Ok(told.or(after))
}

/// The events of all sessions, or of one, which may have ended already.
fn stream(api: &Arc<Api>, caller: Caller, session: Option<(String, bool)>, after: i64) -> Reply {
    let end = match &session {
        None => End::Never,
        Some((_, false)) => End::Ahead,
        Some((_, true)) => End::Reached,
    };
    let telling = Telling {
        watcher: api.feed.watch(session.map(|(id, _)| id), after),
        shutdown: api.shutdown.clone(),
        heartbeat: api.house.config.http.heartbeat.into(),
        api: api.clone(),
        caller,
        greeted: false,
        end,
    };
    let body = StreamBody::new(telling.frames());
    Reply::of(StatusCode::OK, "text/event-stream", body)
}

/// One stream under way.
struct Telling {
    api: Arc<Api>,
    caller: Caller,
    watcher: Watcher,
    shutdown: watch::Receiver<bool>,
    heartbeat: Duration,
    greeted: bool,
    end: End,
}

/// When a stream is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Never,
    /// A session's stream ends with the session.
    Ahead,
    /// The session has ended: what is there is told, and nothing is waited for. Its last event need not be the one of its end, as when
    /// an agent is ended after its cancelled session.
    Reached,
    /// The daemon goes down: what it knew by then is told, a page at the most, and the rest to whoever comes back.
    Now,
}

impl Telling {
    fn frames(self) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
        unfold(self, |mut telling| async move {
            let bytes = telling.next().await?;
            Some((Ok(Frame::data(bytes)), telling))
        })
    }

    /// What is sent next; nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            self.greeted = true;
            // Whoever comes back before anything was told goes on from here too.
            return Some(format!("id: {}\n{COME_BACK}", self.watcher.position()).into());
        }
        if self.end == End::Now {
            return None;
        }
        let tidings = self.tidings().await;
        let stays = self.api.gate.stays(&self.caller).await;
        match stays.and_then(|stays| Ok((stays, tidings?))) {
            // A stream may be open for longer than its token holds.
            Ok((false, _)) => None,
            Ok((true, tidings)) if tidings.is_empty() => {
                let goes_on = matches!(self.end, End::Never | End::Ahead);
                goes_on.then_some(Bytes::from_static(SIGN_OF_LIFE))
            }
            Ok((true, tidings)) => {
                if self.end == End::Ahead && tidings.iter().any(|tiding| is_end(&tiding.kind)) {
                    self.end = End::Reached;
                }
                Some(together(&tidings))
            }
            Err(error) => {
                tracing::warn!("an event stream breaks off: {error:#}");
                None
            }
        }
    }

    /// What has happened; nothing when it is time for a sign of life, or when the end is reached and all of it was told.
    async fn tidings(&mut self) -> Result<Vec<Arc<Tiding>>> {
        if *self.shutdown.borrow() {
            self.end = End::Now;
        }
        if matches!(self.end, End::Reached | End::Now) {
            return self.watcher.rest().await;
        }
        tokio::select! {
            tidings = self.watcher.next() => tidings,
            () = tokio::time::sleep(self.heartbeat) => Ok(Vec::new()),
            _ = self.shutdown.changed() => {
                self.end = End::Now;
                self.watcher.rest().await
            }
        }
    }
}

fn together(tidings: &[Arc<Tiding>]) -> Bytes {
    match tidings {
        [one] => one.frame.clone(),
        several => {
            let frames: Vec<&[u8]> = several.iter().map(|one| &*one.frame).collect();
            frames.concat().into()
        }
    }
}

fn is_end(kind: &str) -> bool {
    let state = kind.strip_prefix("session.");
    let state = state.and_then(|state| state.parse::<SessionState>().ok());
    state.is_some_and(SessionState::is_terminal)
}
