//! A shell command cut into words, as far as that goes without running it: quotes are taken away, the few variables that
//! name places are put in, whatever else a shell would compute is left open. Pure.

/// A piece of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Token {
    Word(Word),
    /// The next word is a file to be read.
    From,
    /// The next word is a file to be written.
    To,
    /// The next word is text, not a file.
    Text,
    /// A command ends.
    Break,
    /// A command of its own surroundings begins, and ends.
    Enter,
    Leave,
}

/// A word as it is known before the command runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// What is known of it, from its beginning.
    pub text: String,
    /// What follows is known only when it runs.
    pub open: bool,
    /// The open part begins with a pattern of file names.
    pub pattern: bool,
    pub quoted: bool,
}

/// Cuts a command; `known` gives the values of the variables that name places. Commands inside of words follow as
/// commands of their own.
pub fn cut(command: &str, known: &dyn Fn(&str) -> Option<String>) -> Vec<Token> {
    let mut cutter = Cutter {
        rest: command,
        known,
        word: None,
        tokens: Vec::new(),
        inner: Vec::new(),
        documents: Vec::new(),
    };
    cutter.run();
    cutter.tokens
}

struct Cutter<'a> {
    rest: &'a str,
    known: &'a dyn Fn(&str) -> Option<String>,
    word: Option<Word>,
    tokens: Vec<Token>,
    /// Commands found inside of words, to be cut once the present one has ended.
    inner: Vec<&'a str>,
    /// The ends of the here-documents that begin with the next line.
    documents: Vec<String>,
}

impl<'a> Cutter<'a> {
    fn run(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\'' => self.single(),
                '"' => self.double(),
                '\\' => self.escaped(),
                '$' => self.dollar(),
                '`' => self.backtick(),
                '#' if self.word.is_none() => self.skip_to('\n'),
                '\n' => self.line_end(),
                ' ' | '\t' | '\r' => self.step(c, Cutter::end_word),
                ';' | '|' => self.step(c, |cutter| cutter.mark(Token::Break)),
                '&' if self.rest.starts_with("&>") => self.step(c, Cutter::end_word),
                '&' => self.step(c, |cutter| cutter.mark(Token::Break)),
                '(' => self.step(c, |cutter| cutter.mark(Token::Enter)),
                ')' => self.step(c, |cutter| cutter.mark(Token::Leave)),
                '<' | '>' => self.redirection(),
                '~' if self.word.is_none() => self.home(),
                '*' | '?' | '[' => self.step(c, |cutter| cutter.leave_open(true)),
                c => self.step(c, |cutter| cutter.push(c)),
            }
        }
        self.mark(Token::Break);
        for inner in std::mem::take(&mut self.inner) {
            self.tokens.push(Token::Enter);
            self.tokens.extend(cut(inner, self.known));
            self.tokens.push(Token::Leave);
        }
    }

    fn step(&mut self, c: char, act: impl FnOnce(&mut Self)) {
        self.rest = &self.rest[c.len_utf8()..];
        act(self);
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        let word = self.word();
        if !word.open {
            word.text.push(c);
        }
    }

    fn leave_open(&mut self, pattern: bool) {
        let word = self.word();
        word.pattern |= pattern && !word.open;
        word.open = true;
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.tokens.push(Token::Word(word));
        }
    }

    fn mark(&mut self, token: Token) {
        self.end_word();
        self.tokens.push(token);
    }

    fn skip_to(&mut self, end: char) {
        self.rest = self.rest.find(end).map_or("", |at| &self.rest[at..]);
    }

    fn take_to(&mut self, end: char) -> &'a str {
        let (inside, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        inside
    }

    fn single(&mut self) {
        self.rest = &self.rest[1..];
        let inside = self.take_to('\'');
        self.word().quoted = true;
        inside.chars().for_each(|c| self.push(c));
    }

    fn double(&mut self) {
        self.rest = &self.rest[1..];
        self.word().quoted = true;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '"' => return self.step(c, |_| {}),
                '$' => self.dollar(),
                '`' => self.backtick(),
                '\\' => self.escaped(),
                c => self.step(c, |cutter| cutter.push(c)),
            }
        }
    }

    fn escaped(&mut self) {
        self.rest = &self.rest[1..];
        match self.rest.chars().next() {
            Some('\n') => self.step('\n', |_| {}),
            Some(c) => self.step(c, |cutter| cutter.push(c)),
            None => {}
        }
    }

    fn home(&mut self) {
        self.rest = &self.rest[1..];
        match (self.rest.chars().next(), (self.known)("HOME")) {
            (None | Some('/' | ' ' | '\t' | '\n' | ';' | '&' | '|' | ')'), Some(home)) => {
                home.chars().for_each(|c| self.push(c));
            }
            _ => self.push('~'),
        }
    }

    fn backtick(&mut self) {
        self.rest = &self.rest[1..];
        let inside = self.take_to('`');
        self.command(inside);
    }

    fn command(&mut self, inside: &'a str) {
        match (inside.trim(), (self.known)("PWD")) {
            ("pwd", Some(here)) => here.chars().for_each(|c| self.push(c)),
            _ => {
                self.leave_open(false);
                self.inner.push(inside);
            }
        }
    }

    fn dollar(&mut self) {
        self.rest = &self.rest[1..];
        if self.rest.starts_with("((") {
            let end = self.rest.find("))").map_or(self.rest.len(), |at| at + 2);
            self.rest = &self.rest[end..];
            self.leave_open(false);
        } else if self.rest.starts_with('(') {
            let end = closing(self.rest);
            let inside = &self.rest[1..end];
            self.rest = self.rest.get(end + 1..).unwrap_or("");
            self.command(inside);
        } else if self.rest.starts_with('{') {
            self.rest = &self.rest[1..];
            let name = self.take_to('}');
            self.variable(name);
        } else {
            let end = self
                .rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(self.rest.len());
            let (name, rest) = self.rest.split_at(end);
            self.rest = rest;
            if name.is_empty() && !rest.starts_with(['?', '!', '@', '*', '#', '$', '\'']) {
                return self.push('$');
            }
            self.variable(name);
        }
    }

    fn variable(&mut self, name: &str) {
        match (self.known)(name) {
            Some(value) => value.chars().for_each(|c| self.push(c)),
            None => self.leave_open(false),
        }
    }

    fn redirection(&mut self) {
        let descriptor = |word: &Word| {
            !word.quoted && !word.open && word.text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if self.word.as_ref().is_some_and(descriptor) {
            self.word = None;
        }
        self.end_word();
        for (sign, token) in [
            ("<<<", Token::Text),
            ("<(", Token::Enter),
            (">(", Token::Enter),
            ("<>", Token::To),
            (">>", Token::To),
            (">|", Token::To),
            (">&", Token::To),
            ("<&", Token::Text),
            (">", Token::To),
        ] {
            if let Some(rest) = self.rest.strip_prefix(sign) {
                self.rest = rest;
                return self.tokens.push(token);
            }
        }
        match self.rest.strip_prefix("<<") {
            Some(rest) => {
                self.rest = rest;
                self.document();
            }
            None => {
                self.rest = &self.rest[1..];
                self.tokens.push(Token::From);
            }
        }
    }

    fn document(&mut self) {
        let rest = self.rest.trim_start_matches(['-', ' ', '\t']);
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '>' | '<' | ')'))
            .unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        self.rest = rest;
        self.documents.push(name.replace(['\'', '"', '\\'], ""));
    }

    fn line_end(&mut self) {
        self.rest = &self.rest[1..];
        self.mark(Token::Break);
        for end in std::mem::take(&mut self.documents) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}

