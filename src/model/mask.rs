//! Secrets made unreadable, in whole texts and in streams that come in pieces.
//! Pure: it is told the values; where they come from is the edges' business.

use memchr::memmem;
use std::borrow::Cow;

/// What stands in a secret's place.
const MASK: &str = "[masked]";
/// Shorter values are words of everyday text: masking them would hide more than secrets.
const MIN_SECRET_BYTES: usize = 8;
/// Endings of the names of variables that hold secrets.
const SECRET_ENDINGS: &[&str] = &["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// Whether a variable of this name holds a secret; `more` are names that say so themselves.
pub fn is_secret_name(name: &str, more: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_ENDINGS.iter().any(|ending| upper.ends_with(ending))
        || more.iter().any(|other| other == name)
}

/// A set of secrets.
#[derive(Clone, Default)]
pub struct Mask {
    /// Longest first, so that a secret inside another does not spoil it.
    secrets: Vec<memmem::Finder<'static>>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mask of {} secrets", self.secrets.len())
    }
}

impl Mask {
    /// These values; ones too short to be secrets are left out. Values of several lines are masked line by line too,
    /// because that is how they are usually shown.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        for value in values {
            let lines: Vec<&str> = value.lines().map(str::trim).collect();
            secrets.extend(lines.iter().map(|line| (*line).to_owned()));
            for text in lines.into_iter().chain([value.as_str()]) {
                secrets.extend(escaped(text));
            }
        }
        secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        secrets.dedup();
        let finders = secrets
            .iter()
            .map(|secret| memmem::Finder::new(secret).into_owned());
        Self {
            secrets: finders.collect(),
        }
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Whether a secret stands in these bytes.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.secrets
            .iter()
            .any(|secret| secret.find(bytes).is_some())
    }

    /// How long the longest secret is: what two pieces of a text must share so that none between them is missed.
    pub fn longest_bytes(&self) -> usize {
        self.secrets
            .first()
            .map_or(0, |secret| secret.needle().len())
    }

    /// The text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.first_in(text.as_bytes()) {
            None => Cow::Borrowed(text),
            Some(_) => {
                let mut clean = Vec::with_capacity(text.len());
                self.clean(text.as_bytes(), &mut clean);
                Cow::Owned(String::from_utf8_lossy(&clean).into_owned())
            }
        }
    }

    /// A stream to be masked piece by piece.
    pub fn stream(&self) -> MaskedStream {
        MaskedStream {
            mask: self.clone(),
            held: Vec::new(),
        }
    }

    /// Copies `bytes` without the secrets in it.
    fn clean(&self, bytes: &[u8], clean: &mut Vec<u8>) {
        let mut done = 0;
        while let Some((at, length)) = self.first_in(&bytes[done..]) {
            clean.extend_from_slice(&bytes[done..done + at]);
            clean.extend_from_slice(MASK.as_bytes());
            done += at + length;
        }
        clean.extend_from_slice(&bytes[done..]);
    }

    /// Where the first secret is, and how long; of several at the same place the longest.
    fn first_in(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let found = self
            .secrets
            .iter()
            .filter_map(|secret| secret.find(bytes).map(|at| (at, secret.needle().len())));
        found.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)))
    }

    /// How many bytes at the end might be the start of a secret.
    fn open_end(&self, bytes: &[u8]) -> usize {
        let starts = |secret: &[u8]| {
            let longest = bytes.len().min(secret.len().saturating_sub(1));
            (1..=longest)
                .rev()
                .find(|length| bytes.ends_with(&secret[..*length]))
        };
        self.secrets
            .iter()
            .filter_map(|secret| starts(secret.needle()))
            .max()
            .unwrap_or(0)
    }
}

/// A text as it stands inside a JSON text, and as it stands in one that is itself a string of another. Writers differ in what they
/// escape beyond the necessary: all that is not ASCII, in small or capital digits; slashes; what HTML would take for its own.
fn escaped(text: &str) -> Vec<String> {
    let plain = in_json(text);
    let not_ascii = |sign: char| !sign.is_ascii();
    let html = |sign: char| matches!(sign, '<' | '>' | '&');
    let small = by_number(&plain, not_ascii, false);
    let mut forms = vec![
        by_number(&plain, not_ascii, true),
        by_number(&plain, html, false),
        by_number(&small, html, false),
        plain.replace('/', "\\/"),
        small.replace('/', "\\/"),
        plain,
        small,
    ];
    let nested: Vec<String> = forms.iter().map(|form| in_json(form)).collect();
    forms.extend(nested);
    forms
}

