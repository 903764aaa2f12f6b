//! `ralphd init`: the commented reference configuration as a file of one's own.

use super::arguments::{Global, Init};
use super::exit::{Exit, Failure};
use super::output;
use crate::config::{self, Environment};
use crate::files;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes the reference configuration where it will be found.
pub fn init(global: &Global, init: &Init) -> Result<Exit> {
    let path = destination(global.config.as_deref(), &Environment::of_process())?;
    let path = std::path::absolute(&path)?;
    let directory = path
        .parent()
        .context("a configuration file needs a directory")?;
    files::make_private_directory(directory)?;
    match init.force {
        true => replace(&path)?,
        false => create(&path)?,
    }
    match global.json {
        true => output::print_json(&json!({"file": path}))?,
        false => output::print_line(&path.display().to_string())?,
    }
    Ok(Exit::Done)
}

fn destination(flag: Option<&Path>, environment: &Environment) -> Result<PathBuf> {
    let named = environment.get("RALPHD_CONFIG").map(Path::new);
    if let Some(path) = flag.or(named) {
        return Ok(path.to_owned());
    }
    let home = environment
        .absolute_path("HOME")
        .map(|home| home.join(".config"));
    let Some(directory) = environment.absolute_path("XDG_CONFIG_HOME").or(home) else {
        bail!(Failure(
            "no place for the configuration: HOME is not set; give --config FILE".to_owned()
        ));
    };
    Ok(directory.join("ralphd/ralphd.toml"))
}

fn create(path: &Path) -> Result<()> {
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut file = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!(Failure(format!(
                "{} is there already; --force replaces it",
                path.display()
            )))
        }
        opened => opened.with_context(|| format!("cannot write {}", path.display()))?,
    };
    file.write_all(config::REFERENCE.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Where the name is a link, the file behind it is replaced, not the link.
fn replace(path: &Path) -> Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    files::write_whole(&target, config::REFERENCE.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_then_the_variable_then_the_users_directory() {
        let with = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Environment>();
        let all = [
            ("RALPHD_CONFIG", "/v.toml"),
            ("XDG_CONFIG_HOME", "/x"),
            ("HOME", "/h"),
        ];
        for (flag, variables, expected) in [
            (Some("/f.toml"), &all[..], "/f.toml"),
            (None, &all[..], "/v.toml"),
            (None, &all[1..], "/x/ralphd/ralphd.toml"),
            (None, &all[2..], "/h/.config/ralphd/ralphd.toml"),
        ] {
            let found = destination(flag.map(Path::new), &with(variables)).unwrap();
            assert_eq!(found, Path::new(expected));
        }
        assert!(destination(None, &with(&[])).is_err());
    }

    #[test]
    fn a_file_is_replaced_only_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ralphd.toml");
        std::fs::write(&path, "mine").unwrap();
        let refusal = create(&path).unwrap_err();
        assert!(refusal.is::<Failure>());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        replace(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), config::REFERENCE);
    }
}
