//! The secrets of targets: read anew for every try, masked everywhere from then on, and kept nowhere.

use super::sign;
use crate::agent::key::Key;
use crate::config::notify::TargetKind;
use crate::config::{Config, Target};
use crate::secrets::Vault;
use std::path::Path;

/// What a variable or a file holds; nothing where neither is named.
pub(super) fn read(
    vault: &Vault,
    variable: Option<&str>,
    file: Option<&Path>,
) -> Result<Option<String>, String> {
    let value = match (variable, file) {
        (Some(name), _) => Some(of_variable(name)?),
        (None, Some(file)) => of_file(file)?,
        (None, None) => None,
    };
    if let Some(value) = &value {
        vault.learn(value);
    }
    Ok(value)
}

fn of_variable(name: &str) -> Result<String, String> {
    match std::env::var(name) {
        Ok(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
        Ok(_) => Err(format!("the variable {name} is empty")),
        Err(_) => Err(format!("the variable {name} is not set")),
    }
}

fn of_file(file: &Path) -> Result<Option<String>, String> {
    let key = Key {
        variable: String::new(),
        file: Some(file.to_owned()),
    };
    Ok(key.read()?.map(|read| read.value))
}

/// Where a target is.
pub(super) fn address(vault: &Vault, target: &Target) -> Result<String, String> {
    match &target.url {
        Some(url) => Ok(url.clone()),
        None => read(vault, target.url_env.as_deref(), None)?
            .ok_or_else(|| "it has no address".to_owned()),
    }
}

/// What must be masked from the start: addresses that are secrets, and what is in files, as far as this user may read them.
pub fn learn(config: &Config, vault: &Vault) {
    for target in config.notify.values() {
        // Who knows the address of a channel may write to it.
        if let (TargetKind::Slack, Some(url)) = (target.kind, &target.url) {
            vault.learn(url);
        }
    }
    let of_targets = config
        .notify
        .values()
        .flat_map(|target| [&target.secret_file, &target.token_file]);
    let files = of_targets.chain([&config.callbacks.secret_file]);
    for file in files.flatten() {
        if let Ok(Some(value)) = of_file(file) {
            vault.learn(&value);
        }
    }
}

/// Whether everybody who may have to be told could be: the section, and what is wrong with its secrets.
pub fn problems(config: &Config, vault: &Vault) -> Vec<(String, Option<String>)> {
    let targets = config.notify.iter();
    let mut found: Vec<_> = targets
        .map(|(name, target)| (format!("notify.{name}"), check(vault, target).err()))
        .collect();
    let callbacks = &config.callbacks;
    if callbacks.secret_env.is_some() || callbacks.secret_file.is_some() {
        let (variable, file) = (&callbacks.secret_env, &callbacks.secret_file);
        let checked = check_key(vault, variable.as_deref(), file.as_deref());
        found.push(("callbacks".to_owned(), checked.err()));
    }
    found
}

fn check(vault: &Vault, target: &Target) -> Result<(), String> {
    if target.kind == TargetKind::Exec {
        return Ok(());
    }
    address(vault, target)?;
    let (variable, file) = (&target.secret_env, &target.secret_file);
    check_key(vault, variable.as_deref(), file.as_deref())?;
    let (variable, file) = (&target.token_env, &target.token_file);
    read(vault, variable.as_deref(), file.as_deref()).map(drop)
}

fn check_key(vault: &Vault, variable: Option<&str>, file: Option<&Path>) -> Result<(), String> {
    match read(vault, variable, file)? {
        Some(secret) => sign::key_of(&secret).map(drop).map_err(str::to_owned),
        None => Ok(()),
    }
}
