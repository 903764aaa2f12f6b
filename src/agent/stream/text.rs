//! Plain text: the final text is the end of stdout, terminal colours taken out. Whether it went well is for the exit code to say,
//! save for one library that many such tools share and that prints its failures while the tool exits with 0.

use super::exit::{Said, failed};
use super::json::cut;
use super::sheet::Sheet;
use super::{Ending, Reader};

/// How much of a line that names a failure is kept.
const ERROR_MAX_BYTES: usize = 4 * 1024;

#[derive(Default)]
pub(super) struct Text {
    error: Option<String>,
}

impl Reader for Text {
    fn line(&mut self, line: &str, sheet: &mut Sheet) {
        let plain;
        let line = if line.contains('\u{1b}') {
            plain = without_colours(line);
            &plain
        } else {
            line
        };
        if line.starts_with("litellm.") && line.contains("Error:") {
            self.error = Some(cut(line, ERROR_MAX_BYTES).to_owned());
        } else if line.starts_with("Retrying in ") {
            self.error = None;
        }
        if !sheet.report.final_text.is_empty() {
            sheet.say_more("\n");
        }
        sheet.say_more(line);
    }

    fn said(&mut self, ending: &Ending<'_>, _: &mut Sheet) -> Said {
        match self.error.take() {
            Some(error) => Said::Failed(failed(None, &error, ending)),
            None if ending.timed_out || ending.silent => Said::Incomplete,
            None => Said::Complete,
        }
    }
}

/// A line without its escape sequences.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
        } else if characters.next() == Some('[') {
            // A control sequence ends with its first letter or one of @ [ \ ] ^ _ ` { | } ~.
            characters.find(|end| ('@'..='~').contains(end));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go() {
        for (line, expected) in [
            ("\u{1b}[1;32mCOMPLETE\u{1b}[0m", "COMPLETE"),
            ("a\u{1b}[", "a"),
            ("a\u{1b}", "a"),
            ("\u{1b}(Bx", "Bx"),
        ] {
            assert_eq!(without_colours(line), expected);
        }
    }
}
