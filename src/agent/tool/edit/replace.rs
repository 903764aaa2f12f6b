//! The replacement itself, on bytes: where the piece is, and what comes near where it is not. Pure.

use crate::agent::tool::show;
use memchr::memmem;

const MAX_NEAR: usize = 3;
const MAX_SHOWN_LINES: usize = 12;
const MAX_SHOWN_CHARACTERS: usize = 300;
/// Below this likeness a line is another one.
const NEAR: f64 = 0.5;
const MAX_COMPARED_LINES: usize = 20_000;
const MAX_COMPARED_CHARACTERS: usize = 200;

/// A changed file, and the lines where it was changed, as they were numbered before.
#[derive(Debug, PartialEq)]
pub struct Edited {
    pub content: Vec<u8>,
    pub lines: Vec<usize>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq)]
pub enum Refused {
    Empty,
    Same,
    /// At which lines it occurs.
    Ambiguous(Vec<usize>),
    /// It would be found without line numbers.
    Numbered,
    /// Something there differs in white space only.
    Spaced {
        line: usize,
        text: String,
    },
    /// The nearest pieces, with the number of their first line.
    Missing(Vec<(usize, String)>),
}

/// Replaces `old` by `new`: the only occurrence, or all of them.
pub fn replace(before: &[u8], old: &str, new: &str, all: bool) -> Result<Edited, Refused> {
    if old.is_empty() {
        return Err(Refused::Empty);
    }
    if old == new {
        return Err(Refused::Same);
    }
    let windows = has_windows_lines(before);
    let fit = |text: &str| match windows {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    let mut old = fit(old);
    let new = fit(new);
    let mut found: Vec<usize> = memmem::find_iter(before, &old).collect();
    if found.is_empty() && windows {
        // In a file of both kinds of lines.
        old = old.replace("\r\n", "\n");
        found = memmem::find_iter(before, &old).collect();
    }
    match found.len() {
        0 => Err(not_found(before, &old)),
        many if many > 1 && !all => Err(Refused::Ambiguous(lines_at(before, &found))),
        _ => Ok(Edited {
            content: put_in(before, &found, old.len(), new.as_bytes()),
            lines: lines_at(before, &found),
        }),
    }
}

fn has_windows_lines(text: &[u8]) -> bool {
    let lines = memchr::memchr_iter(b'\n', text).count();
    let windows = memmem::find_iter(text, "\r\n").count();
    windows * 2 > lines
}

fn put_in(before: &[u8], found: &[usize], length: usize, new: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(before.len());
    let mut from = 0;
    for place in found {
        content.extend_from_slice(&before[from..*place]);
        content.extend_from_slice(new);
        from = place + length;
    }
    content.extend_from_slice(&before[from..]);
    content
}

fn lines_at(text: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let mut lines = Vec::new();
    for place in places {
        line += memchr::memchr_iter(b'\n', &text[from..*place]).count();
        from = *place;
        lines.push(line);
    }
    lines
}

fn not_found(before: &[u8], old: &str) -> Refused {
    let text = String::from_utf8_lossy(before);
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    if let Some(plain) = without_numbers(&wanted)
        && text.replace("\r\n", "\n").contains(&plain)
    {
        return Refused::Numbered;
    }
    if let Some(at) = spaced(&lines, &wanted) {
        let text = piece(&lines, at, wanted.len()).replace('\t', "→");
        return Refused::Spaced { line: at + 1, text };
    }
    Refused::Missing(near(&lines, &wanted))
}

/// What `read` shows before each line, taken away; nothing where a line has none.
fn without_numbers(wanted: &[&str]) -> Option<String> {
    let plain: Option<Vec<&str>> = wanted
        .iter()
        .map(|line| {
            let (number, rest) = line.split_once('\t')?;
            let number = number.trim();
            let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            numbered.then_some(rest)
        })
        .collect();
    Some(plain?.join("\n"))
}

/// Where the lines are the same but for white space.
fn spaced(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let bare = |line: &&str| -> String { line.split_whitespace().collect() };
    let wanted: Vec<String> = wanted.iter().map(bare).collect();
    if wanted.iter().all(String::is_empty) || lines.len() < wanted.len() {
        return None;
    }
    let lines: Vec<String> = lines.iter().map(bare).collect();
    if let [only] = wanted.as_slice() {
        return lines.iter().position(|line| line.contains(only.as_str()));
    }
    lines
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// The pieces around the lines that are most like the most telling line of what was wanted.
fn near(lines: &[&str], wanted: &[&str]) -> Vec<(usize, String)> {
    let cut =
        |line: &str| -> String { line.trim().chars().take(MAX_COMPARED_CHARACTERS).collect() };
    let telling = wanted
        .iter()
        .enumerate()
        .max_by_key(|(at, line)| (line.trim().len(), usize::MAX - at));
    let Some((place, telling)) = telling else {
        return Vec::new();
    };
    let telling = cut(telling);
    let mut scored: Vec<(f64, usize)> = lines
        .iter()
        .take(MAX_COMPARED_LINES)
        .enumerate()
        .map(|(at, line)| (strsim::sorensen_dice(&telling, &cut(line)), at))
        .filter(|(score, _)| *score >= NEAR)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    scored.truncate(MAX_NEAR);
    scored
        .into_iter()
        .map(|(_, at)| {
            let start = at.saturating_sub(place);
            (start + 1, piece(lines, start, wanted.len()))
        })
        .collect()
}

fn piece(lines: &[&str], start: usize, length: usize) -> String {
    let shown = lines
        .iter()
        .skip(start)
        .take(length.clamp(1, MAX_SHOWN_LINES));
    let shown: Vec<_> = shown
        .map(|line| show::line(line, MAX_SHOWN_CHARACTERS))
        .collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "fn main() {\n\tlet count = 1;\n\tprint(count);\n}\n\nfn other() {\n\tprint(count);\n}\n";

    #[test]
    fn exact_pieces_are_replaced() {
        for (before, old, new, all, expected, lines) in [
            ("a b c", "b", "x", false, "a x c", vec![1]),
            ("a\nb\nb\n", "b", "x", true, "a\nx\nx\n", vec![2, 3]),
            ("a\nb\n", "a\nb\n", "", false, "", vec![1]),
            (
                "a\r\nb\r\nc\r\n",
                "a\nb",
                "x\ny",
                false,
                "x\r\ny\r\nc\r\n",
                vec![1],
            ),
            ("a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", vec![2]),
            (
                "a\r\nb\r\nc\nd\n\r\n",
                "c\nd",
                "x",
                false,
                "a\r\nb\r\nx\n\r\n",
                vec![3],
            ),
            ("aaa", "aa", "b", false, "ba", vec![1]),
        ] {
            let edited = replace(before.as_bytes(), old, new, all).unwrap();
            assert_eq!(
                String::from_utf8_lossy(&edited.content),
                expected,
                "{before:?}"
            );
            assert_eq!(edited.lines, lines, "{before:?}");
        }
        let raw = replace(b"\xff\nold\xfe", "old", "new", false).unwrap();
        assert_eq!(raw.content, b"\xff\nnew\xfe");
    }

    #[test]
    fn the_rest_is_refused_with_what_helps() {
        let near = |line, text: &str| Refused::Missing(vec![(line, text.to_owned())]);
        for (old, new, expected) in [
            ("", "x", Refused::Empty),
            ("x", "x", Refused::Same),
            ("print(count)", "x", Refused::Ambiguous(vec![3, 7])),
            ("     2\t\tlet count = 1;", "x", Refused::Numbered),
            (
                "    let count = 1;\n    print(count);",
                "x",
                Refused::Spaced {
                    line: 2,
                    text: "→let count = 1;\n→print(count);".to_owned(),
                },
            ),
            ("let count = 2;", "x", near(2, "\tlet count = 1;")),
            ("nothing of the kind", "x", Refused::Missing(Vec::new())),
        ] {
            let refused = replace(FILE.as_bytes(), old, new, false).unwrap_err();
            assert_eq!(refused, expected, "{old:?}");
        }
    }
}
