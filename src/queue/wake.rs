//! Notices what other processes write: a slow look at SQLite's own change counter, and a doorbell for those who know it.
//! Both only save time: a missed ring is caught by the next look.

use crate::store::Store;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixDatagram;
use tokio::sync::watch;

/// How long a row written by `sqlite3` may go unnoticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

fn doorbell(state: &Path) -> PathBuf {
    state.join("wake.sock")
}

/// Wakes the daemon of this state directory, if one is there.
pub fn ring(state: &Path) {
    if let Ok(socket) = std::os::unix::net::UnixDatagram::unbound() {
        let _ = socket.set_nonblocking(true);
        let _ = socket.send_to(&[1], doorbell(state));
    }
}

/// Pokes the store whenever another process has committed, until shutdown.
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
    let mut known = store.foreign_version().await?;
    let mut ring = [0u8; 1];
    while !*shutdown.borrow() {
        tokio::select! {
            _ = tokio::time::sleep(LOOK_EVERY) => {}
            _ = bell.recv(&mut ring) => {}
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
    let _ = std::fs::remove_file(&path);
    Ok(())
}
