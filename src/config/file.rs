//! Which configuration file counts, and its text.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Environment;

const CONFIG_BYTES: u64 = 1024 * 1024;
const SYSTEM_FILE: &str = "/etc/ralphd/ralphd.toml";

/// A file to look for, and whether it must exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub path: PathBuf,
    pub required: bool,
}

/// The files to look for, the first that exists counts: `--config`, else `$RALPHD_CONFIG`, else the user's, else
/// the system's.
pub(super) fn candidates(flag: Option<&Path>, environment: &Environment) -> Vec<Candidate> {
    let named = environment.get("RALPHD_CONFIG").map(Path::new);
    if let Some(path) = flag.or(named) {
        return vec![Candidate {
            path: path.to_owned(),
            required: true,
        }];
    }
    let home = environment
        .absolute_path("HOME")
        .map(|home| home.join(".config"));
    let user = environment.absolute_path("XDG_CONFIG_HOME").or(home);
    let user = user.map(|directory| directory.join("ralphd/ralphd.toml"));
    let optional = |path| Candidate {
        path,
        required: false,
    };
    user.into_iter()
        .chain([PathBuf::from(SYSTEM_FILE)])
        .map(optional)
        .collect()
}

/// The text of the first candidate that exists, with its absolute path; the error is of one file.
pub(super) fn read(
    candidates: &[Candidate],
) -> Result<Option<(PathBuf, String)>, (PathBuf, String)> {
    for candidate in candidates {
        match read_one(&candidate.path) {
            Ok(text) => {
                let path = std::path::absolute(&candidate.path);
                return Ok(Some((
                    path.unwrap_or_else(|_| candidate.path.clone()),
                    text,
                )));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if candidate.required {
                    return Err((candidate.path.clone(), "there is no such file".to_owned()));
                }
            }
            Err(error) => return Err((candidate.path.clone(), format!("cannot be read: {error}"))),
        }
    }
    Ok(None)
}

fn read_one(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(CONFIG_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > CONFIG_BYTES {
        let message = format!("it has more than {CONFIG_BYTES} bytes");
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            message,
        ));
    }
    Ok(text)
}
