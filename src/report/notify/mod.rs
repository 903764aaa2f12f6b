//! Tells people and programs outside: the callback of a request, and the targets of `[notify]`.
//!
//! `collect` reads the history on and takes up what is to be told, each event once; `deliver` tries each notice until it is taken or given
//! up, one file a kind. Both only go by rows: after a kill -9 the next process goes on where this one was, and what was under way is told
//! again under the same id.

mod collect;
mod deliver;
mod exec;
mod ntfy;
mod post;
mod secret;
mod sign;
mod slack;
mod webhook;

pub use secret::{learn, problems};

use crate::clock::now_ms;
use crate::engine::House;
use crate::store::notices::{self, Notice};
use anyhow::Result;
use collect::Collector;
use deliver::Courier;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{self, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

/// Commits are looked at together: under load there are hundreds of them a second.
const GATHER: Duration = Duration::from_millis(100);
/// A database that cannot be read or written is tried again after this long.
const RETRY: Duration = Duration::from_secs(5);
/// While something is owed the clock is looked at this often, in case it was set.
const LONGEST_NAP: Duration = Duration::from_secs(300);
/// What is under way at shutdown may take this long to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Tries under way at once, in all and with one receiver.
const MAX_UNDER_WAY: usize = 32;
const MAX_PER_LANE: usize = 8;

/// Tells what is to be told until shutdown, woken by commits and by the time of the next try.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let mut news = house.store.news();
    let mut teller = Teller::new(house);
    // What was there before this process is looked at without being told.
    let mut look_at = Some(Instant::now());
    while !*shutdown.borrow() {
        tokio::select! {
            heard = news.changed(), if look_at.is_none() => match heard {
                Ok(()) => look_at = Some(Instant::now() + GATHER),
                Err(_) => break,
            },
            () = sleep_until(look_at.unwrap_or_else(Instant::now)), if look_at.is_some() => {
                news.borrow_and_update();
                look_at = teller.look().await;
            }
            () = teller.until_ready() => teller.begin_due().await,
            _ = shutdown.changed() => {}
        }
    }
    teller.farewell().await;
}

/// What is under way, and when something is due next.
struct Teller {
    house: Arc<House>,
    collector: Collector,
    courier: Arc<Courier>,
    tries: JoinSet<()>,
    under_way: HashMap<task::Id, Notice>,
    next_try: Option<Instant>,
}

impl Teller {
    fn new(house: Arc<House>) -> Self {
        Self {
            collector: Collector::default(),
            courier: Arc::new(Courier::new(house.clone())),
            house,
            tries: JoinSet::new(),
            under_way: HashMap::new(),
            // What an earlier process owed.
            next_try: Some(Instant::now()),
        }
    }

    /// Takes up what is new and begins with it; says when to look again where that failed.
    async fn look(&mut self) -> Option<Instant> {
        match self.collector.collect(&self.house).await {
            Ok(false) => None,
            Ok(true) => {
                self.begin_due().await;
                None
            }
            Err(error) => {
                tracing::error!("notices cannot be taken up: {error:#}");
                Some(Instant::now() + RETRY)
            }
        }
    }

    /// Until a try is due, or one has ended and left room.
    async fn until_ready(&mut self) {
        let next_try = self.next_try;
        let due = async {
            match next_try {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            true = self.end_one() => {}
        }
    }

    /// Waits for the end of a try; false when none is under way.
    async fn end_one(&mut self) -> bool {
        let Some(ended) = self.tries.join_next_with_id().await else {
            return false;
        };
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => error.id(),
        };
        self.under_way.remove(&id);
        true
    }

    /// Begins what is due, as far as there is room, and finds out when the next is.
    async fn begin_due(&mut self) {
        match self.due().await {
            Ok((due, next_at_ms)) => {
                for (notice, callback_url) in due {
                    let courier = self.courier.clone();
                    let carried = notice.clone();
                    let begun = self
                        .tries
                        .spawn(async move { courier.carry(&carried, callback_url).await });
                    self.under_way.insert(begun.id(), notice);
                }
                self.next_try = next_at_ms.map(|at_ms| {
                    let wait = u64::try_from(at_ms - now_ms()).unwrap_or(0);
                    Instant::now() + Duration::from_millis(wait).min(LONGEST_NAP)
                });
            }
            Err(error) => {
                tracing::error!("notices cannot be read: {error:#}");
                self.next_try = Some(Instant::now() + RETRY);
            }
        }
    }

    async fn due(&self) -> Result<(Vec<(Notice, Option<String>)>, Option<i64>)> {
        let at_ms = now_ms();
        let room = Room::beside(self.under_way.values());
        self.house
            .store
            .read(move |sql| {
                let (mut found, mut free) = (Vec::new(), room.total);
                for (lane, next_at_ms) in notices::lanes(sql)? {
                    if next_at_ms > at_ms {
                        return Ok((found, Some(next_at_ms)));
                    }
                    let taken = room.taken.get(&lane).copied().unwrap_or(0);
                    let most = (MAX_PER_LANE - taken).min(free);
                    if most == 0 {
                        continue;
                    }
                    let mut due = notices::due(sql, &lane, at_ms, (most + taken) as u32)?;
                    due.retain(|(notice, _)| !room.under_way.contains(&notice.id));
                    due.truncate(most);
                    free -= due.len();
                    found.extend(due);
                }
                Ok((found, None))
            })
            .await
    }

    /// One more look, so that what ended with this process is told by it, and a while for what is under way.
    async fn farewell(mut self) {
        self.look().await;
        let all_ended = async { while self.end_one().await {} };
        let _ = timeout(FAREWELL, all_ended).await;
    }
}

/// How much more may be begun.
struct Room {
    total: usize,
    /// Tries under way with each receiver.
    taken: HashMap<String, usize>,
    under_way: HashSet<String>,
}

impl Room {
    fn beside<'a>(under_way: impl Iterator<Item = &'a Notice>) -> Self {
        let mut room = Self {
            total: MAX_UNDER_WAY,
            taken: HashMap::new(),
            under_way: HashSet::new(),
        };
        for notice in under_way {
            room.total = room.total.saturating_sub(1);
            *room.taken.entry(notice.lane.clone()).or_default() += 1;
            room.under_way.insert(notice.id.clone());
        }
        room
    }
}
