//! What tells open pages to look again: one reader of the history for all of them, which rings at most once a second however much
//! happens. What has changed is not told; a page that is open asks for its newest state.

use crate::api::Api;
use crate::api::auth::Caller;
use crate::api::call::Call;
use crate::api::events::{COME_BACK, SIGN_OF_LIFE};
use crate::api::feed::{Feed, Tiding, Watcher};
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::model::token::Scope;
use crate::store::sessions;
use anyhow::Result;
use futures_util::stream::unfold;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use hyper::{Method, StatusCode};
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast, watch};

/// Open pages are told no more often than this.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_secs(1);
/// Rings that a page may miss before it is simply told to look.
const RINGS: usize = 8;
const CHANGED: &[u8] = b"event: change\ndata: \n\n";

/// What has changed.
#[derive(Clone)]
enum Ring {
    /// Nobody knows: whoever is there looks again.
    Anything,
    /// These sessions.
    Sessions(Arc<HashSet<String>>),
}

/// Rings when something has happened.
pub struct Pulse {
    feed: Arc<Feed>,
    sender: broadcast::Sender<Ring>,
    somebody: Notify,
    /// Grows with every ring: what was read before the last one may be out of date.
    rings: AtomicU64,
}

impl Pulse {
    pub fn new(feed: &Arc<Feed>) -> Arc<Self> {
        Arc::new(Self {
            feed: feed.clone(),
            sender: broadcast::Sender::new(RINGS),
            somebody: Notify::new(),
            rings: AtomicU64::new(0),
        })
    }

    /// How often it has rung.
    pub fn rings(&self) -> u64 {
        self.rings.load(Ordering::SeqCst)
    }

    fn ring(&self, ring: Ring) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        // Nobody there any more is no error.
        let _ = self.sender.send(ring);
    }

    /// Rings for all open pages until shutdown; sleeps as long as there is none.
    pub async fn run(self: Arc<Self>, mut shutdown: watch::Receiver<bool>) {
        while !*shutdown.borrow() {
            tokio::select! {
                () = self.listen() => {}
                _ = shutdown.changed() => {}
            }
        }
    }

    /// Waits for somebody to ring for, then rings until they are gone.
    async fn listen(&self) {
        self.somebody.notified().await;
        let Ok(last) = self.feed.last().await else {
            tokio::time::sleep(RETRY).await;
            return self.somebody.notify_one();
        };
        let mut watcher = self.feed.watch(None, last);
        // What happened between their look and this is in no event to come.
        self.ring(Ring::Anything);
        while self.sender.receiver_count() > 0 {
            match tokio::time::timeout(AT_MOST_EVERY, watcher.next()).await {
                Err(_) => continue,
                // What happened after a silence is told at once.
                Ok(Ok(tidings)) => self.ring(of(&tidings)),
                Ok(Err(_)) => break,
            }
            if self.ring_together(&mut watcher).await.is_err() {
                break;
            }
        }
        if self.sender.receiver_count() > 0 {
            tokio::time::sleep(RETRY).await;
            self.somebody.notify_one();
        }
    }

    /// Rings for what happens within each second together, until there is silence for so long, or nobody to ring for.
    async fn ring_together(&self, watcher: &mut Watcher) -> Result<()> {
        while self.sender.receiver_count() > 0 {
            let gathered = gather(watcher).await?;
            if gathered.is_empty() {
                break;
            }
            self.ring(of(&gathered));
        }
        Ok(())
    }

    fn watch(&self) -> broadcast::Receiver<Ring> {
        let receiver = self.sender.subscribe();
        self.somebody.notify_one();
        receiver
    }
}

fn of(tidings: &[Arc<Tiding>]) -> Ring {
    let sessions = tidings
        .iter()
        .filter_map(|tiding| tiding.session_id.clone());
    Ring::Sessions(Arc::new(sessions.collect()))
}

/// All that happens until the next ring is due.
async fn gather(watcher: &mut Watcher) -> Result<Vec<Arc<Tiding>>> {
    let due = tokio::time::sleep(AT_MOST_EVERY);
    tokio::pin!(due);
    let mut gathered = Vec::new();
    loop {
        tokio::select! {
            () = &mut due => return Ok(gathered),
            tidings = watcher.next() => gathered.extend(tidings?),
        }
    }
}

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/live", |api, call| Box::pin(live(api, call)))
            .needs(Scope::Read)
            .takes_query(&["session"]),
    ]
}

async fn live(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let session = match call.text("session") {
        None => None,
        Some(given) => {
            let given = given.to_owned();
            let read = api
                .house
                .store
                .read(move |sql| sessions::resolve(sql, &given));
            Some(read.await?)
        }
    };
    let watching = Watching {
        rings: api.dashboard.pulse.watch(),
        shutdown: api.shutdown.clone(),
        heartbeat: api.house.config.http.heartbeat.into(),
        caller: call.caller,
        api,
        session,
        greeted: false,
    };
    let frames = unfold(watching, |mut watching| async move {
        let bytes = watching.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(bytes)), watching))
    });
    Ok(Reply::of(
        StatusCode::OK,
        "text/event-stream",
        StreamBody::new(frames),
    ))
}

/// One open page.
struct Watching {
    api: Arc<Api>,
    caller: Caller,
    rings: broadcast::Receiver<Ring>,
    shutdown: watch::Receiver<bool>,
    heartbeat: Duration,
    /// The only one it is about, if it is about one.
    session: Option<String>,
    greeted: bool,
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            self.greeted = true;
            return Some(Bytes::from_static(COME_BACK.as_bytes()));
        }
        let news = tokio::select! {
            () = rung(&mut self.rings, self.session.as_deref()) => CHANGED,
            () = tokio::time::sleep(self.heartbeat) => SIGN_OF_LIFE,
            _ = self.shutdown.changed() => return None,
        };
        // It may be open for longer than its token holds.
        let stays = self.api.gate.stays(&self.caller).await;
        stays.unwrap_or(false).then(|| Bytes::from_static(news))
    }
}

/// Something has changed that a page is about.
async fn rung(rings: &mut broadcast::Receiver<Ring>, session: Option<&str>) {
    loop {
        match rings.recv().await {
            Ok(ring) => match (session, ring) {
                (Some(own), Ring::Sessions(changed)) if !changed.contains(own) => {}
                _ => return,
            },
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
