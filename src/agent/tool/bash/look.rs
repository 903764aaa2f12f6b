//! A look at a command before it runs: does a word of it name a place outside the workspace? Pure but for the question
//! where a path leads. It is the sign on the fence, not the fence: what it overlooks the kernel refuses.

use super::words::{Token, Word, cut};
use std::path::{Path, PathBuf};

/// How deep a command inside a command inside a command is looked into.
const MAX_DEPTH: usize = 8;
/// Their first plain word is a program of their own, not a file.
const TAKE_PATTERNS: &[&str] = &[
    "awk", "gawk", "mawk", "sed", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "perl", "jq",
    "yq", "tr",
];
/// Their words are text.
const TAKE_TEXT: &[&str] = &[
    "echo", "printf", "expr", "let", "true", "false", ":", "alias", "export", "case",
];
/// A slash alone is what parts their fields.
const TAKE_SEPARATORS: &[&str] = &[
    "awk", "gawk", "mawk", "cut", "sort", "paste", "join", "column",
];
const COMPARE: &[&str] = &["=", "==", "!=", "=~"];
const TAKE_COMMANDS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "eval", "xargs", "watch", "timeout", "su",
];
/// What may stand before a command.
const BEFORE_COMMANDS: &[&str] = &[
    "if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "exec", "command",
    "env", "nohup", "nice", "sudo", "builtin",
];

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Inside,
    /// Outside, but anybody's to read and run: programs of the system.
    Readable,
    /// Outside, but to be used freely.
    Free,
    /// Outside: there indeed.
    Outside(PathBuf),
    Missing,
}

/// What can be known before the command runs.
pub struct View<'a> {
    pub workspace: &'a Path,
    pub known: &'a dyn Fn(&str) -> Option<String>,
    /// Where an absolute path leads.
    pub standing: &'a dyn Fn(&Path) -> Standing,
}

/// A word that names a place outside.
#[derive(Debug, PartialEq, Eq)]
pub struct Trespass {
    pub word: String,
    pub place: PathBuf,
    pub written: bool,
}

/// The first word of a command that leads out of the workspace.
pub fn look(command: &str, view: &View<'_>) -> Result<(), Trespass> {
    look_from(command, view, Some(view.workspace.to_owned()), MAX_DEPTH)
}

fn look_from(
    command: &str,
    view: &View<'_>,
    here: Option<PathBuf>,
    depth: usize,
) -> Result<(), Trespass> {
    if depth == 0 {
        return Ok(());
    }
    let mut walk = Walk {
        view,
        here,
        left: Vec::new(),
        command: None,
        before: String::new(),
        plain_words: 0,
        next: Next::Argument,
        depth,
    };
    for token in cut(command, view.known) {
        walk.token(token)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Argument,
    Read,
    Written,
    Text,
}

struct Walk<'a> {
    view: &'a View<'a>,
    /// Where the command stands; unknown once it has gone somewhere unknown.
    here: Option<PathBuf>,
    left: Vec<Option<PathBuf>>,
    command: Option<String>,
    /// The word before, of the same command.
    before: String,
    plain_words: usize,
    next: Next,
    depth: usize,
}

