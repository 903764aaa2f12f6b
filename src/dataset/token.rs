//! A SQL text in its pieces, by PostgreSQL's rules: enough to see which tables it names and whether it is one SELECT. Pure.

use crate::model::placeholder::{Dialect, Region, region};

/// A piece of SQL; blanks and comments are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'s> {
    /// A keyword, a plain name or a number.
    Word(&'s str),
    /// A name in quotes, without them.
    Quoted(&'s str),
    /// A text.
    Literal,
    Mark(u8),
}

impl Token<'_> {
    /// Whether it is this keyword, given in small letters.
    pub fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// As a name, in small letters.
    pub fn name(&self) -> Option<String> {
        match self {
            Token::Word(word) => Some(word.to_lowercase()),
            Token::Quoted(name) => Some(name.replace("\"\"", "\"").to_lowercase()),
            Token::Literal | Token::Mark(_) => None,
        }
    }
}

/// All pieces, in order.
pub fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < sql.len() {
        let (kind, end) = region(sql.as_bytes(), at, Dialect::Postgres);
        let end = sql.ceil_char_boundary(end.min(sql.len()));
        let piece = &sql[at..end];
        match kind {
            Region::Word => tokens.push(Token::Word(piece)),
            Region::Quoted => tokens.push(quoted(piece)),
            Region::Mark if !piece.trim().is_empty() => {
                tokens.push(Token::Mark(piece.as_bytes()[0]))
            }
            Region::Comment | Region::Mark => {}
        }
        at = end;
    }
    tokens
}

fn quoted(piece: &str) -> Token<'_> {
    let Some(inner) = piece.strip_prefix('"') else {
        return Token::Literal;
    };
    Token::Quoted(inner.strip_suffix('"').unwrap_or(inner))
}

/// The parts of the name that begins at `start`, `shop.public.orders`, and where it ends. None where there is no name.
pub fn name_at(tokens: &[Token<'_>], start: usize) -> Option<(Vec<String>, usize)> {
    let mut parts = vec![tokens.get(start)?.name()?];
    let mut at = start + 1;
    while tokens.get(at) == Some(&Token::Mark(b'.')) {
        let Some(part) = tokens.get(at + 1).and_then(Token::name) else {
            break;
        };
        parts.push(part);
        at += 2;
    }
    Some((parts, at))
}
