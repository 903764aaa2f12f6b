//! One connection for one piece of work: opened, held to a deadline, ended. It never outlives the call, nor is it dropped on a thread
//! that runs other asynchronous work: the runtime is this call's own.

use super::address::Address;
use super::explain::unreachable;
use super::tls;
use crate::dataset::trouble::{Fault, Trouble};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, Transaction};

/// Time between two looks at whether to stop.
const LOOKS: Duration = Duration::from_millis(25);
/// Time to ask the server to give up, and to part from it.
const PARTING: Duration = Duration::from_secs(2);
/// What the server allows beyond our own limit, so that the words about it are ours.
const SERVERS_MARGIN_MS: u128 = 500;

/// Until when, and what ends it sooner.
#[derive(Clone, Debug)]
pub struct Patience {
    pub time: Duration,
    pub stop: Option<Arc<AtomicBool>>,
    /// The words for when the time is over.
    pub too_long: fn(Duration) -> Trouble,
}

impl Patience {
    fn while_connecting(&self, over: Trouble, address: &Address) -> Trouble {
        match over.fault {
            Fault::Timeout => {
                let seconds = self.time.as_secs_f32();
                let message = format!("{}: no connection within {seconds} s", address.shown);
                Trouble::new(Fault::Other, message)
            }
            _ => over,
        }
    }

    /// Returns when there is no more of it.
    async fn is_over(&self, started: Instant) -> Trouble {
        loop {
            if self
                .stop
                .as_ref()
                .is_some_and(|stop| stop.load(Ordering::Relaxed))
            {
                return Trouble::new(Fault::Cancelled, "the query was cancelled");
            }
            let left = self.time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return (self.too_long)(self.time);
            }
            sleep(left.min(LOOKS)).await;
        }
    }
}

/// Connects, lets `work` have the connection, and parts from the server, which rolls back whatever was going on.
pub fn with_client<T>(
    address: &Address,
    patience: &Patience,
    work: impl AsyncFnOnce(&mut Client) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let tls = tls::connector(&address.trust).map_err(|trouble| trouble.about(&address.shown))?;
    runtime.block_on(async {
        let started = Instant::now();
        let connected = tokio::select! {
            biased;
            connected = address.config.connect(tls.clone()) => connected,
            over = patience.is_over(started) => return Err(patience.while_connecting(over, address)),
        };
        let (mut client, connection) = connected.map_err(|error| unreachable(&error, address))?;
        let connection = tokio::spawn(connection);
        let cancel = client.cancel_token();
        let result = tokio::select! {
            biased;
            result = work(&mut client) => result,
            trouble = patience.is_over(started) => {
                let _ = timeout(PARTING, cancel.cancel_query(tls)).await;
                Err(trouble)
            }
        };
        drop(client);
        let _ = timeout(PARTING, connection).await;
        result
    })
}

/// A transaction that cannot write, with the server's own time limit, and values written the same way whatever the server's settings.
pub async fn read_only(
    client: &mut Client,
    time: Duration,
) -> Result<Transaction<'_>, tokio_postgres::Error> {
    let transaction = client.build_transaction().read_only(true).start().await?;
    let limit = (time.as_millis() + SERVERS_MARGIN_MS).min(i32::MAX.unsigned_abs().into());
    let settings = format!(
        "SET LOCAL statement_timeout = {limit}; SET LOCAL idle_in_transaction_session_timeout = {limit}; \
         SET LOCAL standard_conforming_strings = on; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 3"
    );
    transaction.batch_execute(&settings).await?;
    Ok(transaction)
}
