//! Text by strangers, made fit to be shown: nothing in it can move a cursor, turn the reading direction or hide. It must not know where it
//! is shown.

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

/// A character as it may be shown: itself, or a picture of it.
pub fn harmless_character(character: char) -> char {
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

/// Takes the text off the front of `bytes`; the start of a character or of a line end at the back stays.
pub fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let longest_start = bytes.len().saturating_sub(3);
    let cut_off =
        (longest_start..bytes.len()).find(|start| match std::str::from_utf8(&bytes[*start..]) {
            Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
            Ok(_) => false,
        });
    let end = match cut_off {
        Some(start) => start,
        None if bytes.last() == Some(&b'\r') => bytes.len() - 1,
        None => bytes.len(),
    };
    let rest = bytes.split_off(end);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn nothing_that_controls_a_terminal_survives() {
        for code in (0..0x11_0000).filter_map(char::from_u32) {
            let shown = harmless(&code.to_string());
            assert!(!shown.chars().any(char::is_control), "{code:?}");
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
    fn characters_stay_whole_across_chunks() {
        for (chunks, expected) in [
            (vec![&b"a\xc3"[..], &b"\xa4b"[..]], "aäb|"),
            (vec![&b"\xf0\x9f"[..], &b"\x8e"[..], &b"\x89!"[..]], "🎉!|"),
            (vec![&b"one\r"[..], &b"\ntwo"[..]], "one\ntwo|"),
            (vec![&b"bad\xff byte"[..]], "bad\u{fffd} byte|"),
            (vec![&b"open \xe2\x82"[..]], "open |\u{fffd}"),
        ] {
            let mut carry = Vec::new();
            let mut text = String::new();
            for chunk in chunks {
                carry.extend_from_slice(chunk);
                text.push_str(&whole_characters(&mut carry));
            }
            let whole = format!(
                "{}|{}",
                harmless_lines(&text),
                String::from_utf8_lossy(&carry)
            );
            assert_eq!(whole, expected);
        }
    }
}
