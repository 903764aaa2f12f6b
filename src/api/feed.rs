//! The history as it happens, for all who watch: one reader of the rows, however many watchers there are. A watcher that is too slow, or
//! came while nobody was watching, reads what it missed from the rows again; so nothing is kept for anybody, and nobody holds up others.

use crate::store::Store;
use crate::store::events::{self, Event};
use anyhow::Result;
use hyper::body::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast, watch};

/// Events read in one go.
const PAGE: u32 = 256;
/// Batches that a watcher may be behind before it reads the rows itself.
const BATCHES: usize = 64;
/// What happens within this time is read together.
const GATHER: Duration = Duration::from_millis(10);
/// After this long the rows are looked at although nobody rang: a lost wake-up costs time and nothing else.
const LOOK_ANYWAY: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(1);

/// One event, made ready once for all watchers.
pub struct Tiding {
    pub seq: i64,
    pub session_id: Option<String>,
    pub kind: String,
    /// As an event stream has it.
    pub frame: Bytes,
}

impl From<Event> for Tiding {
    fn from(event: Event) -> Self {
        let data = serde_json::to_string(&event).unwrap_or_default();
        let frame = format!("id: {}\nevent: {}\ndata: {data}\n\n", event.seq, event.kind);
        Self {
            seq: event.seq,
            session_id: event.session_id,
            kind: event.kind,
            frame: frame.into(),
        }
    }
}

/// All events after one number, up to another.
pub struct Batch {
    after: i64,
    upto: i64,
    tidings: Vec<Arc<Tiding>>,
}

/// Where watchers get the history from.
pub struct Feed {
    store: Store,
    sender: broadcast::Sender<Arc<Batch>>,
    somebody: Notify,
}

impl Feed {
    pub fn new(store: &Store) -> Arc<Self> {
        Arc::new(Self {
            store: store.clone(),
            sender: broadcast::Sender::new(BATCHES),
            somebody: Notify::new(),
        })
    }

    /// Reads for all watchers until shutdown; sleeps as long as there is none.
    pub async fn run(self: Arc<Self>, mut shutdown: watch::Receiver<bool>) {
        let mut news = self.store.news();
        let mut position = None;
        while !*shutdown.borrow() {
            if self.sender.receiver_count() == 0 {
                position = None;
                self.store.pace().rests("feed");
                tokio::select! {
                    _ = self.somebody.notified() => {}
                    _ = shutdown.changed() => {}
                }
                continue;
            }
            news.borrow_and_update();
            let wait = match self.tell(position).await {
                Ok(Told { upto, more }) => {
                    position = Some(upto);
                    self.store.pace().has_read("feed", upto);
                    (!more).then_some(LOOK_ANYWAY)
                }
                Err(error) => {
                    tracing::error!("the event feed: {error:#}");
                    Some(RETRY)
                }
            };
            if let Some(wait) = wait {
                tokio::select! {
                    _ = async { let _ = news.changed().await; tokio::time::sleep(GATHER).await } => {}
                    _ = tokio::time::sleep(wait) => {}
                    _ = shutdown.changed() => {}
                }
            }
        }
    }

    /// Sends on what is new. The first batch is empty: whoever waits for it learns how far behind it may be.
    async fn tell(&self, position: Option<i64>) -> Result<Told> {
        let batch = self
            .store
            .read(move |sql| match position {
                None => events::last(sql).map(|last| (last, Vec::new())),
                Some(after) => Ok((after, events::after(sql, None, after, PAGE)?)),
            })
            .await?;
        let (after, events) = batch;
        let upto = events.last().map_or(after, |event| event.seq);
        let more = events.len() == PAGE as usize;
        if position.is_none() || upto > after {
            let tidings = events
                .into_iter()
                .map(|event| Arc::new(event.into()))
                .collect();
            // Nobody there any more is no error.
            let _ = self.sender.send(Arc::new(Batch {
                after,
                upto,
                tidings,
            }));
        }
        Ok(Told { upto, more })
    }

    /// The number of the last event.
    pub async fn last(&self) -> Result<i64> {
        self.store.read(events::last).await
    }

    /// Watches one session's events, or all, from after a number on.
    pub fn watch(self: &Arc<Self>, session: Option<String>, after: i64) -> Watcher {
        let live = self.sender.subscribe();
        self.somebody.notify_one();
        Watcher {
            feed: self.clone(),
            session,
            live,
            position: after,
            behind: true,
        }
    }
}

struct Told {
    upto: i64,
    more: bool,
}

/// One who watches.
pub struct Watcher {
    feed: Arc<Feed>,
    session: Option<String>,
    live: broadcast::Receiver<Arc<Batch>>,
    /// Everything up to here was looked at.
    position: i64,
    /// There may be rows that no batch will bring.
    behind: bool,
}

impl Watcher {
    /// The next events, oldest first; at least one. May be dropped while it waits, and asked again.
    pub async fn next(&mut self) -> Result<Vec<Arc<Tiding>>> {
        loop {
            if self.behind {
                let found = self.rest().await?;
                if !found.is_empty() {
                    return Ok(found);
                }
                continue;
            }
            let batch = match self.live.recv().await {
                Ok(batch) => batch,
                Err(RecvError::Lagged(_)) => {
                    self.behind = true;
                    continue;
                }
                Err(RecvError::Closed) => anyhow::bail!("the event feed has ended"),
            };
            if batch.after > self.position {
                self.behind = true;
                continue;
            }
            let found = self.of_mine(&batch);
            self.position = self.position.max(batch.upto);
            if !found.is_empty() {
                return Ok(found);
            }
        }
    }

    /// Everything up to here was told, or is none of its events.
    pub fn position(&self) -> i64 {
        self.position
    }

    fn of_mine(&self, batch: &Batch) -> Vec<Arc<Tiding>> {
        let mine = |tiding: &&Arc<Tiding>| {
            let of_session = self.session.is_none() || tiding.session_id == self.session;
            tiding.seq > self.position && of_session
        };
        batch.tidings.iter().filter(mine).cloned().collect()
    }

    /// What the rows have by now, a page at the most, without waiting for more; nothing when all of it was told.
    pub async fn rest(&mut self) -> Result<Vec<Arc<Tiding>>> {
        let (session, after) = (self.session.clone(), self.position);
        let (found, last) = self
            .feed
            .store
            .read(move |sql| {
                let found = events::after(sql, session.as_deref(), after, PAGE)?;
                Ok((found, events::last(sql)?))
            })
            .await?;
        self.behind = found.len() == PAGE as usize;
        self.position = match (self.behind, found.last()) {
            (true, Some(event)) => event.seq,
            _ => self.position.max(last),
        };
        Ok(found
            .into_iter()
            .map(|event| Arc::new(event.into()))
            .collect())
    }
}
