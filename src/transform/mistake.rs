//! The mistakes of a filter in words for whoever wrote it, with their place. Only the first: the others often follow from it.

use jaq_core::compile::{self, Undefined};
use jaq_core::load::{self, lex, parse};

use super::vocabulary::{INPUT_VARIABLE, REFUSED, signatures};
use crate::model::document::excerpt;
use crate::model::nearest::nearest;

/// Why a text is not a filter.
pub fn not_loaded(filter: &str, errors: load::Errors<&str, ()>) -> String {
    let Some((_, error)) = errors.into_iter().next() else {
        return "it cannot be read".to_owned();
    };
    let said = match error {
        load::Error::Lex(errors) => errors
            .into_iter()
            .next()
            .map(|error| unclear(filter, error)),
        load::Error::Parse(errors) => errors
            .into_iter()
            .next()
            .map(|error| misplaced(filter, error)),
        load::Error::Io(errors) => errors
            .into_iter()
            .next()
            .map(|(path, _)| at(filter, path, "a filter cannot import or include files")),
    };
    said.unwrap_or_else(|| "it cannot be read".to_owned())
}

/// Which name means nothing.
pub fn undefined(filter: &str, errors: compile::Errors<&str, ()>) -> String {
    let Some((name, kind)) = errors.into_iter().flat_map(|(_, errors)| errors).next() else {
        return "it cannot be understood".to_owned();
    };
    let words = match kind {
        _ if REFUSED.contains(&name) => format!(
            "{name} is not available here: a filter sees the results of the tasks before it (.) and the workflow's inputs ({INPUT_VARIABLE})"
        ),
        Undefined::Filter(arity) => no_function(name, arity),
        Undefined::Var => {
            format!("there is no variable {name}; known: {INPUT_VARIABLE} and those bound by `as`")
        }
        kind => format!("there is no {} {name}", kind.as_str()),
    };
    at(filter, name, &words)
}

fn no_function(name: &str, arity: usize) -> String {
    let known = signatures();
    let mut takes: Vec<usize> = known
        .iter()
        .filter(|(other, _)| *other == name)
        .map(|(_, arity)| *arity)
        .collect();
    takes.sort_unstable();
    takes.dedup();
    if let Some(most) = takes.last() {
        let (noun, hint) = match most {
            0 | 1 => ("argument", ""),
            _ => ("arguments", "; they are separated by ;"),
        };
        let takes: Vec<String> = takes.iter().map(usize::to_string).collect();
        return format!(
            "{name} takes {} {noun}, not {arity}{hint}",
            takes.join(" or ")
        );
    }
    match nearest(name, known.iter().map(|(name, _)| *name)) {
        Some(near) => format!("there is no function {name}; did you mean {near}?"),
        None => format!("there is no function {name}"),
    }
}

/// A character that begins nothing, or something that never ends.
fn unclear(filter: &str, (expected, found): lex::Error<&str>) -> String {
    let expected = match expected {
        lex::Expect::Delim(open) => {
            return at(filter, open, &format!("this {open} is never closed"));
        }
        lex::Expect::Token => None,
        lex::Expect::Digit => Some("a digit"),
        lex::Expect::Ident => Some("a name"),
        lex::Expect::Escape => Some("an escape such as \\n, \\\" or \\\\"),
        lex::Expect::Unicode => Some("the four hexadecimal digits of a character"),
        other => Some(other.as_str()),
    };
    let character = found.chars().next().map(String::from);
    at(
        filter,
        found,
        &unexpected(character.as_deref().unwrap_or_default(), expected),
    )
}

/// A word where another is expected.
fn misplaced(filter: &str, (expected, found): parse::Error<&str>) -> String {
    let word;
    let expected = match expected {
        parse::Expect::Just(just) => {
            word = excerpt(just);
            &word
        }
        parse::Expect::Var => "a variable such as $x",
        parse::Expect::Pattern => "a variable or a pattern",
        parse::Expect::ElseOrEnd => "else or end",
        parse::Expect::CommaOrRBrack => "\",\" or \"]\"",
        parse::Expect::CommaOrRBrace => "\",\" or \"}\"",
        parse::Expect::SemicolonOrRParen => "\";\" or \")\"",
        parse::Expect::Term => "a value or a function",
        parse::Expect::Key => "a key",
        parse::Expect::Ident | parse::Expect::Arg => "a name",
        parse::Expect::Str => "a string",
        parse::Expect::Nothing => "the end or an operator",
        other => other.as_str(),
    };
    at(filter, found, &unexpected(found, Some(expected)))
}

fn unexpected(found: &str, expected: Option<&str>) -> String {
    match (found.is_empty(), expected) {
        (true, Some(expected)) => format!("the filter ends where {expected} is expected"),
        (true, None) => "the filter ends too early".to_owned(),
        (false, Some(expected)) => {
            format!("unexpected {}, expected {expected}", excerpt(found))
        }
        (false, None) => format!("unexpected {}", excerpt(found)),
    }
}

/// The words with their place: `part` is a slice of the filter.
fn at(filter: &str, part: &str, words: &str) -> String {
    let start = (part.as_ptr() as usize).checked_sub(filter.as_ptr() as usize);
    let Some((before, behind)) = start.and_then(|start| filter.split_at_checked(start)) else {
        return words.to_owned();
    };
    let line = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before[line_start..].chars().count() + 1;
    match behind.lines().next().filter(|rest| !rest.is_empty()) {
        Some(rest) => format!(
            "line {line}, column {column}, at {}: {words}",
            excerpt(rest)
        ),
        None => format!("line {line}, column {column}: {words}"),
    }
}
