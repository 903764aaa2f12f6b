//! What every verb has before it: the configuration, the state directory, the wishes for output, and the way to the store.

use super::arguments::Global;
use crate::agent::key::Key;
use crate::agent::roster::Roster;
use crate::config::{Config, Environment, paths};
use crate::engine::House;
use crate::engine::prompt::Prompts;
use crate::engine::workflows::Workflows;
use crate::files;
use crate::model::git::Author;
use crate::process::Supervisor;
use crate::report::notify;
use crate::secrets::{Vault, file};
use crate::store::{DATABASE_FILE, Store};
use crate::workspace::git::Tool;
use anyhow::{Context, Result, bail};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Beside the configuration file, or in the state directory where there is none.
const WORKFLOWS: &str = "workflows";

/// The opened configuration and state.
pub struct Desk {
    pub global: Global,
    pub config: Arc<Config>,
    /// The file the configuration came from.
    pub config_file: Option<PathBuf>,
    pub state: PathBuf,
    /// What must not be shown or stored.
    pub secrets: Vault,
}

impl Desk {
    /// Reads the configuration and finds the state directory; nothing is made yet.
    pub fn open(global: Global) -> Result<Self> {
        let environment = Environment::of_process();
        let mut loaded = Config::load(global.config.as_deref(), &environment)?;
        let state = paths::state_directory(
            global.state.as_deref(),
            loaded.config.state.as_deref(),
            &environment,
        )?;
        if let Some(beside) = loaded.file.as_deref().and_then(Path::parent) {
            let workflows = &mut loaded.config.workflows.dir;
            workflows.get_or_insert_with(|| beside.join(WORKFLOWS));
        }
        Ok(Self {
            global,
            secrets: secrets(&loaded.config),
            config: Arc::new(loaded.config),
            config_file: loaded.file,
            state: std::path::absolute(&state)?,
        })
    }

    /// Runs async work to its end; small commands need no threads of their own.
    pub fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(work)
    }

    /// Opens the store, making the state directory when it is not there yet.
    pub fn store(&self) -> Result<Store> {
        make_state(&self.state)?;
        Ok(Store::open(&self.state)?.masking(self.secrets.clone()))
    }

    /// Opens a store that must be there already, for commands that only look.
    pub fn existing_store(&self) -> Result<Store> {
        if !self.state.join(DATABASE_FILE).exists() {
            bail!(
                "there is no ralphd state in {} yet; start with 'ralphd serve' or 'ralphd run', or name another place with --state",
                self.state.display()
            );
        }
        Ok(Store::open_as_is(&self.state)?.masking(self.secrets.clone()))
    }

    /// The workflows that are written by hand.
    pub fn workflows(&self) -> Workflows {
        workflows(&self.config, &self.state)
    }

    /// Git as the configuration wants it called.
    pub fn git(&self) -> Tool {
        git_tool(&self.config)
    }

    /// Everything a worker needs.
    pub fn house(&self) -> Result<Arc<House>> {
        self.house_recording(None)
    }

    /// The same, with what the models of built-in agents say written to a cassette.
    pub fn house_recording(&self, cassette: Option<&Path>) -> Result<Arc<House>> {
        let cassette = cassette.map(std::path::absolute).transpose()?;
        let secrets = self.secrets.clone();
        house_with(
            self.config.clone(),
            &self.state,
            secrets,
            cassette.as_deref(),
        )
    }
}

/// Opens everything a worker needs on a state directory.
pub fn house(config: Arc<Config>, state: &Path, secrets: Vault) -> Result<Arc<House>> {
    house_with(config, state, secrets, None)
}

fn house_with(
    config: Arc<Config>,
    state: &Path,
    secrets: Vault,
    cassette: Option<&Path>,
) -> Result<Arc<House>> {
    make_state(state)?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut roster = Roster::new(&config, Supervisor::default(), program, secrets.clone())?;
    if let Some(cassette) = cassette {
        roster.record(cassette);
    }
    Ok(Arc::new(House {
        store: Store::open(state)?.masking(secrets.clone()),
        roster,
        secrets,
        prompts: Prompts::load(config.prompts.dir.as_deref())?,
        workflows: workflows(&config, state),
        state: state.to_owned(),
        git: git_tool(&config),
        config,
    }))
}

fn git_tool(config: &Config) -> Tool {
    let author = Author::parse(&config.git.author);
    let settings = config.git.settings.iter();
    let settings = settings.map(|(name, value)| (name.clone(), value.clone()));
    Tool::new(author.unwrap_or_default(), settings.collect())
}

fn workflows(config: &Config, state: &Path) -> Workflows {
    Workflows {
        directory: match &config.workflows.dir {
            Some(directory) => directory.clone(),
            None => state.join(WORKFLOWS),
        },
    }
}

/// A cassette must be new: two conversations on one would be played as a mixture of both.
pub fn make_cassette(file: &Path) -> Result<()> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    match made {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
            "there is already a file {}: a cassette must be new, so name another or remove that one",
            file.display()
        ),
        Err(error) => {
            Err(error).with_context(|| format!("cannot make the cassette {}", file.display()))
        }
    }
}

/// The secrets of this process's environment, and the keys and secrets in files as far as this user may read them. What is wrong with
/// such a file is said where it is needed.
fn secrets(config: &Config) -> Vault {
    let vault = Vault::of_environment(&config.secret_names());
    for agent in config.agents.values() {
        let key = Key::of_config(agent);
        if let Some(read) = key.and_then(|key| key.read().ok().flatten()) {
            vault.learn(&read.value);
        }
    }
    let files = config.hooks.values().flat_map(|hook| &hook.secret_file);
    for read in files.filter_map(|file| file::read(file, "secret").ok()) {
        vault.learn(&read.value);
    }
    notify::learn(config, &vault);
    vault
}

fn make_state(state: &Path) -> Result<()> {
    for part in [
        "inbox/accepted",
        "inbox/rejected",
        "outbox",
        "workspaces",
        "logs",
        "turns",
    ] {
        files::make_private_directory(&state.join(part))?;
    }
    Ok(())
}