impl Walk<'_> {
    fn token(&mut self, token: Token) -> Result<(), Trespass> {
        match token {
            Token::From => self.next = Next::Read,
            Token::To => self.next = Next::Written,
            Token::Text => self.next = Next::Text,
            Token::Break => self.end_command()?,
            Token::Enter => {
                self.end_command()?;
                self.left.push(self.here.clone());
            }
            Token::Leave => {
                self.end_command()?;
                if let Some(before) = self.left.pop() {
                    self.here = before;
                }
            }
            Token::Word(word) => match std::mem::replace(&mut self.next, Next::Argument) {
                Next::Text => {}
                Next::Read => self.check(&word, &word.text, false)?,
                Next::Written => self.check(&word, &word.text, true)?,
                Next::Argument => self.argument(&word)?,
            },
        }
        Ok(())
    }

    fn end_command(&mut self) -> Result<(), Trespass> {
        let command = self.command.take();
        // Without a word it goes home.
        if command.as_deref() == Some("cd")
            && self.plain_words == 0
            && let Some(home) = (self.view.known)("HOME")
        {
            self.check(&Word::default(), &home, false)?;
        }
        self.before.clear();
        self.plain_words = 0;
        self.next = Next::Argument;
        Ok(())
    }

    fn argument(&mut self, word: &Word) -> Result<(), Trespass> {
        let Some(command) = self.command.clone() else {
            return self.begin(word);
        };
        let before = std::mem::replace(&mut self.before, word.text.clone());
        let is_option = word.text.starts_with('-') && !word.quoted;
        let command = command.as_str();
        if of_option(command, &before, word) {
            return Ok(());
        }
        if !is_option {
            self.plain_words += 1;
        }
        let compared = [before.as_str(), &word.text];
        if TAKE_TEXT.contains(&command) || compared.iter().any(|word| COMPARE.contains(word)) {
            return Ok(());
        }
        if TAKE_PATTERNS.contains(&command)
            && !is_option
            && (self.plain_words == 1 || before == "-e")
        {
            return Ok(());
        }
        if TAKE_COMMANDS.contains(&command) && word.text.contains(char::is_whitespace) {
            return look_from(&word.text, self.view, self.here.clone(), self.depth - 1);
        }
        self.check_all(word)?;
        if matches!(command, "cd" | "pushd") && !is_option {
            self.here = match (word.open, &self.here) {
                (false, Some(here)) => Some(here.join(&word.text)),
                _ => None,
            };
        }
        Ok(())
    }

    fn begin(&mut self, word: &Word) -> Result<(), Trespass> {
        let assigned = word.text.split_once('=').filter(|(name, _)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        if assigned.is_some() {
            return self.check_all(word);
        }
        // A pattern is no program but a branch of a case.
        if word.text.contains('/') && !word.pattern {
            self.check(word, &word.text, false)?;
        }
        let name = Path::new(&word.text).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if !BEFORE_COMMANDS.contains(&name.as_str()) {
            self.command = Some(name);
        }
        Ok(())
    }

    /// A word may hold a path in several ways.
    fn check_all(&self, word: &Word) -> Result<(), Trespass> {
        let text = word.text.as_str();
        if text.contains("://") && !text.contains("file://") {
            return Ok(());
        }
        self.check(word, text, false)?;
        let mut parts: Vec<&str> = Vec::new();
        if let Some((_, value)) = text.split_once('=') {
            parts.push(value);
            parts.extend(value.split(':'));
        } else if text.starts_with('-') {
            let start = text.find(['/', '~']).or_else(|| text.find(".."));
            parts.extend(start.map(|start| &text[start..]));
        } else if text.starts_with('/') {
            parts.extend(text.split(':'));
        }
        parts.extend(text.strip_prefix('@'));
        parts.extend(text.split_once("file://").map(|(_, path)| path));
        parts
            .into_iter()
            .filter(|part| *part != text && *part != "/")
            .try_for_each(|part| self.check(word, part, false))
    }

    fn check(&self, word: &Word, text: &str, written: bool) -> Result<(), Trespass> {
        let text = match (word.open, text.rfind('/')) {
            // Of an open word only the directories are known.
            (true, Some(0)) if !word.pattern => return Ok(()),
            (true, Some(end)) => &text[..end.max(1)],
            (true, None) => return Ok(()),
            (false, _) => text,
        };
        let home = (self.view.known)("HOME");
        let path = match (text.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                PathBuf::from(home + rest)
            }
            _ if text.starts_with('/') => PathBuf::from(text),
            _ => match &self.here {
                Some(here) if !text.is_empty() => here.join(text),
                _ => return Ok(()),
            },
        };
        let mut standing = (self.view.standing)(&path);
        if let (Standing::Missing, true, Some(above)) = (&standing, written, path.parent()) {
            standing = (self.view.standing)(above);
        }
        let place = match standing {
            Standing::Outside(place) => place,
            Standing::Readable if written => path,
            _ => return Ok(()),
        };
        let word = if text.is_empty() { "cd" } else { text };
        Err(Trespass {
            word: word.to_owned(),
            place,
            written,
        })
    }
}

/// Whether a word only completes the option before it: a separator, or how many lines.
fn of_option(command: &str, before: &str, word: &Word) -> bool {
    let number = || word.text.bytes().all(|byte| byte.is_ascii_digit());
    match word.text.as_str() {
        "/" => TAKE_SEPARATORS.contains(&command),
        _ => TAKE_PATTERNS.contains(&command) && before.starts_with('-') && !word.open && number(),
    }
}

#[cfg(test)]
#[path = "look_tests.rs"]
mod tests;
