//! Identifiers as people see and shorten them.
//! It must not make new ones: that needs a clock.

/// How many characters a short id has.
pub const SHORT_ID_CHARS: usize = 8;

/// The last characters of an id: in a UUIDv7 the first are the time, alike for everything made in the same minute.
pub fn short(id: &str) -> &str {
    let start = id.len().saturating_sub(SHORT_ID_CHARS);
    id.get(start..).unwrap_or(id)
}

/// The session and the number in `ID@N`, the name of a point; a session alone has no number.
pub fn point(text: &str) -> Result<(&str, Option<i64>), String> {
    let Some((id, number)) = text.split_once('@') else {
        return Ok((text, None));
    };
    match number.parse::<i64>() {
        Ok(number) if number >= 0 && !id.is_empty() => Ok((id, Some(number))),
        _ => Err(format!(
            "'{text}' is no point of a session; write ID@N, where N is the number of an iteration, or 0 for the start"
        )),
    }
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
    fn points_of_sessions() {
        assert_eq!(point("ab12"), Ok(("ab12", None)));
        assert_eq!(point("ab12@0"), Ok(("ab12", Some(0))));
        assert_eq!(point("ab12@17"), Ok(("ab12", Some(17))));
        for wrong in ["ab12@", "ab12@x", "@3", "ab12@-1"] {
            assert!(point(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn short_ids_take_the_end() {
        assert_eq!(short("019a8b2c-1234-7000-8000-0123456789ab"), "456789ab");
        assert_eq!(short("abc"), "abc");
    }
}
