//! Carries the write-ahead log over into the database file, beside the writer: a commit that did it on its way would keep all that share
//! it waiting for the disk. It must not write anything else, and losing it costs a longer log and nothing more.

use super::sqlite;
use anyhow::{Context, Result};
use rusqlite::Connection;
use std::cell::Cell;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Pages in the log, and again so many, after which it is carried over: little enough that the disk is not kept busy for long.
const PAGES: i32 = 1_000;
/// Past this the writer waits until the rest is carried over too: only then can the log begin anew.
const MOST_PAGES: i32 = 16_000;
const CACHE_KIB: i64 = 64;

thread_local! {
    /// Pages that the log has after the last commit of this thread's connection.
    static IN_LOG: Cell<i32> = const { Cell::new(0) };
}

/// Had by whoever carries. SQLite would not let a second one wait: it sends him away, and the log would grow while a slow disk keeps
/// the first one busy.
type Turn = Arc<Mutex<()>>;

/// The writer's side: it sees the log grow.
pub(super) struct Carrier {
    bell: SyncSender<()>,
    turn: Turn,
    /// Pages at which it was last called for.
    called_at: i32,
}

impl Carrier {
    /// Takes the log of this connection over from SQLite, which would carry it within a commit. For the thread that commits on it.
    pub fn start(connection: &Connection, path: &Path) -> Result<Self> {
        connection.wal_hook(Some(|_, pages| {
            IN_LOG.set(pages);
            Ok(())
        }));
        let (bell, rung) = sync_channel(1);
        let turn = Turn::default();
        let (path, shared) = (path.to_owned(), turn.clone());
        std::thread::Builder::new()
            .name("store-carrier".to_owned())
            .spawn(move || carry_when_rung(&path, &rung, &shared))
            .context("cannot start the thread that carries the log over")?;
        Ok(Self {
            bell,
            turn,
            called_at: 0,
        })
    }

    /// Looks how long the log is, between two commits on this connection.
    pub fn look(&mut self, connection: &Connection) {
        let pages = IN_LOG.get();
        if pages < self.called_at {
            self.called_at = 0;
        }
        if pages >= MOST_PAGES {
            carry(connection, &self.turn);
            self.called_at = pages;
        } else if pages - self.called_at >= PAGES {
            self.called_at = pages;
            // One that is at it already will be rung again by the next.
            let _ = self.bell.try_send(());
        }
    }
}

fn carry_when_rung(path: &Path, rung: &Receiver<()>, turn: &Turn) {
    let mut connection = None;
    while rung.recv().is_ok() {
        if connection.is_none() {
            connection = open(path);
        }
        if let Some(connection) = &connection {
            carry(connection, turn);
        }
    }
}

fn open(path: &Path) -> Option<Connection> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open(path)?;
        sqlite::prepare(&connection)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        Ok(connection)
    };
    open()
        .inspect_err(|error| tracing::warn!("cannot carry the database's log over: {error}"))
        .ok()
}

/// As far as nobody reads what is older; no reader is waited for.
fn carry(connection: &Connection, turn: &Turn) {
    let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
    let carried = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(error) = carried {
        tracing::warn!("cannot carry the database's log over: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_under_load_is_carried_over_and_begins_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let connection = Connection::open(&path).unwrap();
        sqlite::prepare(&connection).unwrap();
        connection
            .execute_batch("PRAGMA synchronous = OFF; CREATE TABLE heap (bytes)")
            .unwrap();
        let mut carrier = Carrier::start(&connection, &path).unwrap();
        let mut longest = 0;
        for _ in 0..150 {
            let add = "INSERT INTO heap VALUES (zeroblob(1000000))";
            connection.execute(add, []).unwrap();
            longest = longest.max(IN_LOG.get());
            carrier.look(&connection);
        }
        assert!((PAGES..2 * MOST_PAGES).contains(&longest), "{longest}");
        assert!(IN_LOG.get() <= longest);
        let carried = std::fs::metadata(&path).unwrap().len();
        assert!(carried > 50_000_000, "{carried}");
    }
}
