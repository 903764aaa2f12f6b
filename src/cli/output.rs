//! How things look: colours, tables, times, money, and text by strangers made harmless. The one place that decides it.
//! It must not know what is printed; a closed pipe comes back as an error, never as a panic.

pub use crate::model::amount::{age, duration, money, size};
use anyhow::Result;
use std::io::{IsTerminal, Write};

/// The width taken where a terminal does not tell its own.
const USUAL_WIDTH: usize = 80;
const USUAL_HEIGHT: usize = 24;

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Bold,
    Dim,
    Good,
    Notice,
    Bad,
    Active,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Bold => "\x1b[1m",
            Style::Dim => "\x1b[2m",
            Style::Good => "\x1b[32m",
            Style::Notice => "\x1b[33m",
            Style::Bad => "\x1b[31m",
            Style::Active => "\x1b[36m",
        }
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
        format!("{}{text}\x1b[0m", style.code())
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

/// Text by strangers on one line: nothing in it can move the cursor, turn the reading direction or hide.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => ' ',
            other => harmless_character(other),
        })
        .collect()
}

/// Text by strangers over several lines: line ends and tabs stay what they are.
pub fn harmless_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            other => harmless_character(other),
        })
        .collect()
}

fn harmless_character(character: char) -> char {
    match character {
        // The pictures of the control characters stand in the same order as these.
        '\0'..='\x1f' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => '\u{fffd}',
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
        other => other,
    }
}

/// The first line with anything on it, harmless.
pub fn first_line(text: &str) -> String {
    harmless(
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default(),
    )
}

/// The last line with anything on it, harmless.
pub fn last_line(text: &str) -> String {
    harmless(
        text.lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
            .unwrap_or_default(),
    )
}

/// At most so many characters; a cut is marked.
pub fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    if max_chars > 0 {
        kept.push('…');
    }
    kept
}

/// Local time as `2026-11-16 03:00`.
pub fn local_time(at_ms: i64) -> String {
    zoned(at_ms, "%Y-%m-%d %H:%M")
}

/// Local time to the second, for lines of a history.
pub fn local_time_exact(at_ms: i64) -> String {
    zoned(at_ms, "%Y-%m-%d %H:%M:%S")
}

/// Local time as `03:00` on the day of `now_ms`, with the date on any other.
pub fn clock_time(at_ms: i64, now_ms: i64) -> String {
    const DAY: &str = "%Y-%m-%d";
    match zoned(at_ms, DAY) == zoned(now_ms, DAY) {
        true => zoned(at_ms, "%H:%M"),
        false => local_time(at_ms),
    }
}

fn zoned(at_ms: i64, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(time) => time
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime(format)
            .to_string(),
        Err(_) => at_ms.to_string(),
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
    fn strangers_text_is_harmless() {
        for (text, expected) in [
            ("plain äöü 日本 🎉", "plain äöü 日本 🎉"),
            ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("two\nlines\tand\rmore", "two lines and␍more"),
            ("\u{9b}31m \u{7f} \0", "\u{fffd}31m ␡ ␀"),
            (
                "a\u{202e}b\u{2066}c\u{200f}d",
                "a\u{fffd}b\u{fffd}c\u{fffd}d",
            ),
        ] {
            assert_eq!(harmless(text), expected, "{text:?}");
        }
        assert_eq!(harmless_lines("a\r\nb\n\tc\x1b"), "a\nb\n\tc␛");
    }

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
    fn nothing_that_controls_a_terminal_survives() {
        for code in (0..0x11_0000).filter_map(char::from_u32) {
            let shown = harmless(&code.to_string());
            assert!(!shown.chars().any(char::is_control), "{code:?}");
        }
    }

    #[test]
    fn another_day_is_named() {
        let noon = jiff::civil::date(2026, 11, 16).at(12, 0, 0, 0);
        let noon = noon.to_zoned(jiff::tz::TimeZone::system()).unwrap();
        let now_ms = noon.timestamp().as_millisecond();
        for (hours, expected) in [
            (2, "14:00"),
            (-11, "01:00"),
            (15, "2026-11-17 03:00"),
            (-13, "2026-11-15 23:00"),
        ] {
            assert_eq!(clock_time(now_ms + hours * 3_600_000, now_ms), expected);
        }
    }

    #[test]
    fn cuts_are_marked() {
        for (text, max, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("äöüß", 2, "ä…"),
            ("ab", 0, ""),
            ("", 0, ""),
        ] {
            assert_eq!(cut(text, max), expected);
        }
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
