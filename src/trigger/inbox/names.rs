//! Names of inbox entries: which are looked at, which are refused, and how they are kept.
//! Pure: a name is bytes from a stranger.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The kernel takes no longer name.
const MAX_NAME_BYTES: usize = 255;
const FOLDERS: &[&str] = &["accepted", "rejected"];
const UNFINISHED: &[&str] = &[".tmp", ".part", ".swp", "~", ".crdownload"];
const KINDS: &[&str] = &["md", "txt", "json"];

/// Whether an entry is for us at all: hidden names, names of unfinished files and our own folders are left alone.
pub fn is_candidate(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !bytes.starts_with(b".")
        && !UNFINISHED
            .iter()
            .any(|ending| bytes.ends_with(ending.as_bytes()))
        && !FOLDERS.iter().any(|folder| bytes == folder.as_bytes())
}

/// The name as text, or why it is refused.
pub fn check(name: &OsStr) -> Result<&str, String> {
    let text = name.to_str().ok_or("its name is not UTF-8; rename it")?;
    if text.chars().any(char::is_control) {
        return Err("its name holds control characters; rename it".to_owned());
    }
    if text.contains("..") {
        return Err("its name holds '..'; rename it".to_owned());
    }
    match text.rsplit_once('.') {
        Some((stem, kind)) if !stem.is_empty() && KINDS.contains(&kind) => Ok(text),
        _ => Err("its name must end in .md, .txt or .json".to_owned()),
    }
}

/// The stem of a request's name: what the answer in the outbox is called after.
pub fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// `<id>.<name>`, the name shortened in the middle of nowhere but never in its ending, so that the whole fits.
pub fn with_id(id: &str, name: &OsStr) -> OsString {
    let mut whole = format!("{id}.").into_bytes();
    whole.extend(shortened(name.as_bytes(), MAX_NAME_BYTES - whole.len()));
    OsString::from_vec(whole)
}

/// The id and the original name of an entry that was taken before.
pub fn split_id(taken: &OsStr) -> Option<(String, OsString)> {
    const ID_BYTES: usize = 36;
    let bytes = taken.as_bytes();
    let id = std::str::from_utf8(bytes.get(..ID_BYTES)?).ok()?;
    let rest = bytes.get(ID_BYTES..)?.strip_prefix(b".")?;
    uuid::Uuid::try_parse(id).ok()?;
    Some((id.to_owned(), OsString::from_vec(rest.to_vec())))
}

/// The n-th name to try in a folder where a name may be taken already, with `ending` behind it.
pub fn numbered(name: &OsStr, number: usize, ending: &str) -> OsString {
    let suffix = match number {
        0 => ending.to_owned(),
        _ => format!(".{}{ending}", number + 1),
    };
    let mut whole = match name.len() + suffix.len() <= MAX_NAME_BYTES {
        true => name.as_bytes().to_vec(),
        false => shortened(name.as_bytes(), MAX_NAME_BYTES - suffix.len()),
    };
    whole.extend(suffix.as_bytes());
    OsString::from_vec(whole)
}

fn shortened(name: &[u8], max_bytes: usize) -> Vec<u8> {
    if name.len() <= max_bytes {
        return name.to_vec();
    }
    let dot = name
        .iter()
        .rposition(|byte| *byte == b'.')
        .unwrap_or(name.len());
    let ending = &name[dot..];
    let ending = if ending.len() > 16 { &[][..] } else { ending };
    let mut cut = max_bytes - ending.len();
    // Not in the middle of a character.
    while cut > 0 && name[cut] & 0b1100_0000 == 0b1000_0000 {
        cut -= 1;
    }
    [&name[..cut], ending].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_looked_at() {
        for (name, candidate) in [
            ("a.md", true),
            ("noextension", true),
            (".hidden.md", false),
            ("a.md.tmp", false),
            ("a.part", false),
            ("a.md~", false),
            ("a.md.swp", false),
            ("a.crdownload", false),
            ("accepted", false),
            ("rejected", false),
            ("..", false),
        ] {
            assert_eq!(is_candidate(OsStr::new(name)), candidate, "{name}");
        }
    }

    #[test]
    fn who_is_refused() {
        for (name, refused) in [
            (&b"fix.md"[..], None),
            (b"fix.txt", None),
            (b"fix.json", None),
            (b"two.parts.md", None),
            (b"fix.pdf", Some("must end in")),
            (b"fix", Some("must end in")),
            (b"a\nb.md", Some("control")),
            (b"a..b.md", Some("'..'")),
            (b"\xff.md", Some("not UTF-8")),
        ] {
            let found = check(OsStr::from_bytes(refused.map_or(name, |_| name))).err();
            match refused {
                None => assert_eq!(found, None),
                Some(word) => assert!(found.unwrap().contains(word)),
            }
        }
    }

    #[test]
    fn long_names_fit_and_keep_their_ending() {
        let id = "019a8b2c-1234-7000-8000-0123456789ab";
        for length in [1, 200, 218, 219, 252] {
            let name = OsString::from(format!("{}.md", "é".repeat(length / 2 + 1)));
            let whole = with_id(id, &name);
            assert!(whole.len() <= MAX_NAME_BYTES, "{length}");
            assert!(whole.to_str().unwrap().ends_with(".md"));
            let (found, rest) = split_id(&whole).unwrap();
            assert_eq!(found, id);
            assert!(rest.to_str().unwrap().ends_with(".md"));
        }
        let longest = OsString::from("x".repeat(255));
        assert_eq!(numbered(&longest, 0, ".error.txt").len(), 255);
        assert_eq!(
            numbered(OsStr::new("a.md"), 1, ".error.txt"),
            "a.md.2.error.txt"
        );
    }
}
