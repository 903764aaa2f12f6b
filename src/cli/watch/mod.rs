//! `ralphd watch`: sessions live. On a terminal a list beside one of them, with keys to act; elsewhere lines of the history.
//! `state` is what the keys do, `sight` what is looked at, `draw` how it looks, `screen` brings them together on the terminal.

mod draw;
mod screen;
mod sight;
mod state;

use super::arguments::WatchWhich;
use super::desk::Desk;
use super::exit::Exit;
use super::follow::{News, Whose, follow};
use super::output::{self, Look};
use crate::model::id::short;
use crate::store::Store;
use crate::store::events;
use crate::store::sessions;
use anyhow::Result;
use std::ops::ControlFlow;

/// Shows one session until it has ended, or all of them until the person leaves.
pub fn watch(desk: Desk, which: WatchWhich) -> Result<Exit> {
    let store = desk.existing_store()?;
    let look = Look::of_stdout();
    let json = desk.global.json;
    desk.block_on(async {
        let id = match which.id {
            Some(given) => Some(
                store
                    .read(move |sql| sessions::resolve(sql, &given))
                    .await?,
            ),
            None => None,
        };
        match (look.terminal && !json, id) {
            (true, id) => screen::watch(&store, &desk.state, look, id).await,
            (false, Some(id)) => tell_one(&store, &id, json).await,
            (false, None) => tell_all(&store, json).await,
        }
    })
}

/// The whole history of a session, until it is over.
async fn tell_one(store: &Store, id: &str, json: bool) -> Result<Exit> {
    // Whoever reads JSON asked for this session's own events.
    let whose = match json {
        true => Whose::Session(id.to_owned()),
        false => Whose::Tree(id.to_owned()),
    };
    follow(store, whose, 0, |news| {
        tell(news, json, false)?;
        Ok(match news.is_end() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })
    .await?;
    let wanted = id.to_owned();
    let session = store
        .read(move |sql| sessions::expect(sql, &wanted))
        .await?;
    Ok(Exit::of_session(&session))
}

/// What happens from now on; only an interrupt ends it.
async fn tell_all(store: &Store, json: bool) -> Result<Exit> {
    let newest = store.read(events::last).await?;
    let telling = follow(store, Whose::Everybodys, newest, |news| {
        tell(news, json, true)?;
        Ok(ControlFlow::Continue(()))
    });
    tokio::select! {
        told = telling => told.map(|()| Exit::Done),
        _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
    }
}

fn tell(news: &News, json: bool, with_session: bool) -> Result<()> {
    let event = &news.event;
    if json {
        return output::print_json_line(event);
    }
    let Some(line) = news.line() else {
        return Ok(());
    };
    let time = output::local_time_exact(event.at_ms);
    let session = event.session_id.as_deref().filter(|_| with_session);
    match session {
        Some(session) => output::print_line(&format!("{time}  {}  {line}", short(session))),
        None => output::print_line(&format!("{time}  {line}")),
    }
}
