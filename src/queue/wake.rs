//! Notices what other processes write: the kernel tells of changes of the database's log, a doorbell rings for those who know it,
//! and a slow look catches what neither told. All of them only save time.

use crate::store::{DATABASE_FILE, Store};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// So long the log may go unlooked at where the kernel tells of its changes.
const LOOK_EVERY: Duration = Duration::from_secs(45);
/// And so long where it does not: a row written by `sqlite3` goes unnoticed meanwhile.
const LOOK_OFTEN: Duration = Duration::from_millis(1500);
/// One commit is several writes, and under load there are hundreds of commits a second: they are looked at together.
const GATHER: Duration = Duration::from_millis(10);

fn doorbell(state: &Path) -> PathBuf {
    state.join("wake.sock")
}

/// Wakes the daemon of this state directory, if one is there.
pub fn ring(state: &Path) {
    if let Ok(socket) = UnixDatagram::unbound() {
        let _ = socket.set_nonblocking(true);
        let _ = socket.send_to(&[1], doorbell(state));
    }
}

/// Has the store look whenever another process may have committed, until shutdown.
///
/// The waiting is done by a thread of its own: it wakes once, where a task of the runtime wakes two or three threads.
pub async fn listen(
    store: Store,
    state: PathBuf,
    mut shutdown: watch::Receiver<bool>,
) -> Result<()> {
    let path = doorbell(&state);
    // The lock on the state directory is ours: an old socket is a dead daemon's.
    let _ = std::fs::remove_file(&path);
    let bell = UnixDatagram::bind(&path)
        .with_context(|| format!("cannot listen on {}", path.display()))?;
    bell.set_nonblocking(true)?;
    let ear = Ear::new(bell, state.join(format!("{DATABASE_FILE}-wal")));
    let down = shutdown.clone();
    let looking = std::thread::Builder::new()
        .name("look-for-others".to_owned())
        .spawn(move || look(ear, &store, &down))?;
    let _ = shutdown.wait_for(|down| *down).await;
    ring(&state);
    let _ = tokio::task::spawn_blocking(move || looking.join()).await;
    let _ = std::fs::remove_file(&path);
    Ok(())
}

fn look(mut ear: Ear, store: &Store, down: &watch::Receiver<bool>) {
    while !*down.borrow() {
        // Also before the first wait: somebody may have committed before there was an ear.
        store.look_for_others();
        ear.wait();
    }
}

/// What wakes the looking thread.
struct Ear {
    bell: UnixDatagram,
    log: PathBuf,
    /// None where the kernel does not tell of the log.
    changes: Option<OwnedFd>,
    /// How the log looked last.
    seen: Option<(u64, SystemTime)>,
}

impl Ear {
    fn new(bell: UnixDatagram, log: PathBuf) -> Self {
        let changes = watch_file(&log)
            .inspect_err(|error| {
                tracing::warn!("changes by other processes are noticed late: {error}")
            })
            .ok();
        Self {
            seen: appearance(&log),
            bell,
            log,
            changes,
        }
    }

    /// Until there may be something to see.
    fn wait(&mut self) {
        loop {
            let (rung, changed) = self.sleep();
            if changed && !rung {
                wait_for(&[self.bell.as_fd()], GATHER);
            }
            while self.bell.recv(&mut [0u8; 1]).is_ok() {}
            self.changes.iter().for_each(forget_changes);
            let now = appearance(&self.log);
            let silent_change = !rung && !changed && now != self.seen;
            self.seen = now;
            if silent_change && self.changes.take().is_some() {
                tracing::warn!("the file system does not tell of changes by other processes");
            }
            if rung || changed || silent_change {
                return;
            }
        }
    }

    /// Whether the bell rang, and whether the log changed.
    fn sleep(&self) -> (bool, bool) {
        match &self.changes {
            Some(changes) => {
                let heard = wait_for(&[self.bell.as_fd(), changes.as_fd()], LOOK_EVERY);
                (heard[0], heard[1])
            }
            None => (wait_for(&[self.bell.as_fd()], LOOK_OFTEN)[0], false),
        }
    }
}

/// How a file looks from outside. The log is never opened here: closing it would drop SQLite's locks.
fn appearance(file: &Path) -> Option<(u64, SystemTime)> {
    let facts = std::fs::metadata(file).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}

/// Has the kernel tell of writes to a file, without opening it.
fn watch_file(file: &Path) -> rustix::io::Result<OwnedFd> {
    let changes = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    inotify::add_watch(&changes, file, inotify::WatchFlags::MODIFY)?;
    Ok(changes)
}

/// What was told so far is all looked at now.
fn forget_changes(changes: &OwnedFd) {
    let mut told = [0u8; 4096];
    while rustix::io::read(changes, &mut told).is_ok_and(|length| length == told.len()) {}
}

/// Which of them have something, once one has or the time is over.
fn wait_for<const N: usize>(sources: &[BorrowedFd<'_>; N], longest: Duration) -> [bool; N] {
    let mut waited = sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
    let timeout = Timespec::try_from(longest).ok();
    // Where the waiting fails nothing is heard, and the next look comes sooner.
    match rustix::event::poll(&mut waited, timeout.as_ref()) {
        Ok(_) => waited.map(|entry| !entry.revents().is_empty()),
        Err(_) => [false; N],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn ear(state: &Path) -> Ear {
        let log = state.join("log");
        std::fs::write(&log, "first").unwrap();
        let bell = UnixDatagram::bind(doorbell(state)).unwrap();
        bell.set_nonblocking(true).unwrap();
        Ear::new(bell, log)
    }

    fn append(ear: &Ear) {
        let log = std::fs::OpenOptions::new().append(true).open(&ear.log);
        log.unwrap().write_all(b"second").unwrap();
    }

    #[test]
    fn a_change_is_heard_once() {
        let state = tempfile::tempdir().unwrap();
        let mut ear = ear(state.path());
        append(&ear);
        assert_eq!(ear.sleep(), (false, true));
        ear.wait();
        let changes = ear.changes.as_ref().unwrap().as_fd();
        assert_eq!(wait_for(&[changes], Duration::ZERO), [false]);
    }

    #[test]
    fn a_ring_is_heard_once() {
        let state = tempfile::tempdir().unwrap();
        let mut ear = ear(state.path());
        ring(state.path());
        assert_eq!(ear.sleep(), (true, false));
        ear.wait();
        assert_eq!(wait_for(&[ear.bell.as_fd()], Duration::ZERO), [false]);
    }

    #[test]
    fn a_change_that_the_kernel_does_not_tell_of_is_seen() {
        let state = tempfile::tempdir().unwrap();
        let mut ear = ear(state.path());
        ear.changes = None;
        append(&ear);
        ear.wait();
        assert_eq!(ear.seen, appearance(&ear.log));
    }
}
