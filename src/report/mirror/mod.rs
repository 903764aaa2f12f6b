//! The history as lines of a file, `events.jsonl`, for programs that read logs: in order and each event once, through restarts and
//! kill -9. The file itself says how far it is, by its last whole line. `file` is how it is written and put aside.

mod file;

use crate::engine::House;
use crate::store::Store;
use crate::store::events;
use anyhow::Result;
use file::Lines;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The name of the file in the state directory.
pub const MIRROR_FILE: &str = "events.jsonl";
const READER: &str = "mirror";
/// Events read in one go.
const PAGE: u32 = 512;
/// What happens within this time is written together.
const GATHER: Duration = Duration::from_millis(100);
/// After this long the rows are looked at although nobody rang: a lost wake-up costs time and nothing else.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// A file that cannot be written, or a database that cannot be read, is tried again after this.
const RETRY: Duration = Duration::from_secs(5);

/// Writes what happens until shutdown, where that is wanted.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let config = &house.config.events;
    if !config.mirror {
        return;
    }
    let path = house.state.join(MIRROR_FILE);
    let mut lines = None;
    let mut news = house.store.news();
    loop {
        let last = *shutdown.borrow();
        news.borrow_and_update();
        let written = match lines.take() {
            Some(open) => Ok(open),
            None => Lines::open(&path, config.max_bytes, config.keep),
        };
        let written = match written {
            Ok(open) => write_on(&house.store, open).await,
            Err(error) => Err(error),
        };
        let wait = match written {
            Ok(open) => {
                lines = Some(open);
                LOOK_ANYWAY
            }
            // It is opened anew, which mends a line that was cut off.
            Err(error) => {
                tracing::error!("the mirror of the history: {error:#}");
                RETRY
            }
        };
        if last {
            return;
        }
        tokio::select! {
            () = async { let _ = news.changed().await; tokio::time::sleep(GATHER).await } => {}
            () = tokio::time::sleep(wait) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// Writes all that is new.
async fn write_on(store: &Store, mut lines: Lines) -> Result<Lines> {
    loop {
        let after = lines.position();
        let (found, newest) = store
            .read(move |sql| Ok((events::after(sql, None, after, PAGE)?, events::last(sql)?)))
            .await?;
        if newest < after {
            tracing::warn!(
                "the history is shorter than its mirror, as after a restored backup: the mirror begins anew"
            );
            lines.begin_anew()?;
            continue;
        }
        for event in &found {
            lines.add(event.seq, &serde_json::to_string(event)?)?;
        }
        lines.flush()?;
        store.pace().has_read(READER, lines.position());
        if found.len() < PAGE as usize {
            return Ok(lines);
        }
    }
}
