//! A secret in a file: its only line, read anew whenever it is needed, from a path or from what systemd hands over.
//! It must keep the secret nowhere, and no word that it says about a file shows what is in it.

use crate::files::{self, Unreadable};
use std::path::{Path, PathBuf};

const MAX_SECRET_BYTES: u64 = 64 * 1024;
/// A shorter one could not be told from everyday words, so it could not be masked.
const MIN_SECRET_BYTES: usize = 8;
const READABLE_BY_OTHERS: u32 = 0o004;
const OPEN_TO_GROUP_OR_OTHERS: u32 = 0o077;
/// Where systemd puts what `LoadCredential=` names.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// A secret as it was read.
#[derive(Clone)]
pub struct Read {
    pub value: String,
    pub place: PathBuf,
    /// What a person should change about the file, though it can be used.
    pub remark: Option<String>,
}

/// Reads the file of a `what`, as a key. The error says what is wrong with it, and where it was looked for.
pub fn read(file: &Path, what: &str) -> Result<Read, String> {
    let credentials = std::env::var_os(CREDENTIALS_DIRECTORY).map(PathBuf::from);
    let place = place_of(file, what, credentials.as_deref())?;
    let named = |problem: String| format!("the {what} file {}: {problem}", place.display());
    let (bytes, mode) = files::read_linked(&place, MAX_SECRET_BYTES).map_err(|reason| {
        named(match reason {
            Unreadable::Missing => "it is not there".to_owned(),
            other => other.to_string(),
        })
    })?;
    if mode & READABLE_BY_OTHERS != 0 {
        let mode = mode & 0o777;
        return Err(named(format!(
            "everybody can read it (mode {mode:o}): chmod 600 it, and take a new {what}"
        )));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| named("it is not text".to_owned()))?;
    let value = one_line(text).map_err(|problem| named(format!("it {problem}")))?;
    // The group bits of a credential of systemd stand for an access list of the service alone.
    let own = credentials.is_none_or(|directory| !place.starts_with(directory));
    let remark = (own && mode & OPEN_TO_GROUP_OR_OTHERS != 0).then(|| {
        format!(
            "others than its owner can reach it (mode {:o}): chmod 600 it",
            mode & 0o777
        )
    });
    Ok(Read {
        value: value.to_owned(),
        place,
        remark,
    })
}

/// An absolute path stands for itself; a name is one of systemd's credentials.
fn place_of(file: &Path, what: &str, credentials: Option<&Path>) -> Result<PathBuf, String> {
    match credentials {
        _ if file.is_absolute() => Ok(file.to_owned()),
        Some(directory) => Ok(directory.join(file)),
        None => Err(format!(
            "the {what} file {0}: a relative path is looked up in ${CREDENTIALS_DIRECTORY}, which is not set; give an absolute path, or load it with LoadCredential={0}:… in the systemd unit",
            file.display()
        )),
    }
}

/// The secret in a text: its only line. The error is the rest of a sentence about what held it.
pub fn one_line(text: &str) -> Result<&str, &'static str> {
    match text.trim() {
        "" => Err("is empty"),
        secret if secret.chars().any(char::is_control) => {
            Err("holds more than one line of plain text")
        }
        secret if secret.len() < MIN_SECRET_BYTES => {
            Err("holds fewer than 8 characters: they could not be masked")
        }
        secret => Ok(secret),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_one_line() {
        for (text, expected) in [
            ("sk-0123456789\n", Ok("sk-0123456789")),
            ("  sk-0123456789\r\n\n", Ok("sk-0123456789")),
            ("", Err("is empty")),
            (" \n", Err("is empty")),
            (
                "one line\nanother",
                Err("holds more than one line of plain text"),
            ),
            (
                "short",
                Err("holds fewer than 8 characters: they could not be masked"),
            ),
        ] {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn relative_names_are_credentials() {
        let directory = Path::new("/run/credentials/ralphd.service");
        let name = Path::new("anthropic");
        assert_eq!(
            place_of(name, "key", Some(directory)),
            Ok(directory.join("anthropic"))
        );
        assert_eq!(
            place_of(Path::new("/etc/key"), "key", Some(directory)),
            Ok(PathBuf::from("/etc/key"))
        );
        assert!(
            place_of(name, "key", None)
                .unwrap_err()
                .contains("$CREDENTIALS_DIRECTORY")
        );
    }

    #[test]
    fn a_file_that_everybody_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        std::fs::write(&file, "sk-0123456789").unwrap();
        for (mode, usable, remarked) in [
            (0o600, true, false),
            (0o400, true, false),
            (0o640, true, true),
            (0o644, false, false),
            (0o604, false, false),
        ] {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            let read = read(&file, "key");
            assert_eq!(read.is_ok(), usable, "{mode:o}");
            let remark = read.ok().and_then(|read| read.remark);
            assert_eq!(remark.is_some(), remarked, "{mode:o}");
        }
    }

    #[test]
    fn problems_name_the_file_and_never_the_secret() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for (name, text) in [
            ("long", "x".repeat(70_000).as_bytes()),
            ("bytes", b"\xff\xfe12345678"),
        ] {
            std::fs::write(path(name), text).unwrap();
            std::fs::set_permissions(path(name), PermissionsExt::from_mode(0o600)).unwrap();
        }
        for (name, expected) in [
            ("missing", "it is not there"),
            (".", "it is a directory, not a regular file"),
            ("long", "it is too large (70000 bytes)"),
            ("bytes", "it is not text"),
        ] {
            let problem = read(&path(name), "key").err().unwrap();
            assert!(
                problem.contains(directory.path().to_str().unwrap()),
                "{problem}"
            );
            assert!(problem.ends_with(expected), "{problem}");
        }
    }
}