/// Between the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// With some of its signs written as `\u00e9`.
fn by_number(text: &str, which: impl Fn(char) -> bool, capital: bool) -> String {
    let mut written = String::with_capacity(text.len());
    for sign in text.chars() {
        if !which(sign) {
            written.push(sign);
            continue;
        }
        for unit in sign.encode_utf16(&mut [0; 2]) {
            written.push_str(&match capital {
                true => format!("\\u{unit:04X}"),
                false => format!("\\u{unit:04x}"),
            });
        }
    }
    written
}

/// A stream on its way through a mask. It holds back what might be the beginning of a secret.
pub struct MaskedStream {
    mask: Mask,
    held: Vec<u8>,
}

impl MaskedStream {
    /// What of the stream may be shown after this piece.
    pub fn feed<'a>(&'a mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if self.mask.is_empty() {
            return Cow::Borrowed(piece);
        }
        self.held.extend_from_slice(piece);
        let ready = self.held.len() - self.mask.open_end(&self.held);
        let mut clean = Vec::with_capacity(ready);
        let mut done = 0;
        // A secret that starts in the open part may be the beginning of a longer one: it is held back with it.
        while let Some((at, length)) = self
            .mask
            .first_in(&self.held[done..])
            .filter(|(at, _)| done + at < ready)
        {
            clean.extend_from_slice(&self.held[done..done + at]);
            clean.extend_from_slice(MASK.as_bytes());
            done += at + length;
        }
        let end = ready.max(done);
        clean.extend_from_slice(&self.held[done..end]);
        self.held.drain(..end);
        Cow::Owned(clean)
    }

    /// What was held back to the end.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut clean = Vec::with_capacity(self.held.len());
        self.mask.clean(&self.held, &mut clean);
        self.held.clear();
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask() -> Mask {
        let secrets = [
            "sk-secret-0001",
            "sk-secret-0001-longer",
            "hunter2",
            "line one!\nline two!",
            "quo\"te-secret",
            "\"in quotes\"",
            "grüße/<welt>",
        ];
        Mask::new(secrets.map(str::to_owned))
    }

    #[test]
    fn texts() {
        for (text, clean) in [
            ("nothing here", "nothing here"),
            ("key=sk-secret-0001;", "key=[masked];"),
            ("key=sk-secret-0001-longer;", "key=[masked];"),
            ("sk-secret-0001sk-secret-0001", "[masked][masked]"),
            ("too short: hunter2", "too short: hunter2"),
            ("line one!", "[masked]"),
            (r#"{"key":"quo\"te-secret"}"#, r#"{"key":"[masked]"}"#),
            (r#"{"key":"\"in quotes\""}"#, r#"{"key":"[masked]"}"#),
            (
                r#"{"key":"gr\u00fc\u00dfe/<welt>"}"#,
                r#"{"key":"[masked]"}"#,
            ),
            (
                r#"{"key":"gr\u00FC\u00DFe/<welt>"}"#,
                r#"{"key":"[masked]"}"#,
            ),
            (r#"{"key":"grüße\/<welt>"}"#, r#"{"key":"[masked]"}"#),
            (
                r#"{"key":"grüße/\u003cwelt\u003e"}"#,
                r#"{"key":"[masked]"}"#,
            ),
            (
                r#"{"json":"{\"key\":\"quo\\\"te-secret\"}"}"#,
                r#"{"json":"{\"key\":\"[masked]\"}"}"#,
            ),
        ] {
            assert_eq!(mask().text(text), clean);
        }
    }

    #[test]
    fn names() {
        for (name, secret) in [
            ("ANTHROPIC_API_KEY", true),
            ("github_token", true),
            ("CLIENT_SECRET", true),
            ("PATH", false),
            ("KEYBOARD", false),
            ("MY_NAME", true),
        ] {
            assert_eq!(
                is_secret_name(name, &["MY_NAME".to_owned()]),
                secret,
                "{name}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_stream_in_pieces_is_masked_like_the_whole(
            words in proptest::collection::vec(prop_oneof![
                Just("sk-secret-0001"), Just("sk-secret-0001-longer"), Just("sk-sec"), Just("ret-0001"), Just("line one!"), Just("x"), Just("\n"),
            ], 0..20),
            cut in 1usize..9,
        ) {
            let text: String = words.concat();
            let mut stream = mask().stream();
            let mut clean = Vec::new();
            for piece in text.as_bytes().chunks(cut) {
                clean.extend_from_slice(&stream.feed(piece));
            }
            clean.extend(stream.finish());
            let clean = String::from_utf8(clean).unwrap();
            prop_assert_eq!(clean, mask().text(&text).into_owned());
        }
    }
}
