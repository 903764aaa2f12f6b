//! `ralphd watch`: sessions live. A picture on a terminal, lines of the history elsewhere. It only looks.

use super::arguments::WatchWhich;
use super::desk::Desk;
use super::exit::Exit;
use super::follow::{News, Whose, follow};
use super::output::{self, Look, terminal_size};
use super::terminal::{Leave, Terminal};
use super::view::{Frame, Glance, Overview};
use crate::clock::now_ms;
use crate::model::id::short;
use crate::report::standing::Standing;
use crate::store::Store;
use crate::store::events;
use crate::store::sessions;
use anyhow::Result;
use std::ops::ControlFlow;
use std::time::Duration;

const FRAME_EVERY: Duration = Duration::from_millis(250);

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
            (true, Some(id)) => watch_one(&store, look, &id).await,
            (true, None) => watch_all(&store, look).await,
            (false, Some(id)) => tell_one(&store, &id, json).await,
            (false, None) => tell_all(&store, json).await,
        }
    })
}

async fn watch_all(store: &Store, look: Look) -> Result<Exit> {
    let mut terminal = Terminal::take()?;
    for count in 0.. {
        let all = store.read(Overview::of).await?;
        terminal.draw(&frame(look, count).overview(&all))?;
        if let Some(leave) = next_frame(&mut terminal).await {
            return Ok(exit_of(leave));
        }
    }
    Ok(Exit::Done)
}

async fn watch_one(store: &Store, look: Look, id: &str) -> Result<Exit> {
    let mut terminal = Terminal::take()?;
    for count in 0.. {
        let wanted = id.to_owned();
        let glance = store
            .read(move |sql| {
                let session = sessions::expect(sql, &wanted)?;
                Glance::of(sql, session)
            })
            .await?;
        terminal.draw(&frame(look, count).single(&glance))?;
        if glance.standing.session.status.is_terminal() {
            drop(terminal);
            return say_end(&look, &glance.standing);
        }
        if let Some(leave) = next_frame(&mut terminal).await {
            return Ok(exit_of(leave));
        }
    }
    Ok(Exit::Done)
}

/// After the picture is gone, one line stays.
fn say_end(look: &Look, standing: &Standing) -> Result<Exit> {
    let session = &standing.session;
    let (status, style) = standing.in_words(now_ms());
    let id = short(&session.id);
    output::print_line(&format!(
        "{id}  {}; see 'ralphd show {id}'",
        look.paint(style, &status)
    ))?;
    Ok(Exit::of_session(session))
}

fn frame(look: Look, count: usize) -> Frame {
    let (width, height) = terminal_size();
    Frame {
        look,
        width,
        height,
        now_ms: now_ms(),
        count,
    }
}

async fn next_frame(terminal: &mut Terminal) -> Option<Leave> {
    tokio::time::timeout(FRAME_EVERY, terminal.left())
        .await
        .ok()
}

fn exit_of(leave: Leave) -> Exit {
    match leave {
        Leave::Quit => Exit::Done,
        Leave::Interrupted => Exit::Interrupted,
    }
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
