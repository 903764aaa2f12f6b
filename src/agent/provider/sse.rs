//! Server-sent events out of bytes that come in any pieces. It must not know what an event means, and no event is longer than the
//! maximum.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Empty where the server gave no name.
    pub name: String,
    pub text: String,
}

/// An event was longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Collects lines into events.
pub struct Parser {
    max_bytes: usize,
    line: Vec<u8>,
    /// The last byte was a carriage return, so that a line feed now belongs to it.
    after_return: bool,
    is_first_line: bool,
    name: String,
    text: Option<String>,
}

impl Parser {
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: Vec::new(),
            after_return: false,
            is_first_line: true,
            name: String::new(),
            text: None,
        }
    }

    /// Takes the next bytes and gives the events that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.line.extend_from_slice(&rest[..end]);
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_return {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            events.extend(self.end_line());
            self.check()?;
        }
        self.line.extend_from_slice(rest);
        self.check()?;
        Ok(events)
    }

    /// The stream is over: what stands there counts, for some servers forget the blank line after their last event.
    pub fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn check(&self) -> Result<(), TooLong> {
        let held = self.line.len() + self.text.as_ref().map_or(0, String::len) + self.name.len();
        (held <= self.max_bytes).then_some(()).ok_or(TooLong)
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        // A line is whole here, so no letter is cut in two.
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => match &mut self.text {
                Some(text) => {
                    text.push('\n');
                    text.push_str(value);
                }
                None => self.text = Some(value.to_owned()),
            },
            // A comment has no name; ids and reconnection times are for browsers.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let text = self.text.take()?;
        Some(Event { name, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOMY: usize = 1 << 20;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::new(ROOMY);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(parser.feed(piece).unwrap());
        }
        events.extend(parser.finish());
        events
            .into_iter()
            .map(|event| (event.name, event.text))
            .collect()
    }

    #[test]
    fn events_are_read_as_servers_write_them() {
        let one = |name: &str, text: &str| vec![(name.to_owned(), text.to_owned())];
        for (stream, expected) in [
            ("data: a\n\n", one("", "a")),
            ("data:a\r\n\r\n", one("", "a")),
            ("data: a\r\r", one("", "a")),
            ("\u{feff}data: a\n\n", one("", "a")),
            ("event: ping\ndata: {}\n\n", one("ping", "{}")),
            (": comment\n\n:\ndata: a\n\n", one("", "a")),
            ("data: a\ndata: b\ndata\n\n", one("", "a\nb\n")),
            ("data:  a \n\n", one("", " a ")),
            ("id: 7\nretry: 10\nnonsense\ndata: a\n\n", one("", "a")),
            ("event: nothing\n\ndata: a\n\n", one("", "a")),
            ("data: [DONE]", one("", "[DONE]")),
            ("data: a\n", one("", "a")),
            ("\n\n\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(events(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn letters_and_line_ends_may_be_cut_in_two() {
        let stream = "data: größe €\r\n\r\ndata: 2\r\n\r\n".as_bytes();
        let whole = events(&[stream]);
        assert_eq!(whole[0].1, "größe €");
        assert_eq!(whole.len(), 2);
        for at in 0..=stream.len() {
            let (first, second) = stream.split_at(at);
            assert_eq!(events(&[first, second]), whole, "{at}");
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = Parser::new(100);
        assert!(parser.feed(&[b'x'; 100]).is_ok());
        assert_eq!(parser.feed(b"y"), Err(TooLong));
        let mut parser = Parser::new(100);
        let lines: Vec<_> = (0..30).map(|_| parser.feed(b"data: 1234\n")).collect();
        assert!(lines.contains(&Err(TooLong)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn pieces_make_no_difference(
            stream in "((data|event|id|x)?:? ?[a€{}\"]{0,4}(\n|\r\n|\r)){0,20}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[bytes]));
        }

        #[test]
        fn what_is_written_is_read(
            sent in prop::collection::vec(("[a-z_]{0,8}", "[^\r]{0,40}"), 0..10),
            line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        ) {
            let mut stream = String::new();
            for (name, text) in &sent {
                if !name.is_empty() {
                    stream.push_str(&format!("event: {name}{line_end}"));
                }
                for line in text.split('\n') {
                    stream.push_str(&format!("data: {line}{line_end}"));
                }
                stream.push_str(line_end);
            }
            prop_assert_eq!(events(&[stream.as_bytes()]), sent);
        }

        #[test]
        fn nothing_breaks_it(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)) {
            let mut parser = Parser::new(64);
            for piece in pieces {
                if parser.feed(&piece).is_err() {
                    break;
                }
            }
            parser.finish();
        }
    }
}
