//! Where the secrets of a hook come from: variables of the environment, read once, and files, read anew for every delivery, so that
//! a secret can be changed while the daemon runs. What is read is masked everywhere from then on.

use crate::config::{ConfigProblem, Environment, Hook};
use crate::model::webhook::{Scheme, Secret};
use crate::secrets::{Vault, file};
use anyhow::{Context, Error, Result, anyhow};
use std::path::{Path, PathBuf};

/// All secrets of one hook.
pub(super) struct Keyring {
    scheme: Scheme,
    given: Vec<Secret>,
    files: Vec<PathBuf>,
    vault: Vault,
}

impl Keyring {
    /// Reads every secret once. A hook without one, or with an empty one, would take anybody's word: it is a problem of the configuration.
    pub fn open(
        name: &str,
        hook: &Hook,
        environment: &Environment,
        vault: &Vault,
    ) -> Result<Keyring, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        let mut blame = |key: &str, message: String| {
            problems.push(ConfigProblem {
                origin: None,
                key: Some(format!("hooks.{name}.{key}")),
                message,
            });
        };
        let mut given = Vec::new();
        for variable in &hook.secret_env {
            match from_variable(hook.verify, variable, environment, vault) {
                Ok(secret) => given.push(secret),
                Err(problem) => blame("secret_env", problem),
            }
        }
        for path in &hook.secret_file {
            if let Err(problem) = from_file(hook.verify, path, vault) {
                blame("secret_file", problem);
            }
        }
        match problems.is_empty() {
            true => Ok(Keyring {
                scheme: hook.verify,
                given,
                files: hook.secret_file.clone(),
                vault: vault.clone(),
            }),
            false => Err(problems),
        }
    }

    /// The secrets of the environment.
    pub fn given(&self) -> &[Secret] {
        &self.given
    }

    /// The secrets that are in the files now, and what is wrong with a file that has none.
    pub async fn filed(&self) -> Result<(Vec<Secret>, Option<Error>)> {
        if self.files.is_empty() {
            return Ok((Vec::new(), None));
        }
        let (scheme, files, vault) = (self.scheme, self.files.clone(), self.vault.clone());
        let read = move || {
            let (mut secrets, mut unreadable) = (Vec::new(), None);
            for path in files {
                match from_file(scheme, &path, &vault) {
                    Ok(secret) => secrets.push(secret),
                    Err(problem) => unreadable = Some(anyhow!(problem)),
                }
            }
            (secrets, unreadable)
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.context("the reading of a secret was interrupted")
    }
}

fn from_variable(
    scheme: Scheme,
    variable: &str,
    environment: &Environment,
    vault: &Vault,
) -> Result<Secret, String> {
    let named = |problem: &str| format!("the variable {variable} {problem}");
    let value = environment
        .get(variable)
        .ok_or_else(|| named("is empty or not set"))?;
    let text = value.to_str().ok_or_else(|| named("is not text"))?;
    let text = file::one_line(text).map_err(named)?;
    learn(text, vault);
    Secret::new(scheme, text).map_err(named)
}

fn from_file(scheme: Scheme, path: &Path, vault: &Vault) -> Result<Secret, String> {
    let read = file::read(path, "secret")?;
    learn(&read.value, vault);
    Secret::new(scheme, &read.value).map_err(|problem| {
        format!(
            "the secret file {}: its secret {problem}",
            read.place.display()
        )
    })
}

fn learn(text: &str, vault: &Vault) {
    vault.learn(text);
    // It works without its prefix too.
    if let Some(bare) = text.strip_prefix("whsec_") {
        vault.learn(bare);
    }
}
