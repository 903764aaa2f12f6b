//! Where an agent's key comes from: a file that is read anew for every turn, handed on as one variable of the environment.
//! It must keep the key nowhere.

use crate::config;
use crate::secrets::file;
pub use crate::secrets::file::Read;
use std::path::PathBuf;

/// How an agent gets its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The variable in which the agent looks for it.
    pub variable: String,
    /// The file that holds it; without one the daemon's own variable of that name is passed on.
    pub file: Option<PathBuf>,
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
        let read = self.file.as_deref().map(|file| file::read(file, "key"));
        read.transpose()
    }
}
