//! Where an agent's key comes from: a file that is read anew for every turn, handed on as one variable of the environment.
//! It must keep the key nowhere, and no word that it says about a file shows what is in it.

use crate::config;
use crate::files::{self, Unreadable};
use std::path::{Path, PathBuf};

const MAX_KEY_BYTES: u64 = 64 * 1024;
/// A shorter one could not be told from everyday words, so it could not be masked.
const MIN_KEY_BYTES: usize = 8;
const READABLE_BY_OTHERS: u32 = 0o004;
const OPEN_TO_GROUP_OR_OTHERS: u32 = 0o077;
/// Where systemd puts what `LoadCredential=` names.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// How an agent gets its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The variable in which the agent looks for it.
    pub variable: String,
    /// The file that holds it; without one the daemon's own variable of that name is passed on.
    pub file: Option<PathBuf>,
}

/// A key as it was read.
#[derive(Clone)]
pub struct Read {
    pub value: String,
    pub place: PathBuf,
    /// What a person should change about the file, though it can be used.
    pub remark: Option<String>,
}

impl Key {
    /// The key of a configured agent, if it is known to have one.
    pub fn of_config(agent: &config::Agent) -> Option<Self> {
        agent.key_variable().map(|variable| Self {
            variable: variable.to_owned(),
            file: agent.api_key_file.clone(),
        })
    }

    /// Reads the file; nothing where there is none. The error says what is wrong with it, and where it was looked for.
    pub fn read(&self) -> Result<Option<Read>, String> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let credentials = std::env::var_os(CREDENTIALS_DIRECTORY).map(PathBuf::from);
        let place = place_of(file, credentials.as_deref())?;
        let named = |problem: String| format!("the key file {}: {problem}", place.display());
        let (bytes, mode) = files::read_linked(&place, MAX_KEY_BYTES).map_err(|reason| {
            named(match reason {
                Unreadable::Missing => "it is not there".to_owned(),
                other => other.to_string(),
            })
        })?;
        if mode & READABLE_BY_OTHERS != 0 {
            let mode = mode & 0o777;
            return Err(named(format!(
                "everybody can read it (mode {mode:o}): chmod 600 it, and take a new key"
            )));
        }
        let value = key_in(&bytes).map_err(|problem| named(problem.to_owned()))?;
        // The group bits of a credential of systemd stand for an access list of the service alone.
        let own = credentials.is_none_or(|directory| !place.starts_with(directory));
        let remark = (own && mode & OPEN_TO_GROUP_OR_OTHERS != 0).then(|| {
            format!(
                "others than its owner can reach it (mode {:o}): chmod 600 it",
                mode & 0o777
            )
        });
        Ok(Some(Read {
            value,
            place,
            remark,
        }))
    }
}

/// An absolute path stands for itself; a name is one of systemd's credentials.
fn place_of(file: &Path, credentials: Option<&Path>) -> Result<PathBuf, String> {
    match credentials {
        _ if file.is_absolute() => Ok(file.to_owned()),
        Some(directory) => Ok(directory.join(file)),
        None => Err(format!(
            "the key file {0}: a relative path is looked up in ${CREDENTIALS_DIRECTORY}, which is not set; give an absolute path, or load it with LoadCredential={0}:… in the systemd unit",
            file.display()
        )),
    }
}

/// The key in a file: its only line.
fn key_in(bytes: &[u8]) -> Result<String, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text")?;
    let key = text.trim();
    match key {
        "" => Err("it is empty"),
        _ if key.chars().any(char::is_control) => Err("it holds more than one line of plain text"),
        _ if key.len() < MIN_KEY_BYTES => {
            Err("its key is shorter than 8 characters: it could not be masked")
        }
        _ => Ok(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_one_line() {
        for (text, expected) in [
            ("sk-0123456789\n", Ok("sk-0123456789")),
            ("  sk-0123456789\r\n\n", Ok("sk-0123456789")),
            ("", Err("it is empty")),
            (" \n", Err("it is empty")),
            (
                "one line\nanother",
                Err("it holds more than one line of plain text"),
            ),
            (
                "short",
                Err("its key is shorter than 8 characters: it could not be masked"),
            ),
        ] {
            let key = key_in(text.as_bytes());
            assert_eq!(
                key.as_deref().map_err(|problem| *problem),
                expected,
                "{text:?}"
            );
        }
        assert_eq!(key_in(b"\xff\xfe12345678"), Err("it is not text"));
    }

    #[test]
    fn relative_names_are_credentials() {
        let directory = Path::new("/run/credentials/ralphd.service");
        let name = Path::new("anthropic");
        assert_eq!(
            place_of(name, Some(directory)),
            Ok(directory.join("anthropic"))
        );
        assert_eq!(
            place_of(Path::new("/etc/key"), Some(directory)),
            Ok(PathBuf::from("/etc/key"))
        );
        assert!(
            place_of(name, None)
                .unwrap_err()
                .contains("$CREDENTIALS_DIRECTORY")
        );
    }

    #[test]
    fn a_file_that_everybody_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        std::fs::write(&file, "sk-0123456789").unwrap();
        let key = Key {
            variable: "X_KEY".to_owned(),
            file: Some(file.clone()),
        };
        for (mode, usable, remarked) in [
            (0o600, true, false),
            (0o400, true, false),
            (0o640, true, true),
            (0o644, false, false),
            (0o604, false, false),
        ] {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            let read = key.read();
            assert_eq!(read.is_ok(), usable, "{mode:o}");
            let remark = read.ok().flatten().and_then(|read| read.remark);
            assert_eq!(remark.is_some(), remarked, "{mode:o}");
        }
    }

    #[test]
    fn problems_name_the_file_and_never_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("long"), "x".repeat(70_000)).unwrap();
        std::fs::set_permissions(path("long"), PermissionsExt::from_mode(0o600)).unwrap();
        for (name, expected) in [
            ("missing", "it is not there"),
            (".", "it is a directory, not a regular file"),
            ("long", "it is too large (70000 bytes)"),
        ] {
            let key = Key {
                variable: "X_KEY".to_owned(),
                file: Some(path(name)),
            };
            let problem = key.read().err().unwrap();
            assert!(
                problem.contains(directory.path().to_str().unwrap()),
                "{problem}"
            );
            assert!(problem.ends_with(expected), "{problem}");
        }
    }
}
