//! Where a piece of SQL text that is not code begins and ends: literals, quoted names, comments. By the rules of SQLite and of
//! PostgreSQL, which differ. A region that is never closed reaches to the end; the database will say so.

use super::statement::Dialect;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    Quoted,
    Comment,
    /// A name, keyword or number.
    Word,
    /// Anything else, a byte at a time.
    Mark,
}

/// The region that begins at `start`, and where it ends.
pub fn region(text: &[u8], start: usize, dialect: Dialect) -> (Region, usize) {
    let rest = &text[start..];
    let postgres = dialect == Dialect::Postgres;
    match rest {
        [b'\'', ..] => (Region::Quoted, start + quoted(rest, b'\'')),
        [b'"', ..] => (Region::Quoted, start + quoted(rest, b'"')),
        [b'e' | b'E', b'\'', ..] if postgres => (Region::Quoted, start + escaped(rest)),
        [b'`', ..] if !postgres => (Region::Quoted, start + quoted(rest, b'`')),
        [b'[', ..] if !postgres => (Region::Quoted, start + past(rest, b"]", 1)),
        [b'$', ..] if postgres => dollar(text, start),
        [b'-', b'-', ..] => (Region::Comment, start + past(rest, b"\n", 2)),
        [b'/', b'*', ..] if postgres => (Region::Comment, start + nested(rest)),
        [b'/', b'*', ..] => (Region::Comment, start + past(rest, b"*/", 2)),
        [first, ..] if in_word(*first) && *first != b'$' => {
            let length = rest.iter().position(|&byte| !in_word(byte));
            (
                Region::Word,
                length.map_or(text.len(), |length| start + length),
            )
        }
        _ => (Region::Mark, start + 1),
    }
}

/// A byte that can belong to a name.
pub(super) fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The length up to and with `end`, looked for behind the first `from` bytes.
fn past(text: &[u8], end: &[u8], from: usize) -> usize {
    let found = memchr::memmem::find(&text[from..], end);
    found.map_or(text.len(), |at| from + at + end.len())
}

/// A doubled quote stands for itself.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr(quote, &text[at.min(text.len())..]) {
        at += found + 1;
        if text.get(at) != Some(&quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// `E'…'`, in which a backslash hides what follows it.
fn escaped(text: &[u8]) -> usize {
    let mut at = 2;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\'' if text.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// `/* … /* … */ … */`
fn nested(text: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// `$tag$…$tag$`, or just a dollar.
fn dollar(text: &[u8], start: usize) -> (Region, usize) {
    let rest = &text[start..];
    let name = |byte: u8| in_word(byte) && byte != b'$';
    let Some(length) = rest[1..].iter().position(|&byte| !name(byte)) else {
        return (Region::Mark, start + 1);
    };
    let begins_as_number = rest[1].is_ascii_digit();
    if rest[1 + length] != b'$' || begins_as_number {
        return (Region::Mark, start + 1);
    }
    let tag = &rest[..length + 2];
    (Region::Quoted, start + past(rest, tag, tag.len()))
}
