//! The live view on the terminal: it is taken over, drawn on, and given back, whatever happens. What the person wishes is done by the
//! same verbs as the commands of that name.

use super::draw::Painter;
use super::sight::Sight;
use super::state::{State, Wish};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Look};
use crate::clock::now_ms;
use crate::model::id::short;
use crate::queue::wake;
use crate::report::standing::Standing;
use crate::store::Store;
use crate::store::sessions::{self, Applied};
use crate::trigger::answer as answers;
use anyhow::Result;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::path::Path;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

const FRAME_EVERY: Duration = Duration::from_millis(250);
const MAX_WAITING_KEYS: usize = 64;

/// Shows one session until it has ended, or all of them until the person leaves.
pub async fn watch(store: &Store, place: &Path, look: Look, id: Option<String>) -> Result<Exit> {
    let mut screen = Screen::take(look)?;
    let mut state = State {
        single: id.is_some(),
        chosen: id,
        ..State::default()
    };
    loop {
        let chosen = state.chosen.clone();
        let sight = store
            .read(move |sql| Sight::of(sql, chosen.as_deref()))
            .await?;
        state.see(&sight);
        screen.draw(&state, &sight)?;
        let over = sight
            .chosen
            .as_ref()
            .filter(|one| state.single && one.standing.session.status.is_terminal());
        if let Some(one) = over {
            drop(screen);
            return say_end(&look, &one.standing);
        }
        match screen.wait(&mut state, &sight).await {
            None => {}
            Some(Wish::Leave) => return Ok(Exit::Done),
            Some(Wish::Interrupt) => return Ok(Exit::Interrupted),
            Some(wish) => {
                state.remark = Some(match act(store, wish).await {
                    Ok(done) => done,
                    Err(error) => format!("{error:#}"),
                });
                wake::ring(place);
            }
        }
    }
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

/// Does what was wished, and says what came of it.
async fn act(store: &Store, wish: Wish) -> Result<String> {
    let said = |applied: Applied, done: &str, soon: &str| match applied {
        Applied::Now => done.to_owned(),
        Applied::Soon => soon.to_owned(),
    };
    Ok(match wish {
        Wish::Leave | Wish::Interrupt => String::new(),
        Wish::Pause(id) => {
            let applied = store
                .write(move |sql| sessions::pause(sql, &id, false, now_ms()))
                .await?;
            said(applied, "paused", "will pause after its running iteration")
        }
        Wish::Resume(id) => {
            store
                .write(move |sql| sessions::resume(sql, &id, now_ms()))
                .await?;
            "resumed".to_owned()
        }
        Wish::Cancel(id) => {
            let applied = store
                .write(move |sql| sessions::cancel(sql, &id, now_ms()))
                .await?;
            said(
                applied,
                "cancelled",
                "is being cancelled; its agent is being ended",
            )
        }
        Wish::Answer(session, answer) => {
            let question = None;
            let given = answers::Answer {
                session,
                answer,
                question,
            };
            answers::give(store, given).await?;
            "answered".to_owned()
        }
    })
}

/// The terminal, while it is ours.
struct Screen {
    terminal: DefaultTerminal,
    keys: mpsc::Receiver<Event>,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    look: Look,
}

impl Screen {
    /// Takes the terminal over; a panic gives it back before it is told of.
    fn take(look: Look) -> Result<Self> {
        let (sender, keys) = mpsc::channel(MAX_WAITING_KEYS);
        let screen = Self {
            keys,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            terminal: ratatui::try_init()?,
            look,
        };
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || read_keys(&sender))?;
        Ok(screen)
    }

    fn draw(&mut self, state: &State, sight: &Sight) -> Result<()> {
        let painter = Painter {
            look: self.look,
            now_ms: now_ms(),
        };
        self.terminal
            .draw(|frame| painter.draw(frame, state, sight))?;
        Ok(())
    }

    /// Waits for a key, a signal, or the time of the next look.
    async fn wait(&mut self, state: &mut State, sight: &Sight) -> Option<Wish> {
        tokio::select! {
            Some(event) = self.keys.recv() => match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => state.press(key, sight),
                _ => None,
            },
            _ = self.interrupt.recv() => Some(Wish::Interrupt),
            _ = self.terminate.recv() => Some(Wish::Interrupt),
            _ = self.hangup.recv() => Some(Wish::Interrupt),
            () = tokio::time::sleep(FRAME_EVERY) => None,
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = ratatui::try_restore();
    }
}

/// Ends with the process, or when nobody waits for keys any more.
fn read_keys(keys: &mpsc::Sender<Event>) {
    while let Ok(event) = event::read() {
        if keys.blocking_send(event).is_err() {
            return;
        }
    }
}
