//! Where the tools of one turn work: the workspace, the environment of programs, the bounds; and what is made of it
//! once for all of them: the jail, a private temporary directory, the fence.
//! It must not outlive the turn: the temporary directory goes with it.

use super::Fault;
use super::jail::Jail;
use crate::process::{self, Fence, Ground};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Whether paths outside the workspace may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum External {
    Deny,
    Allow,
}

/// What the tools are given.
#[derive(Clone, Debug)]
pub struct Room {
    pub workspace: PathBuf,
    /// For programs; keys are not among it.
    pub environment: Vec<(String, String)>,
    pub external: External,
    /// Outside the workspace, for programs: to be read.
    pub readable: Vec<PathBuf>,
    /// Outside the workspace, for programs: to be read and changed.
    pub writable: Vec<PathBuf>,
    /// A directory for temporary files, made for this room and removed with it. Whoever gives it removes what a killed process left.
    pub temporary: PathBuf,
    pub timeout: Duration,
    pub bash_timeout: Duration,
}

/// Without a place to write to, build tools refuse to work at all; the user's own caches are not theirs to change.
const CACHES: &[(&str, &str)] = &[("XDG_CACHE_HOME", "cache"), ("npm_config_cache", "npm")];

/// The room, ready to work in.
pub(super) struct Den {
    pub jail: Jail,
    pub external: External,
    /// With `TMPDIR` as it is here.
    pub environment: Vec<(String, String)>,
    pub timeout: Duration,
    pub bash_timeout: Duration,
    /// What programs may reach; everything where paths outside are allowed.
    pub ground: Ground,
    temporary: PathBuf,
    fence: Result<Option<Arc<Fence>>, String>,
}

impl Den {
    pub fn furnish(room: Room) -> Result<Self> {
        let jail = Jail::open(&room.workspace, room.external)?;
        let temporary = make_temporary(&room.temporary)?;
        let mut environment = room.environment;
        environment.retain(|(name, _)| name != "TMPDIR");
        environment.push(("TMPDIR".to_owned(), temporary.display().to_string()));
        let mut ground = process::system_ground();
        ground.readable.extend(process::tool_ground(&environment));
        ground.readable.extend(room.readable);
        ground.writable.extend(room.writable);
        ground.writable.push(temporary.clone());
        ground.writable.push(jail.workspace().to_owned());
        if room.external == External::Deny {
            give_caches(&mut environment, &ground.writable, &temporary);
        }
        let fence = match room.external {
            External::Allow => Ok(None),
            External::Deny => Fence::around(&ground).map(|fence| Some(Arc::new(fence))),
        };
        Ok(Self {
            jail,
            external: room.external,
            environment,
            timeout: room.timeout,
            bash_timeout: room.bash_timeout,
            ground,
            temporary,
            fence,
        })
    }

    /// The fence for programs, if one is wanted. Where it is wanted and cannot be had, nothing runs.
    pub fn fence(&self) -> Result<Option<Arc<Fence>>, Fault> {
        self.fence.clone().map_err(|why| {
            Fault::Wrong(format!(
                "No program may run here: {why}, and without it nothing would hold a program in the workspace. Work with read, write, edit, glob and grep. (The user can allow it with external_directory = \"allow\".)"
            ))
        })
    }

    pub fn workspace(&self) -> &Path {
        self.jail.workspace()
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Drop for Den {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.temporary);
    }
}

/// What the user made writable for it stays.
fn give_caches(environment: &mut Vec<(String, String)>, writable: &[PathBuf], temporary: &Path) {
    for (variable, place) in CACHES {
        let usable = |value: &str| {
            writable
                .iter()
                .any(|free| Path::new(value).starts_with(free))
        };
        if environment
            .iter()
            .any(|(name, value)| name == variable && usable(value))
        {
            continue;
        }
        environment.retain(|(name, _)| name != variable);
        let place = temporary.join(place).display().to_string();
        environment.push(((*variable).to_owned(), place));
    }
}

fn make_temporary(path: &Path) -> Result<PathBuf> {
    crate::files::make_private_directory(path)?;
    std::fs::canonicalize(path).context("find the temporary directory")
}
