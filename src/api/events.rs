//! The history as an event stream (`text/event-stream`): of one session or of all, from where the caller left off.

use super::Api;
use super::call::Call;
use super::feed::{Tiding, Watcher};
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use crate::model::session::SessionState;
use crate::model::token::Scope;
use crate::store::{events, sessions};
use futures_util::stream::{Stream, unfold};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use hyper::{Method, StatusCode};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a client is asked to wait before it comes back, in milliseconds.
const COME_BACK: &[u8] = b"retry: 2000\n\n";
const SIGN_OF_LIFE: &[u8] = b": alive\n\n";

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
            .answers_stream("Events as they happen, each with its number as id.")
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
    Ok(stream(&api, None, after))
}

async fn of_session(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let after = position(&call)?;
    let given = call.part().to_owned();
    let (id, told) = api
        .house
        .store
        .read(move |sql| {
            let id = sessions::resolve(sql, &given)?;
            let ended = sessions::expect(sql, &id)?.status.is_terminal();
            let more = events::after(sql, Some(&id), after.unwrap_or(0), 1)?;
            Ok((id, ended && more.is_empty()))
        })
        .await?;
    Ok(match told {
        true => Reply::empty(StatusCode::NO_CONTENT),
        false => stream(&api, Some(id), after.unwrap_or(0)),
    })
}

/// Where the caller left off.
fn position(call: &Call) -> Result<Option<i64>, Problem> {
    if let Some(after) = call.number("after", 0..=i64::MAX)? {
        return Ok(Some(after));
    }
    let Some(header) = call.header("last-event-id") else {
        return Ok(None);
    };
    let number = header.parse::<i64>().ok().filter(|number| *number >= 0);
    number
        .map(Some)
        .ok_or_else(|| Problem::unfit("Last-Event-ID: must be the number of an event"))
}

fn stream(api: &Arc<Api>, session: Option<String>, after: i64) -> Reply {
    let telling = Telling {
        to_the_end: session.is_some(),
        watcher: api.feed.watch(session, after),
        shutdown: api.shutdown.clone(),
        heartbeat: api.house.config.http.heartbeat.into(),
        greeted: false,
        over: false,
    };
    let body = StreamBody::new(telling.frames());
    Reply::of(StatusCode::OK, "text/event-stream", body)
}

/// One stream under way.
struct Telling {
    watcher: Watcher,
    shutdown: watch::Receiver<bool>,
    heartbeat: Duration,
    /// A session's stream ends with the session.
    to_the_end: bool,
    greeted: bool,
    over: bool,
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
            return Some(Bytes::from_static(COME_BACK));
        }
        if self.over || *self.shutdown.borrow() {
            return None;
        }
        let tidings = tokio::select! {
            tidings = self.watcher.next() => tidings,
            () = tokio::time::sleep(self.heartbeat) => return Some(Bytes::from_static(SIGN_OF_LIFE)),
            _ = self.shutdown.changed() => return None,
        };
        match tidings {
            Ok(tidings) => {
                self.over = self.to_the_end && tidings.iter().any(|tiding| is_end(&tiding.kind));
                Some(together(&tidings))
            }
            Err(error) => {
                tracing::warn!("an event stream breaks off: {error:#}");
                None
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
