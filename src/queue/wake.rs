//! Notices what other processes write: a slow look at the database's log, and a doorbell for those who know it.
//! Both only save time: a missed ring is caught by the next look.

use crate::store::{DATABASE_FILE, Store};
use anyhow::{Context, Result};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, watch};

/// How long a row written by `sqlite3` may go unnoticed; ralphd's own commands ring.
const LOOK_EVERY: Duration = Duration::from_millis(1500);
/// So often SQLite is asked although its log looks unchanged: a clock tick may hide a write.
const ASK_EVERY_LOOKS: u32 = 30;

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

/// How the log of the database looks from outside. Every commit writes to it, and asking costs no thread its sleep; it is never
/// opened here, because closing it would drop SQLite's locks.
fn look_at_log(state: &Path) -> Option<(u64, SystemTime)> {
    let facts = std::fs::metadata(state.join(format!("{DATABASE_FILE}-wal"))).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}

/// Pokes the store whenever another process has committed, until shutdown.
///
/// The looking is done by a thread of its own: it wakes once a look, where a timer of the runtime wakes two or three times.
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
    bell.set_read_timeout(Some(LOOK_EVERY))?;
    let (news, mut heard) = mpsc::channel(1);
    let (watched, down) = (state.clone(), shutdown.clone());
    let looking = std::thread::Builder::new()
        .name("look-for-others".to_owned())
        .spawn(move || look(&bell, &watched, &news, &down))?;
    let mut known = store.foreign_version().await?;
    while !*shutdown.borrow() {
        tokio::select! {
            Some(()) = heard.recv() => {}
            _ = shutdown.changed() => break,
        }
        match store.foreign_version().await {
            Ok(now) if now == known => {}
            Ok(now) => {
                known = now;
                store.poke();
            }
            Err(error) => tracing::error!("cannot look for changes by others: {error:#}"),
        }
    }
    ring(&state);
    let _ = tokio::task::spawn_blocking(move || looking.join()).await;
    let _ = std::fs::remove_file(&path);
    Ok(())
}

/// Tells of a ring, of a changed log, and now and then without a reason.
fn look(bell: &UnixDatagram, state: &Path, news: &mpsc::Sender<()>, down: &watch::Receiver<bool>) {
    let mut log = None;
    let mut unchanged_looks = 0;
    while !*down.borrow() {
        let rung = bell.recv(&mut [0u8; 1]).is_ok();
        // Before SQLite is asked, so that a write in between shows at the next look.
        let seen = look_at_log(state);
        if !rung && seen == log && unchanged_looks < ASK_EVERY_LOOKS {
            unchanged_looks += 1;
            continue;
        }
        log = seen;
        unchanged_looks = 0;
        // A full channel is a look that is still owed.
        let _ = news.try_send(());
    }
}
