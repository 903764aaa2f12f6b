//! How things look on a terminal: colours, and the ways to stdout. The one place that decides it.
//! It must not know what is printed; a closed pipe comes back as an error, never as a panic.

pub use crate::clock::{clock_time, local_time, local_time_exact};
pub use crate::model::amount::{age, duration, money, size};
pub use crate::model::harmless::{cut, first_line, harmless, harmless_lines, last_line};
pub use crate::report::wording::Style;

use crate::model::harmless::harmless_character;
use anyhow::Result;
use std::io::{IsTerminal, Write};

/// The width taken where a terminal does not tell its own.
const USUAL_WIDTH: usize = 80;
const USUAL_HEIGHT: usize = 24;

/// What a terminal takes for a style.
fn code(style: Style) -> &'static str {
    match style {
        Style::Plain => "",
        Style::Bold => "\x1b[1m",
        Style::Dim => "\x1b[2m",
        Style::Good => "\x1b[32m",
        Style::Notice => "\x1b[33m",
        Style::Bad => "\x1b[31m",
        Style::Active => "\x1b[36m",
    }
}

/// What stdout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub terminal: bool,
    pub colours: bool,
    /// Nothing where lines may be as long as they like.
    pub width: Option<usize>,
}

impl Look {
    /// Asks stdout and the environment.
    pub fn of_stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            terminal: terminal && !dumb,
            colours: terminal && !unwanted && !dumb,
            width: terminal.then(|| terminal_size().0),
        }
    }

    /// The text in its style, where there are colours.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if !self.colours || style == Style::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("{}{text}\x1b[0m", code(style))
    }
}

/// Columns and rows of the terminal that stdout is.
pub fn terminal_size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => (USUAL_WIDTH, USUAL_HEIGHT),
    }
}

/// Writes text and a line end to stdout.
pub fn print_line(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}

/// Writes lines to stdout.
pub fn print_lines(lines: &[String]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    for line in lines {
        writeln!(stdout, "{line}")?;
    }
    Ok(stdout.flush()?)
}

/// Writes a value to stdout as JSON that people can read too.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print_line(&harmless_json(&serde_json::to_string_pretty(value)?))
}

/// Writes a value to stdout as JSON on a line of its own.
pub fn print_json_line(value: &impl serde::Serialize) -> Result<()> {
    print_line(&harmless_json(&serde_json::to_string(value)?))
}

/// The same JSON, with what could harm a terminal written as escapes; outside of texts there is no such character.
pub fn harmless_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || harmless_character(character) == character {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

/// A word to the person on stderr; it is not worth failing for.
pub fn remark(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless_lines(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Look = Look {
        terminal: false,
        colours: false,
        width: None,
    };

    #[test]
    fn harmless_json_says_the_same() {
        let text = "a\u{9b}b\u{7f}c\u{202e}\u{e0041}\n\x1bä";
        let json = harmless_json(&serde_json::to_string(text).unwrap());
        assert!(
            json.chars()
                .all(|character| harmless_character(character) == character),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn colours_only_where_wanted() {
        let coloured = Look {
            colours: true,
            ..PLAIN
        };
        assert_eq!(coloured.paint(Style::Bad, "no"), "\x1b[31mno\x1b[0m");
        assert_eq!(coloured.paint(Style::Plain, "x"), "x");
        assert_eq!(PLAIN.paint(Style::Bad, "no"), "no");
    }
}
