//! The terminal taken over for a live view: alternate screen, hidden cursor, keys one by one. Whatever happens, it is given back.
//! It must not know what is shown.

use super::output::terminal_size;
use anyhow::Result;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use std::io::{Read, Write};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE_END: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// Both come as bytes: the terminal no longer turns them into signals.
const CONTROL_C: u8 = 3;
const QUIT: u8 = b'q';
const MAX_WAITING_KEYS: usize = 16;

/// Why a live view is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// By the key for it.
    Quit,
    /// By Ctrl-C or a signal.
    Interrupted,
}

/// The terminal, while it is ours.
pub struct Terminal {
    before: Option<Termios>,
    keys: mpsc::Receiver<u8>,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Terminal {
    /// Takes the terminal over. Without keys to read (stdin is something else) only signals end the view.
    pub fn take() -> Result<Self> {
        let (sender, keys) = mpsc::channel(MAX_WAITING_KEYS);
        let before = tcgetattr(rustix::stdio::stdin()).ok();
        let terminal = Self {
            before,
            keys,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        };
        if let Some(before) = &terminal.before {
            tcsetattr(
                rustix::stdio::stdin(),
                OptionalActions::Flush,
                &key_by_key(before),
            )?;
            std::thread::Builder::new()
                .name("keys".to_owned())
                .spawn(move || read_keys(&sender))?;
        }
        write(ENTER)?;
        Ok(terminal)
    }

    /// Shows these lines in place of the last ones; what does not fit below is left out.
    pub fn draw(&self, lines: &[String]) -> Result<()> {
        let (_, height) = terminal_size();
        let mut frame = HOME.to_owned();
        for (row, line) in lines.iter().take(height).enumerate() {
            if row > 0 {
                frame.push_str("\r\n");
            }
            // Cleared before, not after: behind a full line the cursor still stands on its last character.
            frame.push_str(CLEAR_LINE_END);
            frame.push_str(line);
        }
        if lines.len() < height {
            frame.push_str("\r\n");
            frame.push_str(CLEAR_BELOW);
        }
        write(&frame)
    }

    /// Waits until the view is to be left.
    pub async fn left(&mut self) -> Leave {
        loop {
            tokio::select! {
                Some(key) = self.keys.recv() => match key {
                    CONTROL_C => return Leave::Interrupted,
                    QUIT => return Leave::Quit,
                    _ => {}
                },
                _ = self.interrupt.recv() => return Leave::Interrupted,
                _ = self.terminate.recv() => return Leave::Interrupted,
                _ = self.hangup.recv() => return Leave::Interrupted,
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = write(LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, before);
        }
    }
}

fn key_by_key(before: &Termios) -> Termios {
    let mut raw = before.clone();
    raw.local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    raw.special_codes[SpecialCodeIndex::VMIN] = 1;
    raw.special_codes[SpecialCodeIndex::VTIME] = 0;
    raw
}

/// Ends with the process, or when nobody waits for keys any more.
fn read_keys(keys: &mpsc::Sender<u8>) {
    let mut key = [0];
    while let Ok(1) = std::io::stdin().lock().read(&mut key) {
        if keys.blocking_send(key[0]).is_err() {
            return;
        }
    }
}

fn write(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}
