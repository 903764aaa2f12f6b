//! Cutting a text to a size, between characters. It must never give back more than it was allowed.

use std::borrow::Cow;

/// A cut that leaves less than this beside its mark is not worth the mark.
const LEAST_MARKED_BYTES: usize = 96;

/// The beginning of a text.
pub fn head(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// The first line with anything on it, without the spaces around it.
pub fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// The beginning and the end of a text, and between them how much is missing: never more than `max_bytes` in all.
pub fn head_and_tail(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    if max_bytes < LEAST_MARKED_BYTES {
        return Cow::Borrowed(head(text, max_bytes));
    }
    let mark = |missing: usize| format!(" [… {missing} bytes left out …] ");
    let room = max_bytes - mark(text.len()).len();
    let first = head(text, room / 2);
    let last = &text[text.ceil_char_boundary(text.len() - room / 2)..];
    let missing = text.len() - first.len() - last.len();
    Cow::Owned(format!("{first}{}{last}", mark(missing)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ends_stay_and_the_gap_is_told() {
        let text = format!("begin {} end", "x".repeat(1_000));
        let cut = head_and_tail(&text, 120);
        assert!(
            cut.starts_with("begin x") && cut.ends_with("x end"),
            "{cut}"
        );
        assert!(cut.contains("bytes left out"), "{cut}");
        assert_eq!(head_and_tail("short", 5), "short");
        assert_eq!(head_and_tail("shorter", 5), "short");
        assert_eq!(head("日本", 4), "日");
        assert_eq!(first_line("\n  one \ntwo"), "one");
        assert_eq!(first_line(" \n"), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_cut_is_longer_than_allowed(text in "\\PC{0,400}", max_bytes in 0..600usize) {
            let cut = head_and_tail(&text, max_bytes);
            prop_assert!(cut.len() <= max_bytes.min(text.len()));
            prop_assert!(text.starts_with(head(&text, max_bytes)));
        }
    }
}
