//! The inbox: a folder in which a wholly written file becomes a session, exactly once, whatever happens meanwhile.
//! Woken by the kernel; a slow rescan catches what the kernel did not tell. It must not read an entry before it has moved it
//! to where nobody else writes.

mod names;
mod settle;
mod take;

use crate::config::Inbox as Configured;
use crate::engine::House;
use crate::files;
use crate::model::request::Request;
use anyhow::{Context, Error, Result};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{RecursiveMode, Watcher};
use settle::Settling;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// News waiting to be read; beyond it the rescan finds what was missed.
const MAX_WAITING_NEWS: usize = 4096;
/// Entries moved together, so that one directory sync and one commit serve them all.
const BATCH: usize = 64;

/// One inbox and what its requests get where they say nothing.
pub struct Inbox {
    house: Arc<House>,
    path: PathBuf,
    defaults: Request,
}

/// What the kernel told of a name.
enum News {
    /// Closed after writing, or renamed in: it is whole.
    Whole(OsString),
    /// Something happened to it; time will tell.
    Touched(OsString),
    /// Too much happened to tell.
    Overflow,
}

/// The inboxes of a house: the one in its state directory, and the configured ones.
pub fn all(house: &Arc<House>) -> Vec<Inbox> {
    let own = Configured {
        path: house.state.join("inbox"),
        defaults: Request::default(),
    };
    let configured = house.config.inboxes.iter().cloned();
    std::iter::once(own)
        .chain(configured)
        .map(|inbox| Inbox {
            house: house.clone(),
            path: inbox.path,
            defaults: inbox.defaults,
        })
        .collect()
}

impl Inbox {
    /// Makes the folders, finishes what an earlier daemon left half done, and starts to listen.
    pub async fn open(self) -> Result<OpenInbox> {
        for part in [take::ACCEPTED, take::REJECTED, take::TAKEN] {
            files::make_private_directory(&self.path.join(part))?;
        }
        let (news, arriving) = mpsc::channel(MAX_WAITING_NEWS);
        let watcher = watch_folder(&self.path, news)
            .with_context(|| format!("cannot watch the inbox {}", self.path.display()))?;
        self.finish_taken().await?;
        Ok(OpenInbox {
            settling: Settling::new(self.house.config.inbox.settle.into()),
            inbox: self,
            arriving,
            _watcher: watcher,
        })
    }
}

/// An inbox that is being listened to.
pub struct OpenInbox {
    inbox: Inbox,
    arriving: mpsc::Receiver<News>,
    settling: Settling,
    _watcher: notify::RecommendedWatcher,
}

impl OpenInbox {
    /// Takes what comes in until shutdown.
    pub async fn run(mut self, mut shutdown: watch::Receiver<bool>) {
        let rescan: Duration = self.inbox.house.config.inbox.rescan.into();
        let mut next_scan = Instant::now();
        while !*shutdown.borrow() {
            let mut whole = HashSet::new();
            if Instant::now() >= next_scan {
                self.scan().await;
                next_scan = Instant::now() + rescan;
            }
            let wake = self
                .settling
                .next_look()
                .map_or(next_scan, |look| look.min(next_scan));
            tokio::select! {
                news = self.arriving.recv() => self.hear(news, &mut whole, &mut next_scan),
                _ = tokio::time::sleep_until(wake.into()) => {}
                _ = shutdown.changed() => break,
            }
            while let Ok(news) = self.arriving.try_recv() {
                self.hear(Some(news), &mut whole, &mut next_scan);
            }
            whole.extend(self.settling.settled(&self.inbox.path, Instant::now()));
            self.take(whole.into_iter().collect()).await;
        }
    }

    fn hear(&mut self, news: Option<News>, whole: &mut HashSet<OsString>, next_scan: &mut Instant) {
        match news {
            Some(News::Whole(name)) if take::looks_whole(&self.inbox.path.join(&name)) => {
                self.settling.forget(&name);
                whole.insert(name);
            }
            Some(News::Whole(name) | News::Touched(name)) => {
                self.settling.notice(&self.inbox.path, name, Instant::now())
            }
            Some(News::Overflow) | None => *next_scan = Instant::now(),
        }
    }

    /// Finishes what stayed half done, and notices every entry that is there; whether it is whole shows by its not changing.
    async fn scan(&mut self) {
        if let Err(error) = self.inbox.finish_taken().await {
            self.complain(&error);
        }
        match std::fs::read_dir(&self.inbox.path) {
            Ok(listing) => {
                for entry in listing
                    .flatten()
                    .filter(|entry| names::is_candidate(&entry.file_name()))
                {
                    self.settling
                        .notice(&self.inbox.path, entry.file_name(), Instant::now());
                }
            }
            Err(error) => tracing::error!(
                "cannot read the inbox {}: {error}",
                self.inbox.path.display()
            ),
        }
    }

    async fn take(&mut self, mut names: Vec<OsString>) {
        // Oldest names first, so that a batch keeps the order in which people number their files.
        names.sort();
        for batch in names.chunks(BATCH) {
            if let Err(error) = self.inbox.take(batch).await {
                self.complain(&error);
            }
        }
    }

    fn complain(&self, error: &Error) {
        let path = self.inbox.path.display();
        tracing::error!("the inbox {path} cannot be worked on: {error:#}");
    }
}

fn watch_folder(path: &Path, news: mpsc::Sender<News>) -> Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |heard: notify::Result<notify::Event>| {
        for item in read_news(heard) {
            // A full channel is no loss: the rescan sees the file.
            let _ = news.try_send(item);
        }
    })?;
    watcher.watch(path, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

fn read_news(heard: notify::Result<notify::Event>) -> Vec<News> {
    let Ok(event) = heard else {
        return vec![News::Overflow];
    };
    if event.need_rescan() {
        return vec![News::Overflow];
    }
    let whole = matches!(
        event.kind,
        EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Name(RenameMode::To))
    );
    let touched = matches!(
        event.kind,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_))
    );
    let names = event
        .paths
        .iter()
        .filter_map(|path| path.file_name())
        .filter(|name| names::is_candidate(name));
    names
        .filter(|_| whole || touched)
        .map(|name| match whole {
            true => News::Whole(name.to_owned()),
            false => News::Touched(name.to_owned()),
        })
        .collect()
}
