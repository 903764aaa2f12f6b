//! The way in for `sqlite3`: rows in `requests`. Each becomes one session, or an error in its own row.

use super::intake::{Origin, Reception, parse};
use crate::clock::now_ms;
use crate::engine::House;
use crate::model::session::Trigger;
use crate::store::driver::Sql;
use crate::store::requests::{self, RawRequest};
use crate::store::sessions::{self, NewSession};
use anyhow::Result;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Rows looked at in one go.
const BATCH: u32 = 100;
/// After a failure: nobody else's commit need follow.
const RETRY: Duration = Duration::from_secs(2);

/// Takes inserted requests until shutdown. They are always another process's: our own commits do not matter.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let mut commits = house.store.foreign_commits();
    while !*shutdown.borrow() {
        commits.borrow_and_update();
        let mut longest = Duration::MAX;
        if let Err(error) = take_all(&house).await {
            tracing::error!("cannot take inserted requests: {error:#}");
            longest = RETRY;
        }
        tokio::select! {
            _ = commits.changed() => {}
            () = tokio::time::sleep(longest) => {}
            _ = shutdown.changed() => {}
        }
    }
}

async fn take_all(house: &House) -> Result<()> {
    loop {
        let waiting = house
            .store
            .read(|sql| requests::untaken(sql, BATCH))
            .await?;
        if waiting.is_empty() {
            return Ok(());
        }
        for raw in waiting {
            let id = raw.id;
            let prepared = prepare(house, &raw).map_err(|error| format!("{error:#}"));
            house
                .store
                .write(move |sql| answer(sql, id, &prepared))
                .await?;
        }
    }
}

fn prepare(house: &House, raw: &RawRequest) -> Result<NewSession> {
    let max_bytes = house.config.inbox.max_bytes;
    anyhow::ensure!(
        raw.bytes as u64 <= max_bytes,
        "the request has {} bytes, more than {max_bytes}",
        raw.bytes
    );
    // A row is nobody's file and no command's argument; of the fixed words for origins the API's fits best.
    Reception::from(house).prepare(parse(&raw.body)?, Origin::new(Trigger::Api))
}

/// Session and answer in one transaction: a crash leaves the row untaken or wholly taken.
fn answer(sql: &mut dyn Sql, id: i64, prepared: &Result<NewSession, String>) -> Result<()> {
    let first = match prepared {
        Ok(new) => {
            let created = sessions::create(sql, new)?;
            requests::take(sql, id, Ok(created.id()), now_ms())?
        }
        Err(reason) => requests::take(sql, id, Err(reason), now_ms())?,
    };
    anyhow::ensure!(first, "request row {id} was taken by somebody else");
    Ok(())
}
