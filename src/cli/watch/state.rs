//! What the person at the live view has chosen, and what each key does. Pure: keys come in, wishes go out.

use super::sight::{Detail, Sight};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The longest answer that is typed here; a longer one belongs into a file.
const MAX_ANSWER_CHARS: usize = 4_000;
const PAGE_LINES: usize = 10;

/// What is being done with the keyboard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Browse,
    Help,
    /// A cancellation is to be confirmed.
    Confirm,
    /// An answer is being typed.
    Answer(String),
}

/// What is wanted of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Leave,
    Interrupt,
    Pause(String),
    Resume(String),
    Cancel(String),
    Answer(String, String),
}

/// Where the person is.
#[derive(Debug, Default)]
pub struct State {
    /// Only one session is watched, and there is no list.
    pub single: bool,
    pub chosen: Option<String>,
    pub mode: Mode,
    /// So many lines above the end of the log; nothing follows it.
    pub above: usize,
    /// What came of the last wish.
    pub remark: Option<String>,
}

impl State {
    /// What is chosen stays so while it is there; else the first is.
    pub fn see(&mut self, sight: &Sight) {
        if self.single {
            return;
        }
        let is_there = |id: &String| sight.list.iter().any(|one| one.session.id == *id);
        if !self.chosen.as_ref().is_some_and(is_there) {
            self.chosen = sight.list.first().map(|one| one.session.id.clone());
        }
        // The question may have been answered elsewhere.
        let asks = sight.chosen.as_ref().is_some_and(|one| one.asked.is_some());
        if matches!(self.mode, Mode::Answer(_)) && !asks {
            self.mode = Mode::Browse;
        }
    }

    /// The place of the chosen one in the list.
    pub fn place(&self, sight: &Sight) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        let mut list = sight.list.iter();
        list.position(|one| one.session.id == *chosen)
    }

    /// A key was pressed.
    pub fn press(&mut self, key: KeyEvent, sight: &Sight) -> Option<Wish> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Wish::Interrupt);
        }
        match std::mem::take(&mut self.mode) {
            Mode::Browse => self.browse(key.code, sight),
            Mode::Help => None,
            Mode::Confirm => match (key.code, &self.chosen) {
                (KeyCode::Char('y' | 'Y'), Some(id)) => Some(Wish::Cancel(id.clone())),
                _ => None,
            },
            Mode::Answer(text) => self.type_answer(text, key.code),
        }
    }

    fn browse(&mut self, key: KeyCode, sight: &Sight) -> Option<Wish> {
        self.remark = None;
        let last = sight.list.len().saturating_sub(1);
        let place = self.place(sight).unwrap_or(0);
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Wish::Leave),
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Up | KeyCode::Char('k') => self.choose(place.saturating_sub(1), sight),
            KeyCode::Down | KeyCode::Char('j') => self.choose((place + 1).min(last), sight),
            KeyCode::Home | KeyCode::Char('g') => self.choose(0, sight),
            KeyCode::End | KeyCode::Char('G') => self.choose(last, sight),
            KeyCode::PageUp => self.above = self.above.saturating_add(PAGE_LINES),
            KeyCode::PageDown => self.above = self.above.saturating_sub(PAGE_LINES),
            KeyCode::Char('f') => self.above = 0,
            _ => return self.act(key, sight.chosen.as_ref()?),
        }
        None
    }

    fn act(&mut self, key: KeyCode, chosen: &Detail) -> Option<Wish> {
        let session = &chosen.standing.session;
        if session.status.is_terminal() {
            self.remark = Some("it has ended".to_owned());
            return None;
        }
        match key {
            KeyCode::Char('p') => return Some(Wish::Pause(session.id.clone())),
            KeyCode::Char('r') => return Some(Wish::Resume(session.id.clone())),
            KeyCode::Char('c') => self.mode = Mode::Confirm,
            KeyCode::Char('a') if chosen.asked.is_some() => self.mode = Mode::Answer(String::new()),
            KeyCode::Char('a') => self.remark = Some("it asks nothing".to_owned()),
            _ => {}
        }
        None
    }

    fn type_answer(&mut self, mut text: String, key: KeyCode) -> Option<Wish> {
        match key {
            KeyCode::Esc => return None,
            KeyCode::Enter if !text.trim().is_empty() => {
                return Some(Wish::Answer(self.chosen.clone()?, text));
            }
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) if text.chars().count() < MAX_ANSWER_CHARS => text.push(letter),
            _ => {}
        }
        self.mode = Mode::Answer(text);
        None
    }

    fn choose(&mut self, place: usize, sight: &Sight) {
        if let Some(standing) = sight.list.get(place).filter(|_| !self.single) {
            self.chosen = Some(standing.session.id.clone());
            self.above = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(state: &mut State, code: KeyCode) -> Option<Wish> {
        state.press(KeyEvent::from(code), &Sight::default())
    }

    fn chosen() -> State {
        State {
            chosen: Some("s".to_owned()),
            ..State::default()
        }
    }

    #[test]
    fn leaving_and_help() {
        let mut state = chosen();
        assert_eq!(press(&mut state, KeyCode::Char('?')), None);
        assert_eq!(state.mode, Mode::Help);
        // Any key leads back; only the next one leaves.
        assert_eq!(press(&mut state, KeyCode::Char('q')), None);
        assert_eq!(press(&mut state, KeyCode::Char('q')), Some(Wish::Leave));
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let wish = state.press(control_c, &Sight::default());
        assert_eq!(wish, Some(Wish::Interrupt));
    }

    #[test]
    fn a_cancellation_takes_a_yes() {
        for (key, expected) in [
            ('y', Some(Wish::Cancel("s".to_owned()))),
            ('n', None),
            ('x', None),
        ] {
            let mut state = chosen();
            state.mode = Mode::Confirm;
            assert_eq!(press(&mut state, KeyCode::Char(key)), expected);
            assert_eq!(state.mode, Mode::Browse);
        }
    }

    #[test]
    fn an_answer_is_typed_mended_and_sent() {
        let mut state = chosen();
        state.mode = Mode::Answer(String::new());
        assert_eq!(press(&mut state, KeyCode::Enter), None);
        for code in [
            KeyCode::Char('q'),
            KeyCode::Char('?'),
            KeyCode::Backspace,
            KeyCode::Char('!'),
        ] {
            assert_eq!(press(&mut state, code), None);
        }
        let wish = press(&mut state, KeyCode::Enter);
        assert_eq!(wish, Some(Wish::Answer("s".to_owned(), "q!".to_owned())));
        state.mode = Mode::Answer("x".to_owned());
        assert_eq!(press(&mut state, KeyCode::Esc), None);
        assert_eq!(state.mode, Mode::Browse);
    }
}