/// Where the parenthesis that opens the text is closed, by and large.
fn closing(text: &str) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => drop(characters.next()),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) if depth <= 1 => return at,
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str) -> String {
        let known = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        let tokens = cut(command, &known).into_iter().map(|token| match token {
            Token::Word(word) => {
                let open = if word.open { "…" } else { "" };
                format!("{}{open}", word.text)
            }
            Token::From => "<".to_owned(),
            Token::To => ">".to_owned(),
            Token::Text => "<<<".to_owned(),
            Token::Break => ";".to_owned(),
            Token::Enter => "(".to_owned(),
            Token::Leave => ")".to_owned(),
        });
        tokens.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn commands_are_cut_as_a_shell_would() {
        for (command, expected) in [
            ("ls -l a", "ls|-l|a|;"),
            ("cat 'a b' \"c d\" e\\ f", "cat|a b|c d|e f|;"),
            ("a;b && c || d | e & f", "a|;|b|;|;|c|;|;|d|;|e|;|f|;"),
            ("x >out 2>>err <in 2>&1", "x|>|out|>|err|<|in|>|1|;"),
            ("x &>/dev/null", "x|>|/dev/null|;"),
            ("cat ~/x ~ a~", "cat|/home/u/x|/home/u|a~|;"),
            (
                "cat $HOME/x ${HOME}y \"$HOME\"",
                "cat|/home/u/x|/home/uy|/home/u|;",
            ),
            ("cat '$HOME' $other/x /a/$b/c", "cat|$HOME|…|/a/…|;"),
            ("cat $(echo /x) `id`", "cat|…|…|;|(|echo|/x|;|)|(|id|;|)"),
            ("echo \"a $(cat /x) b\"", "echo|a …|;|(|cat|/x|;|)"),
            ("(cd a; b)", "(|cd|a|;|b|)|;"),
            ("cat <<EOF >o\n/etc/x 'y\nEOF\nls", "cat|>|o|;|ls|;"),
            ("cat <<<'/x'", "cat|<<<|/x|;"),
            ("ls # /etc\nls b", "ls|;|ls|b|;"),
            ("rm a/*.o", "rm|a/…|;"),
            ("echo $((4 / 2)) 5$", "echo|…|5$|;"),
            ("diff <(sort a) b", "diff|(|sort|a|)|b|;"),
            ("echo 'never closed", "echo|never closed|;"),
            ("echo \\", "echo|;"),
            ("ä \"ö", "ä|ö|;"),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }
}
