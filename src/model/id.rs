//! Identifiers as people see and shorten them.
//! It must not make new ones: that needs a clock.

/// How many characters a short id has.
pub const SHORT_ID_CHARS: usize = 8;

/// The last characters of an id: in a UUIDv7 the first are the time, alike for everything made in the same minute.
pub fn short(id: &str) -> &str {
    let start = id.len().saturating_sub(SHORT_ID_CHARS);
    id.get(start..).unwrap_or(id)
}

/// A name from free words, for file names and branches: lower-case letters and digits, joined by dashes.
pub fn slug(words: &str, max_chars: usize) -> String {
    let mut slug = String::new();
    for character in words.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= max_chars {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "request".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for (words, expected) in [
            ("Fix the tests!", "fix-the-tests"),
            ("  ../../etc/passwd", "etc-passwd"),
            ("äöü", "request"),
            ("", "request"),
            ("a very long objective indeed", "a-very-long-o"),
        ] {
            assert_eq!(slug(words, 13), expected, "{words}");
        }
    }

    #[test]
    fn short_ids_take_the_end() {
        assert_eq!(short("019a8b2c-1234-7000-8000-0123456789ab"), "456789ab");
        assert_eq!(short("abc"), "abc");
    }
}
