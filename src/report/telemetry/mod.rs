//! Traces for OpenTelemetry: a session is a trace, made from its rows when it has ended; tasks, iterations (by the conventions for
//! generative AI) and tool calls are its spans. `span` makes them, `post` sends them (OTLP over HTTP, as JSON). Only with the feature
//! `otel`, and only where the usual variable names a collector. A trace that nobody takes is tried for a while and then left: the rows
//! are the truth, this is a picture of it.

mod post;
mod span;

use crate::engine::House;
use crate::store::bookmarks;
use crate::store::census::Part;
use crate::store::events;
use anyhow::Result;
use post::Collector;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The name under which the history is read for traces.
const READER: &str = "telemetry";
/// Events gone through in one go.
const SPAN: i64 = 5_000;
/// What ends within this time is sent together.
const GATHER: Duration = Duration::from_millis(500);
/// A collector that does not answer, or a database that cannot be read, is tried again after this; the wait doubles.
const RETRY: Duration = Duration::from_secs(1);
/// So often one trace is tried: for about a minute.
const MAX_TRIES: u32 = 6;

/// Sends the traces of sessions that end, until shutdown; nothing where no collector is named.
pub async fn run(house: Arc<House>, mut shutdown: watch::Receiver<bool>) {
    let collector = match Collector::of_environment() {
        Ok(Some(collector)) => collector,
        Ok(None) => return,
        Err(error) => return tracing::error!("no traces are sent: {error:#}"),
    };
    let mut news = house.store.news();
    let mut tries = 0;
    loop {
        let last = *shutdown.borrow();
        news.borrow_and_update();
        let sent = send_on(&house, &collector, tries >= MAX_TRIES).await;
        tries = match &sent {
            Ok(()) => 0,
            Err(error) => {
                tracing::warn!("traces cannot be sent: {error:#}");
                tries + 1
            }
        };
        if last {
            return;
        }
        let failed = sent.is_err();
        tokio::select! {
            () = async { let _ = news.changed().await; tokio::time::sleep(GATHER).await }, if !failed => {}
            () = tokio::time::sleep(RETRY * 2_u32.pow(tries.clamp(1, MAX_TRIES) - 1)), if failed => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// Sends what has ended since the bookmark. What was refused too often is passed over, with `pass`.
async fn send_on(house: &House, collector: &Collector, pass: bool) -> Result<()> {
    loop {
        let (part, more, ended) = house
            .store
            .read(|sql| {
                let last = events::last(sql)?;
                // What ended before traces were wanted is old news.
                let after = bookmarks::get(sql, READER)?.unwrap_or(last);
                let upto = last.min(after.saturating_add(SPAN)).max(after);
                let part = Part { after, upto };
                Ok((part, upto < last, span::ended(sql, part)?))
            })
            .await?;
        for session in ended {
            let config = house.config.clone();
            let spans = house
                .store
                .read(move |sql| span::of_session(sql, &config, &session))
                .await?;
            match collector.send(&spans).await {
                Err(error) if !pass => return Err(error),
                _ => {}
            }
        }
        house
            .store
            .write_quietly(move |sql| bookmarks::move_to(sql, READER, part.upto))
            .await?;
        if !more {
            return Ok(());
        }
    }
}
