//! Text as a model gets it: long lines cut, sizes and counts in words. It must not decide what is shown.

use std::borrow::Cow;

/// A line as it is shown: at most so many characters, with a note of what is left out.
pub fn line(text: &str, max_characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_characters) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let left = text[end..].chars().count();
            Cow::Owned(format!("{} [… {left} more characters]", &text[..end]))
        }
    }
}

/// A count with its word, in the singular or the plural.
pub fn count(number: usize, word: &str) -> String {
    let ending = match (number, word.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {word}{ending}")
}

/// Whether bytes are no text: a NUL among the first ones, as git and grep judge it.
pub fn is_binary(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 8 * 1024;
    memchr::memchr(0, &bytes[..bytes.len().min(LOOKED_AT)]).is_some()
}

/// The numbers of lines, as text: the first few of them.
pub fn places(lines: &[usize]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = lines.iter().take(SHOWN).map(usize::to_string).collect();
    let more = match lines.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_counts_and_places() {
        assert_eq!(line("äöü", 3), "äöü");
        assert_eq!(line("äöüß", 2), "äö [… 2 more characters]");
        assert_eq!(count(1, "match"), "1 match");
        assert_eq!(count(2, "match"), "2 matches");
        assert_eq!(count(0, "line"), "0 lines");
        assert_eq!(places(&[3, 9]), "3, 9");
        let many: Vec<usize> = (1..=12).collect();
        assert_eq!(places(&many), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more");
    }
}
