//! What went wrong while a filter ran, in its class and in few words, however large the values are that an error names.

use std::fmt::{self, Display, Write};

use jaq_core::Exn;
use jaq_json::Val;

use super::Trouble;
use crate::model::policy::ErrorClass;

const HEAD_CHARACTERS: usize = 300;
const TAIL_CHARACTERS: usize = 200;
/// What is written of a value before its end is given up: shared parts make some values endless in practice.
const LOOKED_AT_BYTES: usize = 1 << 20;
/// How jaq's own errors about a value that is not what the filter took it for begin, or end.
const ILL_TYPED: [&str; 7] = [
    "cannot use ",
    "cannot index ",
    "cannot calculate ",
    "cannot parse ",
    "cannot convert ",
    "split input and separator must be strings",
    "invalid path expression",
];
const ILL_TYPED_ENDINGS: [&str; 2] = [" has no length", " out of bounds"];

/// The trouble of an error that the filter did not catch.
pub fn failure(exception: Exn<'_, Val>) -> Trouble {
    let Ok(error) = exception.get_err() else {
        return Trouble::other("the filter failed: it broke off without a result");
    };
    let shown = Excerpt::of(&error);
    // A message is a string, which shows in quotes; all else that shows is jaq's own words or a value given to `error`.
    let words = match shown.starts_with('"') {
        true => match error.into_val() {
            Val::TStr(text) => Excerpt::of(&String::from_utf8_lossy(&text)),
            _ => shown,
        },
        false => shown,
    };
    Trouble::new(class(&words), format!("the filter failed: {words}"))
}

fn class(words: &str) -> ErrorClass {
    let ill_typed = ILL_TYPED.iter().any(|start| words.starts_with(start))
        || ILL_TYPED_ENDINGS.iter().any(|end| words.ends_with(end));
    match ill_typed {
        true => ErrorClass::SchemaMismatch,
        false => ErrorClass::Other,
    }
}

/// The beginning and the end of a long text: what an error says of a value stands behind it.
#[derive(Default)]
struct Excerpt {
    head: String,
    head_characters: usize,
    tail: std::collections::VecDeque<char>,
    left_out: bool,
    seen_bytes: usize,
}

impl Excerpt {
    fn of(text: &(impl Display + ?Sized)) -> String {
        let mut excerpt = Self::default();
        // It ends early where the text is too long to be looked at.
        let whole = write!(excerpt, "{text}").is_ok();
        let mut shown = excerpt.head;
        if !whole {
            return shown + " …";
        }
        if excerpt.left_out {
            shown.push_str(" … ");
        }
        shown.extend(excerpt.tail);
        shown
    }
}

impl Write for Excerpt {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.seen_bytes += text.len();
        for character in text.chars() {
            if self.head_characters < HEAD_CHARACTERS {
                self.head.push(character);
                self.head_characters += 1;
                continue;
            }
            self.tail.push_back(character);
            if self.tail.len() > TAIL_CHARACTERS {
                self.tail.pop_front();
                self.left_out = true;
            }
        }
        match self.seen_bytes > LOOKED_AT_BYTES {
            true => Err(fmt::Error),
            false => Ok(()),
        }
    }
}
